"""The judge of generated tests, on real files in real children: only what holds every time, and fails before, stays."""

from __future__ import annotations

from pathlib import Path

from project_helpers import workshop_at

from pytest_selfheal.testgen.judge import judge, others_for
from pytest_selfheal.types import FileChange

BEFORE = b"def double(x):\n    return x + x + 1\n"
AFTER = b"def double(x):\n    return x + x\n"
GENERATED = b"""
import os
import pytest
from code_under_test import double

SEEN = []


def test_wrong_before():
    assert double(2) == 4


def test_right_before_too():
    assert double(1) > 0


def test_order_matters():
    SEEN.append(1)
    assert len(SEEN) == 1


@pytest.mark.parametrize("x", [pytest.param(1, id="one"), pytest.param(2, id="two [2]")])
def test_table(x):
    assert double(x) == 2 * x


def test_broken():
    assert double(2) == 5
"""
POLLUTING = "import code_under_test\n\n\ndef test_pollutes():\n    assert not hasattr(code_under_test, 'mark')\n"


def test_each_test_is_judged_by_itself(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings =\n")
    (tmp_path / "code_under_test.py").write_bytes(BEFORE)
    (tmp_path / "test_old.py").write_text(POLLUTING)
    old = "test_old.py::test_pollutes"
    with workshop_at(tmp_path, outcomes={old: "passed", "test_old.py::test_gone": "failed"}) as workshop:
        assert others_for(workshop, []) == [old]
        verdict = judge(
            workshop,
            [FileChange("code_under_test.py", BEFORE, AFTER)],
            [FileChange("test_new.py", None, GENERATED)],
            [old],
            before=True,
            prefix="",
        )
    name = "test_new.py::"
    assert verdict.broken == ""
    tables = {f"{name}test_table[one]", f"{name}test_table[two [2]]"}
    assert verdict.passed == {f"{name}test_wrong_before", f"{name}test_right_before_too", *tables}
    assert verdict.failed == {
        f"{name}test_order_matters": "fails when it is repeated",
        f"{name}test_broken": "fails when it is repeated",
    }
    assert verdict.fails_before >= {f"{name}test_wrong_before", *tables}
    assert f"{name}test_right_before_too" not in verdict.fails_before


def test_code_that_could_not_be_imported_before_fails_every_test_before(tmp_path: Path) -> None:
    (tmp_path / "code_under_test.py").write_bytes(b"def double(x:\n")
    with workshop_at(tmp_path) as workshop:
        verdict = judge(
            workshop,
            [FileChange("code_under_test.py", b"def double(x:\n", AFTER)],
            [
                FileChange(
                    "test_new.py",
                    None,
                    b"from code_under_test import double\n\n\ndef test_it():\n    assert double(1) == 2\n",
                )
            ],
            [],
            before=True,
            prefix="",
        )
    assert verdict.passed == verdict.fails_before == {"test_new.py::test_it"}


def test_a_file_that_cannot_be_collected_is_broken(tmp_path: Path) -> None:
    (tmp_path / "code_under_test.py").write_bytes(AFTER)
    with workshop_at(tmp_path) as workshop:
        files = [FileChange("test_new.py", None, b"from code_under_test import missing\n")]
        verdict = judge(workshop, [], files, [], before=False, prefix="")
    assert verdict.broken == "the generated tests could not be collected"
