"""Which functions each test called, seen in the user's own run: only tests that a change concerns are run again."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from project_helpers import project_at, workshop_at

from pytest_selfheal.calls import CallRecorder, Calls, pack
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.testing import Example
from pytest_selfheal.types import FileChange

WATCHES = pytest.mark.skipif(sys.version_info < (3, 12), reason="calls can be watched from Python 3.12 on")

CODE = """\
import functools
import subprocess
import sys


def add(a, b):
    return a - b


def double(a):
    return add(a, 0) * 2


def late():
    import other
    return other.VALUE


def outside():
    code = "import calc; assert calc.hidden() == 7"
    return subprocess.run([sys.executable, "-c", code]).returncode


def hidden():
    return 7


def numbers(n):
    for i in range(n):
        yield step(i)


def step(i):
    return i + 1


@functools.cache
def table():
    return build()


def build():
    return {1: 2}


START = build()
"""
OTHER = "def make():\n    return 5\n\n\nVALUE = make()\n"
TESTS = """\
import pathlib

import pytest

import calc


@pytest.fixture(scope="module")
def doubled():
    return calc.double(2)


def test_add():
    assert calc.add(1, 2) == 3


def test_first(doubled):
    assert doubled == 4


def test_second(doubled):
    assert doubled == 4


def test_late():
    assert calc.late() == 5


def test_outside():
    assert calc.outside() == 0


def test_numbers():
    assert list(calc.numbers(3)) == [1, 2, 3]


def test_source():
    assert "def hidden" in pathlib.Path(calc.__file__).read_text()


def test_nothing():
    assert calc
"""
FILES = {"calc.py": CODE, "other.py": OTHER, "test_calc.py": TESTS, "pytest.ini": "[pytest]\npythonpath = .\n"}
SHOW = """
import json
import pytest
from pytest_selfheal import calls as watching

watching.GROUP_SECONDS = {seconds}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    plugin = session.config.pluginmanager.get_plugin("selfheal-session")
    if plugin is None or plugin.is_worker:
        return
    calls = plugin._called
    (session.config.rootpath / "calls.json").write_text(json.dumps(None if calls is None else {{
        "groups": len(calls.groups),
        "tests": {{nodeid: names(calls, groups) for nodeid, groups in calls.tests.items()}},
        "import": sorted(name(calls, number) for number in calls.at_import),
        "opaque": [nodeid for nodeid, groups in calls.tests.items() if not calls.opaque.isdisjoint(groups)],
        "reads": {{nodeid: paths for nodeid, groups in calls.tests.items() if (paths := read(calls, groups))}},
    }}))


def name(calls, number):
    path, line = calls.functions[number]
    lines = open(path).read().splitlines()
    while not lines[line - 1].startswith("def "):
        line -= 1
        if not line:
            return path.rpartition("/")[2]
    return lines[line - 1][4:].partition("(")[0]


def names(calls, groups):
    numbers = range(len(calls.functions))
    return sorted({{name(calls, n) for n in numbers if not calls.calling(frozenset([n])).isdisjoint(groups)}})


def read(calls, groups):
    return sorted({{path.rpartition("/")[2] for group in groups for path in calls.reads.get(group, ())}})
"""


def seen(
    folder: Path, *options: str, files: Mapping[str, str] = FILES, seconds: float = 0.0, conftest: str = ""
) -> Any:
    """What the calls were in a run; ``seconds``: see :data:`calls.GROUP_SECONDS`; ``conftest``: its first lines."""
    example = Example({**files, "conftest.py": conftest + SHOW.format(seconds=seconds)}, folder)
    result = example.run("--selfheal", "--selfheal-total-time", "1", "-p", "no:cacheprovider", *options)
    found = folder / "calls.json"
    assert found.exists(), result.stdout + result.stderr
    return json.loads(found.read_text())


@WATCHES
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_what_each_test_calls_is_seen(tmp_path: Path, options: tuple[str, ...]) -> None:
    found = seen(tmp_path, *options)
    called = {nodeid.rpartition("::")[2]: set(names) for nodeid, names in found["tests"].items()}
    code = {"add", "double", "late", "outside", "hidden", "numbers", "step", "table", "build", "make"}
    assert {test: names & code for test, names in called.items()} == {
        "test_add": {"add"},
        # What a shared fixture calls belongs to all who use it, not to the first.
        "test_first": {"add", "double"},
        "test_second": {"add", "double"},
        "test_late": {"late"},
        "test_outside": {"outside"},
        "test_numbers": {"numbers", "step"},
        "test_source": set(),
        "test_nothing": set(),
    }
    # What runs when a module is imported, early or late, belongs to nobody alone.
    assert {"build", "make"} <= set(found["import"])
    assert not {"add", "late"} & set(found["import"])
    assert [nodeid.rpartition("::")[2] for nodeid in found["opaque"]] == ["test_outside"]
    read = {nodeid.rpartition("::")[2]: paths for nodeid, paths in found["reads"].items()}
    assert read.pop("test_source") == ["calc.py"]
    assert set(read) <= {"test_add"}  # its failure is shown with the source


@WATCHES
@pytest.mark.parametrize("conftest", ["", "import calc\n", "from calc import add\ndel add\n"])
def test_what_a_conftest_has_imported_is_watched(tmp_path: Path, conftest: str) -> None:
    found = seen(tmp_path, conftest=conftest)
    called = {nodeid.rpartition("::")[2]: set(names) for nodeid, names in found["tests"].items()}
    assert "add" in called["test_add"]
    assert {"numbers", "step"} <= called["test_numbers"]


class Loud(ModuleType):
    """A module that loads what it has when it is asked for it."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise RuntimeError("loaded")


@WATCHES
def test_no_module_is_loaded_by_being_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazy.py").write_text("raise SystemExit('loaded')\n")
    spec = importlib.util.spec_from_file_location("lazy", tmp_path / "lazy.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    lazy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lazy)
    loud = Loud("loud")
    loud.__file__ = "loud.py"
    others = {"odd": object(), "loud": loud, "lazy": lazy}
    monkeypatch.setattr(sys, "modules", {**others, **sys.modules})  # seen before any other
    recorder = CallRecorder()
    try:
        assert recorder.start()
    finally:
        recorder.stop()
    with pytest.raises(SystemExit, match="loaded"):
        lazy.anything  # noqa: B018


@WATCHES
def test_only_tests_that_a_change_concerns_are_run_again(tmp_path: Path) -> None:
    files = {
        "calc.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a * 2\n",
        "test_calc.py": (
            "from calc import add, twice\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(4, 4) == 8\n\n\n"
            "def test_zero():\n    assert add(3, 0) == 3\n\n\ndef test_twice():\n    assert twice(4) == 8\n"
        ),
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "conftest.py": "from pytest_selfheal import calls\n\ncalls.GROUP_SECONDS = 0\n",
    }
    result = Example(files, tmp_path).run("--selfheal", "--selfheal-effort", "fast", "-p", "no:cacheprovider")
    [failure] = result.report["failures"]
    assert failure["status"] == "healed", result.stdout
    assert failure["verified"]["affected_pass"] == 1  # test_zero, and not test_twice


@WATCHES
@pytest.mark.parametrize(
    "test",
    [
        "def test_threads():\n    import threading\n    t = threading.Thread(target=calc.hidden)\n    t.start()\n    t.join()\n",
        "async def a():\n    return calc.hidden()\n\n\ndef test_async():\n    import asyncio\n    asyncio.run(a())\n",
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_each(n):\n    calc.hidden()\n",
        "class TestIt:\n    def setup_class(cls):\n        calc.hidden()\n\n    def test_it(self):\n        pass\n",
        "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
        "        calc.hidden()\n\n    def test_it(self):\n        pass\n\n    def test_more(self):\n        pass\n",
        "@pytest.fixture(params=[1, 2], scope='session')\ndef held(request):\n    return calc.hidden()\n\n\n"
        "def test_a(held):\n    pass\n\n\ndef test_b(held):\n    pass\n",
        "@pytest.fixture(scope='session')\ndef inner():\n    return calc.hidden()\n\n\n@pytest.fixture(scope='session')\n"
        "def held(request):\n    return request.getfixturevalue('inner')\n\n\n"
        "def test_a(held):\n    pass\n\n\ndef test_b(held):\n    pass\n",
    ],
)
def test_no_way_to_call_is_missed(tmp_path: Path, test: str) -> None:
    files = {
        **FILES,
        "test_calc.py": "import pytest\n\nimport calc\n\n\ndef test_before():\n    calc.hidden()\n\n\n" + test,
    }
    found = seen(tmp_path, files=files)
    assert len(found["tests"]) > 1
    assert all("hidden" in names for names in found["tests"].values())


def test_where_python_cannot_watch_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "monitoring", raising=False)
    assert not CallRecorder().start()
    if sys.version_info < (3, 12):
        assert seen(tmp_path) is None


@WATCHES
def test_code_that_a_test_compiles_is_no_module(tmp_path: Path) -> None:
    test = (
        "import os\n\nimport calc\n\n\ndef test_compiled(tmp_path):\n    os.chdir(tmp_path)\n    os.rmdir(tmp_path)\n"
        "    exec(compile('def f():\\n    pass\\nf()\\n', 'made.py', 'exec'), {})\n    calc.hidden()\n\n\n"
        "def test_after():\n    calc.double(1)\n"
    )
    found = seen(tmp_path, files={**FILES, "test_calc.py": test})
    assert "hidden" not in found["import"]
    assert [sorted(names) for names in found["tests"].values()] == [["hidden"], ["add", "double"]]


@WATCHES
def test_a_fault_of_the_watching_reaches_nobody(tmp_path: Path) -> None:
    files = {**FILES, "conftest.py": ""}
    broken = "\n\ndef broken(*_):\n    raise RuntimeError('boo')\n\n\nwatching.CallRecorder._watch = broken\n"
    example = Example({**files, "conftest.py": SHOW.format(seconds=0.0) + broken}, tmp_path)
    result = example.run("--selfheal", "--selfheal-total-time", "1", "-p", "no:cacheprovider")
    assert "boo" not in result.stdout + result.stderr
    assert json.loads((tmp_path / "calls.json").read_text()) is None


@WATCHES
def test_beside_another_watcher_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_selfheal import calls

    sys.monitoring.use_tool_id(3, "somebody")  # type: ignore[attr-defined, unused-ignore]
    try:
        monkeypatch.setattr(calls, "COVERAGE_TOOL", 3)
        assert not CallRecorder().start()
        monkeypatch.undo()
        monkeypatch.setattr(calls, "TOOL", 3)
        assert not CallRecorder().start()
    finally:
        sys.monitoring.free_tool_id(3)  # type: ignore[attr-defined, unused-ignore]


def a_change(old: str, new: str) -> FileChange:
    return FileChange("calc.py", CODE.encode(), CODE.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a - b", "a + b", {"test_add", "test_quick", "test_first", "test_unknown", "test_opaque"}),
        ("* 2", "* 3", {"test_first", "test_unknown", "test_opaque"}),
        ("return 7", "return 8", {"test_unknown", "test_opaque", "test_reads"}),
        (
            "return {1: 2}",
            "return {1: 3}",
            {"test_add", "test_quick", "test_first", "test_unknown", "test_opaque", "test_reads"},
        ),
        (
            "START = build()",
            "START = None",
            {"test_add", "test_quick", "test_first", "test_unknown", "test_opaque", "test_reads"},
        ),
    ],
)
def test_what_is_affected_by_what_was_seen(tmp_path: Path, old: str, new: str, expected: set[str]) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    path = str(tmp_path.resolve() / "calc.py")
    lines = {text: number for number, text in enumerate(CODE.splitlines(), 1)}
    names = ["test_add", "test_first", "test_opaque", "test_reads", "test_quick"]
    calls = Calls()
    calls.add(
        {
            "functions": [
                [path, lines[text]] for text in ("    return a - b", "    return add(a, 0) * 2", "    return {1: 2}")
            ],
            "groups": [pack([0]), pack([]), pack([0, 1]), pack([]), pack([])],
            # `test_first` shares a fixture that was set up in the third group, `test_quick` shares the first.
            "tests": dict(zip((f"test_calc.py::{name}" for name in names), ([0], [1, 2], [3], [4], [0]), strict=True)),
            "at_import": [2],
            "opaque": [3],
            "reads": {4: [path]} if old == "return 7" else {},
        }
    )
    outcomes = dict.fromkeys([*calls.tests, "test_calc.py::test_unknown"], "passed")
    with workshop_at(tmp_path, outcomes=outcomes) as workshop:
        project = project_at(tmp_path, outcomes=outcomes, calls=calls)
        affected = AffectedTests(project, workshop.pristine.top, workshop).of(["calc.py"], [], [a_change(old, new)])
        # A failing test that was not seen to call what repairs it: what was seen says nothing.
        unseen = AffectedTests(project, workshop.pristine.top, workshop).of(
            ["calc.py"], ["test_calc.py::test_reads"], [a_change(old, new)]
        )
    assert {nodeid.rpartition("::")[2] for nodeid in affected.nodeids} == expected
    assert len(unseen.nodeids) == len(outcomes) - 1


def test_what_two_workers_saw_is_one() -> None:
    def saw(test: str, functions: list[list[object]]) -> dict[str, object]:
        return {
            "functions": functions,
            "groups": [pack([0]), pack(range(len(functions)))],
            "tests": {test: [0, 1]},
            "at_import": [0],
            "opaque": [1],
            "reads": {0: ["/m.py"]},
        }

    calls = Calls()
    calls.add(saw("t.py::a", [["/m.py", 2], ["/m.py", 9]]))
    calls.add(saw("t.py::b", [["/m.py", 5], ["/m.py", 2]]))
    number = {function: n for n, function in enumerate(calls.functions)}
    assert set(number) == {("/m.py", 2), ("/m.py", 5), ("/m.py", 9)}
    assert calls.tests == {"t.py::a": (0, 1), "t.py::b": (2, 3)}
    assert calls.calling(frozenset([number["/m.py", 9]])) == {1}
    assert calls.calling(frozenset([number["/m.py", 5]])) == {2, 3}
    assert calls.calling(frozenset([number["/m.py", 2]])) == {0, 1, 3}
    assert calls.opaque == {1, 3}
    assert calls.reading(Path("/m.py")) == {0, 2}
    assert calls.at_import == {number["/m.py", 2], number["/m.py", 5]}
    again = Calls()
    again.add(calls.to_wire())
    assert vars(again) == vars(calls)


@WATCHES
def test_quick_tests_share_what_was_seen(tmp_path: Path) -> None:
    found = seen(tmp_path, seconds=60.0)
    # But for what sets up a shared fixture, which nobody else is charged with.
    assert {"numbers", "outside"} <= set(found["tests"]["test_calc.py::test_nothing"])
    assert "double" not in found["tests"]["test_calc.py::test_nothing"]
