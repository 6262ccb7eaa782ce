"""A test that asserts less under a patch than before lowers the confidence, and the report says which."""

from __future__ import annotations

from pathlib import Path

from project_helpers import workshop_at

from pytest_selfheal.judge.assertions import COUNTING, fewer
from pytest_selfheal.judge.reproduce import reproduce
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised, Verdict

WRONG = b"def evens(numbers):\n    return [n for n in numbers if n % 2]\n"
RIGHT = b"def evens(numbers):\n    return [n for n in numbers if n % 2 == 0]\n"
NONE_AT_ALL = b"def evens(numbers):\n    return [n for n in numbers if n % 2 == 0 and n > 10]\n"
TEST = """
import pytest
from evens import evens


def test_each():
    for n in evens([3, 4, 5, 6]):
        assert n % 2 == 0


@pytest.mark.parametrize("limit", [1, 12])
def test_bound(limit):
    assert True
    for n in evens(range(limit)):
        assert n <= limit
"""
EACH, ONE, TWELVE = "test_evens.py::test_each", "test_evens.py::test_bound[1]", "test_evens.py::test_bound[12]"


def judged(folder: Path, after: bytes, proposer: str = "somebody") -> Verdict:
    (folder / "evens.py").write_bytes(WRONG)
    (folder / "test_evens.py").write_text(TEST)
    outcomes = {EACH: "failed", ONE: "passed", TWELVE: "passed"}
    with workshop_at(folder, outcomes=outcomes, plugins_off=True) as workshop:
        failure = Failure(EACH, "call", (Raised("AssertionError", "assert (3 % 2) == 0"),), path="test_evens.py")
        [seen] = reproduce(workshop, [failure])
        assert workshop.assertions == {EACH: 0}
        root = str(workshop.pristine.top)
        diagnosis = Diagnosis("0001", (seen.failure,), "logic", (), "", root, root)
        patch = Patch((FileChange("evens.py", WRONG, after),), proposer, "")
        return verify(workshop, patch, diagnosis, Affected((ONE, TWELVE), ""))


def test_a_right_patch_keeps_its_confidence(tmp_path: Path):
    verdict = judged(tmp_path, RIGHT)
    assert (verdict.kind, verdict.confidence, verdict.affected_pass) == ("healed", "high", 2)


def test_a_patch_that_leaves_nothing_to_assert_does_not(tmp_path: Path):
    verdict = judged(tmp_path, NONE_AT_ALL)
    assert (verdict.kind, verdict.confidence) == ("healed", "low")
    assert f"{EACH} executes 0 assertions instead of 1" in verdict.reason


def test_tests_that_passed_before_are_counted_as_well(tmp_path: Path):
    failing = Failure(EACH, "call", (Raised("ValueError", "no"),))
    assert fewer([failing], {EACH: 2, ONE: 3}, {EACH: 2, ONE: 3}, [ONE]) == ""
    assert fewer([failing], {EACH: 2, ONE: 3}, {EACH: 2, ONE: 1}, [ONE]) == f"{ONE} executes 1 assertions instead of 3"
    assert fewer([failing], {}, {EACH: 0}, [ONE]) == ""


def test_only_passed_assertions_of_the_test_itself_are_counted(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef one():\n    assert 1 == 1\n    yield\n    assert 2 == 2\n\n\n"
        "def test_two(one):\n    assert 1 < 2 < 3, 'message'\n\n\ndef test_none():\n    pass\n\n\n"
        "def test_fails():\n    assert True\n    assert not True\n    assert True\n"
    )
    with workshop_at(tmp_path) as workshop:
        run = run_tests(workshop, workshop.pristine, None, arguments=COUNTING)
    assert run.assertions == {"test_it.py::test_two": 2, "test_it.py::test_none": 0, "test_it.py::test_fails": 1}
