"""Reading source in several threads, with a callback of the garbage collector in between as hypothesis has one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal import parsing

PACKAGE = Path(__file__).parent.parent / "pytest_selfheal"
IN_CHILDREN = ("bench/", "propose/search/", "testgen/inside/")
"""What runs in a process with one thread of ours."""

MANY = """
import ast, gc, sys, threading
from pytest_selfheal import parsing

sys.setswitchinterval(1e-5)
gc.callbacks.append(lambda *_: sum(range(50)))
gc.set_threshold(200)
source, bad = open(ast.__file__).read(), []

def work():
    for _ in range(12):
        try:
            parsing.parse(source)
        except SystemError as error:
            bad.append(error)

threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(bad[:1])
"""


def test_threads_that_parse_do_not_disturb_each_other() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_whatever_runs_in_threads_parses_so() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name != "parsing.py" and not name.startswith(IN_CHILDREN):
            assert "ast.parse(" not in path.read_text("utf-8"), name


def test_what_another_thread_spoils_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read, spoiled = ast.parse, iter((True, True, False))

    def parse(*arguments: Any) -> Any:
        if next(spoiled):
            raise SystemError("AST constructor recursion depth mismatch")
        return read(*arguments)

    monkeypatch.setattr(ast, "parse", parse)
    assert ast.dump(parsing.parse("x = 1")) == ast.dump(read("x = 1"))


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(SyntaxError):
        parsing.parse("x =")
