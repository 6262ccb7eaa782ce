"""QuixBugs, in the layout of its public repository.

``python_programs/NAME.py`` is broken; ``python_testcases/test_NAME.py`` or else ``json_testcases/NAME.json`` (one
``[arguments, expected]`` a line) test it; ``correct_python_programs/NAME.py`` is for scoring only.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from pytest_selfheal.bench.suites import Loaded, source
from pytest_selfheal.bench.task import Answer, Malformed, Task, Visible
from pytest_selfheal.errors import UsageError

# The suite's tests ask these two of pytest; the suite's own conftest would offer the correct programs as well.
CONFTEST = """\
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "python_testcases")]
pytest.use_correct = False
pytest.run_slow = False
"""
LOADER = """\
import json
from pathlib import Path


def load_json_testcases(algorithm):
    lines = (Path(__file__).parent.parent / "json_testcases" / f"{algorithm}.json").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]
"""


def load(path: Path, visible: Visible) -> Loaded:
    programs = path / "python_programs"
    if not programs.is_dir():
        raise UsageError(
            f"--selfheal-bench-data: {path} has no python_programs folder; give the top of the QuixBugs repository."
        )
    pairs: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for program in sorted(programs.glob("*.py")):
        name = program.stem
        if name.endswith("_test") or name in ("node", "__init__", "conftest"):
            continue  # drivers and shared classes, not programs under repair
        made = _make(path, name, visible)
        if isinstance(made, Malformed):
            malformed.append(made)
        else:
            pairs.append(made)
            malformed += [Malformed(name, note, dropped=False) for note in made[0].notes]
    return pairs, malformed


def _make(top: Path, name: str, visible: Visible) -> tuple[Task, Answer] | Malformed:
    program = top / "python_programs" / f"{name}.py"
    cases = top / "json_testcases" / f"{name}.json"
    written = top / "python_testcases" / f"test_{name}.py"
    calls: list[list[object]] = []
    if cases.is_file():
        try:
            calls = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines() if line.strip()]
            if not all(isinstance(call, list) and len(call) == 2 for call in calls):
                raise ValueError("a line is not [arguments, expected]")
        except ValueError as error:
            return Malformed(name, f"json_testcases/{name}.json: {error}")
    calls = [[call[0] if isinstance(call[0], list) else [call[0]], call[1]] for call in calls]
    test_path = f"python_testcases/test_{name}.py"
    if written.is_file():
        full = written.read_bytes()
    elif calls:
        full = _json_test(name).encode()
    else:
        return Malformed(name, "has neither pytest nor JSON cases")
    support = {"conftest.py": CONFTEST.encode(), "python_testcases/load_testdata.py": LOADER.encode()}
    for shared in ("python_programs/node.py", "python_testcases/node.py"):
        if (top / shared).is_file():
            support[shared] = (top / shared).read_bytes()
    reference = top / "correct_python_programs" / f"{name}.py"
    hidden = {**support, test_path: full}
    if cases.is_file():
        hidden[f"json_testcases/{name}.json"] = cases.read_bytes()
    text = program.read_bytes()
    visible_tests, notes = _visible(name, text.decode("utf-8", "replace"), hidden, test_path, visible)
    task = Task(name, name, f"python_programs/{name}.py", {f"python_programs/{name}.py": text}, visible_tests, notes)
    return task, Answer(
        "pytest",
        reference=reference.read_text(encoding="utf-8") if reference.is_file() else None,
        files=hidden,
        targets=(test_path,),
        calls=tuple(json.dumps(call[0]) for call in calls),
    )


def _visible(
    name: str, program: str, hidden: dict[str, bytes], test_path: str, visible: Visible
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    if visible == "tests":
        return hidden, ()
    shown = {
        path: content for path, content in hidden.items() if path not in (test_path, f"json_testcases/{name}.json")
    }
    if visible == "none":
        return {}, ("nothing visible: there is no test to heal by",)
    try:
        texts = [
            node.value.value
            for node in ast.parse(program).body
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ]
    except SyntaxError:
        texts = []
    examples = source.docstring_examples("\n".join(text for text in texts if isinstance(text, str)), name)
    if not examples:
        return {}, ("its description has no example: nothing to heal by",)
    test = source.assert_tests(examples, name).replace(
        f"from {source.MODULE} import", f"from python_programs.{name} import"
    )
    return {**shown, test_path: test.encode()}, ()


def _json_test(name: str) -> str:
    return f'''\
import inspect

import pytest
from load_testdata import load_json_testcases
from python_programs.{name} import {name}


@pytest.mark.parametrize("arguments, expected", load_json_testcases("{name}"))
def test_{name}(arguments, expected):
    result = {name}(*(arguments if isinstance(arguments, list) else [arguments]))
    assert (list(result) if inspect.isgenerator(result) else result) == expected
'''
