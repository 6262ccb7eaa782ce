"""Reviewing at a real (pseudo) terminal: what was agreed to is applied, and nothing else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from record_samples import AFTER, BEFORE, Tree, healed_outcome, unhealed_outcome

from pytest_selfheal.record.stored import StoredRun
from pytest_selfheal.testing import Request, ScriptedModel
from pytest_selfheal.types import FileChange

OTHER = FileChange("other.py", b"x = 1\n", b"x = 2\n")
THIRD = FileChange("third.py", b"y = 1\n", b"y = 2\n")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tests = {"tests/test_calc.py": b"from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"}
    files = {
        "calc.py": BEFORE,
        "other.py": b"x = 1\n",
        "third.py": b"y = 1\n",
        "pytest.ini": b"[pytest]\npythonpath = .\n",
    }
    return Tree(tmp_path / "repo", files | tests)


@pytest.fixture
def run(tree: Tree) -> StoredRun:
    return tree.record(
        healed_outcome(),
        healed_outcome("0002", changes=(OTHER,), description="second"),
        healed_outcome("0003", changes=(THIRD,), description="third"),
        unhealed_outcome("0004"),
    )


def review(tree: Tree, *answers: str, **environment: str) -> str:
    """``selfheal review`` at a terminal where a person types ``answers``, each at a prompt; what the screen showed."""
    status, shown = at_terminal(tree, [sys.executable, "-m", "pytest_selfheal", "review"], answers, environment)
    assert status == 0, shown
    return shown


def at_terminal(
    tree: Tree, command: list[str], answers: Sequence[str], environment: dict[str, str], columns: int = 80
) -> tuple[int, str]:
    """Exit status and screen of a command in the project's folder."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    base = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS")}
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=tree.top, env={**base, **environment}
    ) as process:
        os.close(terminal)
        shown, waiting, deadline = "", list(answers), time.monotonic() + 240
        while time.monotonic() < deadline:
            if select.select([controller], [], [], 0.1)[0]:
                try:
                    chunk = os.read(controller, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                shown += chunk.decode("utf-8", "replace")
            if waiting and shown.rstrip(" ").endswith(("?]", "no reason):")):
                os.write(controller, waiting.pop(0).encode() + b"\n")
                shown += "\n"
        process.wait(timeout=30)
    os.close(controller)
    return process.returncode, shown


def test_yes_no_and_the_rest_undecided(tree: Tree, run: StoredRun) -> None:
    shown = review(tree, "?", "y", "n", "too clever", "s")
    assert "0001 (1 of 3): replace - with + in add()" in shown
    assert "confidence: medium" in shown
    assert "alternative: replace - with |: add(1, 1)" in shown
    assert "this help" in shown
    assert "Rejected 0002: too clever" in shown
    assert (tree.read("calc.py"), tree.read("other.py"), tree.read("third.py")) == (AFTER, b"x = 1\n", b"y = 1\n")
    assert run.decisions()["0002"] == {"decision": "rejected", "reason": "too clever"}
    assert [patch.id for patch in run.select([])] == ["0001", "0003"]
    # The next review takes up what was left.
    shown = review(tree, "y")
    assert "0003 (1 of 1)" in shown
    assert tree.read("third.py") == b"y = 2\n"
    assert "nothing to review" in review(tree)


def test_all_means_this_one_and_the_rest(tree: Tree, run: StoredRun) -> None:
    review(tree, "n", "", "a")
    assert (tree.read("calc.py"), tree.read("other.py"), tree.read("third.py")) == (BEFORE, b"x = 2\n", b"y = 2\n")


def test_quitting_applies_and_decides_nothing(tree: Tree, run: StoredRun) -> None:
    before = tree.bytes()
    assert "Nothing was applied and nothing decided" in review(tree, "y", "n", "bad", "q")
    assert tree.bytes() == before
    assert run.decisions() == {}


def test_an_edited_patch_is_verified_before_it_counts(tree: Tree, tmp_path: Path) -> None:
    tree.record(healed_outcome())
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\nassert path.name == 'calc.py'\n"
        "path.write_text(path.read_text().replace('a + b', pathlib.Path(sys.argv[0]).with_name('new').read_text()))\n"
    )
    (tmp_path / "new").write_text("a * b")
    shown = review(tree, "e", "n", "", EDITOR=f"{sys.executable} {editor}")
    assert "does not heal tests/test_calc.py::test_add" in shown
    assert tree.read("calc.py") == BEFORE
    run = tree.record(healed_outcome())
    (tmp_path / "new").write_text("b + a")
    shown = review(tree, "e", "y", EDITOR=f"{sys.executable} {editor}", VISUAL="")
    assert "+    return b + a" in shown
    edited = shown.partition("as edited")[2]
    assert "no other test was run" in edited
    # Evidence that an earlier version had is not claimed for this one.
    assert not any(words in edited for words in ("confidence:", "others re-run", "alternative:"))
    assert tree.read("calc.py") == BEFORE.replace(b"a - b", b"b + a")
    assert "Edited by a person since" in run.patches()[0].message
    assert "no other test was run" in " ".join(run.patches()[0].message.split())


def test_in_ci_nobody_is_asked_even_on_a_terminal(tree: Tree, run: StoredRun) -> None:
    command = [sys.executable, "-m", "pytest_selfheal", "review"]
    controller, terminal = pty.openpty()
    done = subprocess.run(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        cwd=tree.top,
        env={**os.environ, "CI": "true"},
        check=False,
    )
    os.close(terminal)
    os.close(controller)
    assert done.returncode == 2
    assert b"needs a terminal" in done.stderr


def test_what_comes_after_healing_finds_the_terminal_as_it_was(tree: Tree) -> None:
    tree.write(
        "conftest.py",
        "import os, sys\n\ndef pytest_terminal_summary():\n    print('another plugin', os.get_terminal_size(1).columns)\n"
        "    print('reads', type(sys.stdin).__name__)\n",
    )
    command = [sys.executable, "-m", "pytest", "--selfheal", "--selfheal-review", "-p", "no:cacheprovider"]
    _, shown = at_terminal(tree, [*command, "-p", "no:asyncio"], [], {"CI": "true"}, columns=107)
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown.splitlines()]
    assert "nothing was healed: --selfheal-review asks" in shown
    assert {len(line) for line in lines if line.startswith("====")} == {107}
    at = lines.index("another plugin 107")
    assert at < next(number for number, line in enumerate(lines) if "short test summary" in line)
    assert lines[at + 1] == "reads DontReadFromInput"


def test_a_run_that_nobody_can_answer_is_refused_before_anything_is_healed(tree: Tree) -> None:
    command = [sys.executable, "-m", "pytest", "--selfheal", "--selfheal-review", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "no:asyncio"],
        cwd=tree.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nothing was healed: --selfheal-review asks" in done.stdout
    assert "selfheal review" in done.stdout
    assert not (tree.top / ".selfheal").exists()


def test_a_reason_against_a_patch_leads_the_model_to_another(tree: Tree) -> None:
    asked: list[Request] = []

    def model(request: Request) -> str:
        asked.append(request)
        body = "sum((a, b))" if len(asked) == 1 else "a + b"
        return f"The sign is wrong.\n```python\n# FILE: calc.py\ndef add(a, b):\n    return {body}\n```"

    with ScriptedModel(model) as server:
        # Under xdist it is the controller that asks.
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-n1",
            "--selfheal",
            "--selfheal-review",
            "--selfheal-strategy=model",
        ]
        command += ["-p", "no:cacheprovider", "-p", "no:asyncio", *server.options]
        status, shown = at_terminal(
            tree, command, ["n", "too clever by half", "y"], {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        )
    assert status == 1, shown
    assert "too clever by half" not in asked[0].prompt
    assert "too clever by half" in asked[-1].prompt
    assert tree.read("calc.py") == AFTER
    assert "Applied 0001 to calc.py" in shown
