"""Failures that only look different are healed once; causes that are different stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from healing_helpers import SUMS, files_of, heal_with

from pytest_selfheal.healing import Healer
from pytest_selfheal.testing import Example

FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "selfheal", "-p", "no:cacheprovider")
AUTOLOAD_OFF = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_many_failures_of_two_causes_are_two_repairs(tmp_path: Path) -> None:
    test = "from calc import add, double\n"
    for n in range(3, 9):
        test += f"\n\ndef test_add_{n}():\n    assert add({n}, 1) == {n + 1}\n    assert add(1, {n}) == {n + 1}\n"
        test += f"\n\ndef test_double_{n}():\n    assert double({n}) == {2 * n}\n"
    code = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 3\n"
    example = Example({"calc.py": code, "test_calc.py": test, "pytest.ini": "[pytest]\npythonpath = .\n"}, tmp_path)
    result = example.run(*FAST, environment=AUTOLOAD_OFF, timeout=300)
    assert result.code == 1, result.stdout + result.stderr
    failures = result.report["failures"]
    assert [failure["status"] for failure in failures] == ["healed", "healed"], result.stdout
    for failure, name in zip(sorted(failures, key=lambda f: str(f["nodeids"])), ("add", "double"), strict=True):
        nodeids = [f"test_calc.py::test_{name}_{n}" for n in range(3, 9)]
        assert sorted(failure["nodeids"]) == nodeids
        assert sorted(failure["verified"]["failing_now_pass"]) == nodeids
    assert len(list((result.run_dir / "patches").glob("0*.patch"))) == 2


def test_a_cause_given_up_earlier_joins_the_patch_that_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = heal_with(tmp_path, monkeypatch, SUMS, {"test_add": ("calc.py", "a - b", "a + b")})
    [outcome] = report.outcomes
    assert outcome.status == "healed"
    assert set(outcome.diagnosis.nodeids) == {"test_shop.py::test_total", "test_shop.py::test_add"}
    # Nothing is left on disk that says the other one was not healed.
    assert files_of(report) == ["patches/0002-test-add.patch"]


def test_patches_that_undo_one_another_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = {"test_total": ("shop.py", "return sum", "return -sum"), "test_add": ("calc.py", "a - b", "a + b")}
    monkeypatch.setattr(Healer, "_turn", lambda *_: 0)  # in the order of the tests: the wrong patch comes first
    report = heal_with(tmp_path, monkeypatch, SUMS, edits)
    [outcome] = report.outcomes
    assert set(outcome.diagnosis.nodeids) == {"test_shop.py::test_total", "test_shop.py::test_add"}
    assert "+    return a + b" in outcome.diff
    assert files_of(report) == ["patches/0002-test-add.patch"]
    assert not any("together" in note for note in report.notes)


def test_patches_that_go_together_stay_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "calc.py": "def add(a, b):\n    return a - b\n\n\ndef half(a):\n    return a * 2\n",
        "test_calc.py": (
            "from calc import add, half\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
            "def test_half():\n    assert half(4) == 2\n"
        ),
    }
    edits = {"test_add": ("calc.py", "a - b", "a + b"), "test_half": ("calc.py", "a * 2", "a // 2")}
    report = heal_with(tmp_path, monkeypatch, files, edits)
    assert [(o.status, len(o.diagnosis.nodeids)) for o in report.outcomes] == [("healed", 1), ("healed", 1)]
    assert (Path(report.directory) / "all.patch").read_text().count("+    return a") == 2
