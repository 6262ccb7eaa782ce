"""Functions found with libcst, and the source that a diagnosis is shown with."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_selfheal import definitions as module
from pytest_selfheal.definitions import NotParsed, definitions, function_at
from pytest_selfheal.record.markdown import failure_report
from pytest_selfheal.sources import MOST_LINES, with_sources
from pytest_selfheal.types import Diagnosis, Failure, Outcome, Raised, Suspect

TEXT = '''\
import functools

# not about f: a blank line follows

# about f
# in two lines
@functools.lru_cache(
    maxsize=None
)
def f(x):
    """Doc."""

    def inner(y):
        return y

    if x:
        async def late(): ...
    return inner(x)  # end


class A(
    object,
):
    # about g
    def g(self): return lambda: 1

    class B:
        def h(self):
            return """
text
"""
'''


def test_definitions_are_found_whole() -> None:
    found = {one.qualname: (one.is_class, one.top, one.first, one.line, one.last) for one in definitions(TEXT)}
    assert found == {
        "f": (False, 5, 7, 10, 18),
        "f.inner": (False, 13, 13, 13, 14),
        "f.late": (False, 17, 17, 17, 17),
        "A": (True, 21, 21, 21, 31),
        "A.g": (False, 24, 25, 25, 25),
        "A.B": (True, 27, 27, 27, 31),
        "A.B.h": (False, 28, 28, 28, 31),
    }


def test_lines_agree_with_the_syntax_tree_on_real_code() -> None:
    for path in Path(module.__file__).parent.glob("*.py"):
        text = path.read_text("utf-8")
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert {(n.lineno, n.end_lineno) for n in nodes} == {(one.line, one.last) for one in definitions(text)}


@pytest.mark.parametrize(
    "text", ["def f(:\n", "print 'old'\n", "x = 1\n" * module.LONGEST], ids=["broken", "2", "long"]
)
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(NotParsed):
        definitions(text)


@pytest.mark.parametrize(("line", "name"), [(9, "f"), (14, "f.inner"), (18, "f"), (30, "A.B.h"), (27, None), (1, None)])
def test_the_innermost_function_around_a_line(line: int, name: str | None) -> None:
    found = function_at(definitions(TEXT), line)
    assert (found.qualname if found else None) == name


def diagnosis(root: Path, *suspects: Suspect) -> Diagnosis:
    failure = Failure("test_m.py::test", "call", (Raised("ValueError", "x"),))
    return Diagnosis("0001", (failure,), "value", suspects, "", str(root), str(root))


def test_suspects_get_their_qualified_names_and_their_source(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(TEXT.replace("\n", "\r\n").encode())
    (tmp_path / "latin.py").write_bytes("# coding: latin-1\ndef \xe4():\n    return '\xe9'\n".encode("latin-1"))
    (tmp_path / "broken.py").write_text("def f(:\n")
    given = [("m.py", 25, "g"), ("m.py", 30, "h"), ("latin.py", 3, ""), ("broken.py", 1, "f"), ("gone.py", 1, "")]
    found = with_sources(diagnosis(tmp_path, *(Suspect(p, line, name, 0.5) for p, line, name in given)))
    assert [suspect.function for suspect in found.suspects] == ["A.g", "A.B.h", "\xe4", "f", ""]
    assert [(e.path, e.function, e.first, e.line) for e in found.sources] == [
        ("m.py", "A.g", 24, 25),
        ("m.py", "A.B.h", 28, 30),
        ("latin.py", "\xe4", 2, 3),
    ]
    assert found.sources[0].text == "    # about g\n    def g(self): return lambda: 1"


def test_a_long_function_is_shown_around_the_suspicious_line(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f():\n" + "    x = 1\n" * 500)
    [excerpt] = with_sources(diagnosis(tmp_path, Suspect("m.py", 300, "", 0.5))).sources
    assert excerpt.first < 300 < excerpt.first + MOST_LINES == excerpt.first + len(excerpt.text.split("\n"))


def test_the_failure_report_shows_the_code_in_question(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import os\n\n\ndef f():\n    x = 1\n    return x - 1\n")
    outcome = Outcome(with_sources(diagnosis(tmp_path, Suspect("m.py", 6, "", 0.5))), "unhealed", "no_candidate", "")
    told = failure_report(outcome)
    assert "`f` in `m.py`" in told
    assert "  4  def f():\n  5      x = 1\n> 6      return x - 1" in told
