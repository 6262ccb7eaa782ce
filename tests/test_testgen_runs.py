"""``--generate-tests`` as a user runs it: beside ``--selfheal``, and alone for what changed since a revision."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_selfheal.testing import Example

INI = "[pytest]\nfilterwarnings =\nselfheal_effort = fast\npythonpath = src\n"
CODE = """\
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return low
    return value
"""
TESTS = """\
from levels import clamp


def test_high():
    assert clamp(12, 0, 10) == 10


def test_low():
    assert clamp(-2, 0, 10) == 0


def test_between():
    assert clamp(5, 0, 10) == 5
"""
CHANGED = '''\
from dataclasses import dataclass


@dataclass(frozen=True)
class Parcel:
    weight: float
    zones: int = 1


def postage(parcel: Parcel, express: bool = False) -> float:
    """Price of sending a parcel."""
    if parcel.weight <= 0:
        raise ValueError("a parcel weighs something")
    price = 2.5 * parcel.zones
    if parcel.weight > 10:
        price += 4.0
    return price * 2 if express else price


def stamped(parcel: Parcel) -> str:
    import time

    return f"{parcel.weight} kg at {time.time()}"
'''


def passes(folder: Path, *arguments: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def test_a_healed_function_gets_tests_that_fail_without_the_repair(tmp_path: Path) -> None:
    files = {"pytest.ini": INI, "src/levels.py": CODE, "tests/test_levels.py": TESTS}
    project = Example(files, tmp_path).git()
    before = project.bytes()
    result = project.run("-q", "--selfheal", "--generate-tests")
    assert result.code == 1
    assert project.bytes() == before
    [failure] = result.report["failures"]
    assert failure["status"] == "healed", result.stdout
    assert failure["generated_tests"] == ["tests/test_levels_selfheal.py"]
    generation = result.report["test_generation"]
    [function] = generation["functions"]
    assert function["function"] == "src/levels.py::clamp"
    assert function["kept"] == len(function["tests"]) > 0
    assert function["mutants"]["killed_after"] >= function["mutants"]["killed_before"]
    assert "generated tests:" in result.stdout
    assert "src/levels.py::clamp" in result.stdout

    made = (result.run_dir / "tests" / "test_levels_selfheal.py").read_text("utf-8")
    assert "from levels import clamp" in made
    (tmp_path / "tests" / "test_levels_selfheal.py").write_text(made)
    assert not passes(tmp_path, "tests/test_levels_selfheal.py")
    (tmp_path / "tests" / "test_levels_selfheal.py").unlink()

    subprocess.run(["git", "apply", str(result.run_dir / failure["patch"])], cwd=tmp_path, check=True)
    assert (tmp_path / "tests" / "test_levels_selfheal.py").read_text("utf-8") == made
    assert passes(tmp_path)


def test_changed_logic_that_no_test_runs_gets_tests_as_a_patch_of_new_files(tmp_path: Path) -> None:
    files = {"pytest.ini": INI, "src/levels.py": CODE, "tests/test_levels.py": "def test_it():\n    assert True\n"}
    project = Example(files, tmp_path).git()
    project.write({"src/shop/__init__.py": "", "src/shop/post.py": CHANGED})
    before = project.bytes()
    result = project.run("-q", "--generate-tests")
    assert result.code == 0
    assert project.bytes() == before
    assert result.report["failures"] == []
    generation = result.report["test_generation"]
    by_name = {function["function"]: function for function in generation["functions"]}
    assert set(by_name) == {"src/shop/post.py::postage", "src/shop/post.py::stamped"}, "only what changed"
    postage = by_name["src/shop/post.py::postage"]
    assert postage["kept"] >= 2
    assert postage["lines"]["after"] == postage["lines"]["total"]
    assert postage["mutants"]["killed_after"] > 0.6 * postage["mutants"]["total"]
    assert by_name["src/shop/post.py::stamped"]["reason"] == "it depends on the clock"
    assert "no test for src/shop/post.py::stamped: it depends on the clock" in result.stdout

    applied = project.run("apply", python=(sys.executable, "-m", "pytest_selfheal"))
    assert applied.code == 0, applied.stdout + applied.stderr
    assert {name: content for name, content in project.bytes().items() if name in before} == before
    assert generation["files"] == ["tests/test_post.py"]
    assert passes(tmp_path)

    again = project.run("-q", "--generate-tests")
    reasons = {f["function"]: f["reason"] for f in again.report["test_generation"]["functions"]}
    assert reasons["src/shop/post.py::postage"] == "its changed lines and branches are covered by the existing tests"
    assert again.report["test_generation"]["patch"] is None


@pytest.mark.parametrize(
    ("git", "arguments", "words"),
    [
        (False, (), "without git, nobody knows what has changed"),
        (True, (), "no function of the project changed since"),
        (True, ("--selfheal-base", "v9"), "--selfheal-base: git knows no revision 'v9' here"),
    ],
)
def test_why_there_is_nothing_to_do(tmp_path: Path, git: bool, arguments: tuple[str, ...], words: str) -> None:
    project = Example({"levels.py": CODE, "test_it.py": "def test_it():\n    pass\n"}, tmp_path)
    if git:
        project.git()
    result = project.run("-q", "--generate-tests", *arguments)
    assert result.code == 0
    assert words in " ".join(result.stdout.split())


def test_alone_nothing_is_healed(tmp_path: Path) -> None:
    project = Example({"levels.py": CODE, "test_levels.py": TESTS}, tmp_path).git()
    result = project.run("-q", "--generate-tests")
    assert result.code == 1
    assert result.report["failures"] == []
