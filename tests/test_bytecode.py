"""The first child compiles a project for all of them, and nothing that was compiled ever stands for a changed file."""

from __future__ import annotations

import importlib.util
import os
import py_compile
from pathlib import Path
from typing import Literal

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.bytecode import hashed
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.settings import Settings

SANDBOXES = ["process", *(["bwrap"] if find_bwrap()[0] is not None else [])]
FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "pkg/__init__.py": "",
    "pkg/calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": (
        "import sys\n\ncompiled = []\nsys.addaudithook(lambda event, args: event == 'compile' and compiled.append(str(args[1])))\n\n"
        "from pkg.calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_nothing_is_compiled():\n    assert not [name for name in compiled if name.endswith('pkg/calc.py')]\n"
    ),
}
NODEIDS = ["test_calc.py::test_add", "test_calc.py::test_nothing_is_compiled"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def settings(sandbox: str) -> Settings:
    kind: Literal["bwrap", "process"] = "bwrap" if sandbox == "bwrap" else "process"
    return Settings(sandbox=kind, effort="fast")


def bytecode_of(top: Path) -> list[str]:
    return sorted(file.name.partition(".")[0] for file in top.rglob("*.pyc"))


def outcomes(workshop: Workshop, workspace: Workspace, keep: bool = False) -> list[str]:
    found = run_tests(workshop, workspace, NODEIDS, keep_bytecode=keep, watched=NODEIDS)
    assert found.finished, found.output
    assert not found.tampered
    return [found.outcomes[nodeid] for nodeid in NODEIDS]


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_later_children_do_not_compile_what_the_first_one_did(project: Path, sandbox: str) -> None:
    with workshop_at(project, settings(sandbox)) as workshop:
        assert outcomes(workshop, workshop.pristine) == ["failed", "failed"]
        assert bytecode_of(workshop.pristine.top) == []
        assert outcomes(workshop, workshop.pristine, keep=True) == ["failed", "failed"]
        # A rewritten test module names its folder, which is the same for all children only behind walls.
        rewritten = ["test_calc"] if sandbox == "bwrap" else []
        assert bytecode_of(workshop.pristine.top) == ["__init__", "calc", *rewritten]
        with workshop.fresh() as workspace:
            assert outcomes(workshop, workspace) == ["failed", "passed"]
    assert bytecode_of(project) == []


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_changed_file_of_the_same_size_and_time_is_compiled(project: Path, sandbox: str) -> None:
    with workshop_at(project, settings(sandbox)) as workshop:
        outcomes(workshop, workshop.pristine, keep=True)
        with workshop.fresh() as workspace:
            file = workspace.top / "pkg" / "calc.py"
            before = file.stat()
            file.write_text(FILES["pkg/calc.py"].replace("-", "+"))
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
            assert outcomes(workshop, workspace) == ["passed", "failed"]


def test_only_the_projects_own_modules_are_kept(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "library.py").write_text("VALUE = 3\n")
    (project / "pkg" / "calc.py").write_text(
        f"import sys\n\nsys.path.append({str(elsewhere)!r})\nimport library\n\n\ndef add(a, b):\n    return library.VALUE\n"
    )
    with workshop_at(project, settings("process")) as workshop:
        assert outcomes(workshop, workshop.pristine, keep=True) == ["passed", "failed"]
        assert bytecode_of(workshop.pristine.top) == ["__init__", "calc"]
    assert bytecode_of(elsewhere) == []


def test_bytecode_of_a_source_that_is_another_now_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "calc.py"
    source.write_text("VALUE = 1\n")
    cached = Path(py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP))
    data = cached.read_bytes()
    found = hashed(data, source)
    assert found[8:16] == importlib.util.source_hash(source.read_bytes())
    assert found[16:] == data[16:]
    source.write_text("VALUE = 100\n")
    with pytest.raises(ValueError, match="changed"):
        hashed(data, source)
    with pytest.raises(ValueError, match="changed"):
        hashed(found, source)  # by its hash already
