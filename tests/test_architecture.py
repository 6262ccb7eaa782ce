"""What may be imported where, and what an idle plugin costs in imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_selfheal

PACKAGE = Path(pytest_selfheal.__file__).parent
HEAVY = ("litellm", "libcst", "git", "coverage", "rich", "jinja2", "detect_secrets", "numpy", "scipy")

# Foreign module → the only places that may import it.
HOMES = {
    "litellm": ("propose/model/",),
    "git": ("record/git.py",),
    "subprocess": ("judge/process.py", "judge/sandbox.py", "testing.py", "record/", "bench/", "testgen/formatter.py"),
}


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_entry_module_loads_nothing_heavy() -> None:
    assert not loaded_by("import pytest_selfheal.plugin") & set(HEAVY)


def test_the_entry_module_brings_only_options_hooks_and_errors() -> None:
    ours = {name for name in loaded_by("import pytest_selfheal.plugin") if name.startswith("pytest_selfheal")}
    assert ours == {
        f"pytest_selfheal{name}" for name in ("", ".plugin", ".as_installed", ".settings", ".hookspecs", ".errors")
    }


@pytest.mark.parametrize("flag", [(), ("--selfheal",)])
def test_a_green_run_loads_nothing_heavy(tmp_path: Path, flag: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    code = (
        "import pytest\n"
        f"code = pytest.main(['-q', '-p', 'no:anyio', '-p', 'no:hypothesispytest', '-p', 'no:pytest_cov', *{flag!r}, {str(tmp_path)!r}])\n"
        "assert code == 0, code"
    )
    assert not loaded_by(code) & set(HEAVY)


def modules() -> list[Path]:
    # bench/data holds broken scripts, which are data.
    return sorted(path for path in PACKAGE.rglob("*.py") if "data" not in path.relative_to(PACKAGE).parts)


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("foreign", HOMES)
def test_each_foreign_dependency_has_one_home(foreign: str) -> None:
    strangers = [
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if any(name.partition(".")[0] == foreign for name in imports_of(path))
        and not path.relative_to(PACKAGE).as_posix().startswith(HOMES[foreign])
    ]
    assert strangers == []


def test_proposers_do_not_judge_and_the_judge_does_not_know_the_proposers() -> None:
    for path in modules():
        room = path.relative_to(PACKAGE).as_posix()
        if room.startswith("judge/"):
            assert not {name for name in imports_of(path) if name.startswith("pytest_selfheal.propose")}, room
        if room.startswith("propose/"):
            assert "pytest_selfheal.judge.verify" not in imports_of(path), room


def test_pure_stages_import_no_pytest_and_no_git() -> None:
    for name in ("types", "errors", "settings", "cluster", "diagnose", "localize", "doubt", "stub"):
        found = imports_of(PACKAGE / f"{name}.py")
        assert not found & {"pytest", "_pytest", "git", "litellm", "coverage"}, name


def test_heal_is_a_function_whatever_was_imported_before() -> None:
    code = (
        "import pytest_selfheal.healing, pytest_selfheal.api\nfrom pytest_selfheal import heal\nassert callable(heal)"
    )
    assert "pytest_selfheal.api" in loaded_by(code)
