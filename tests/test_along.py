"""Failures of other causes are verified in the same children as the patch; runs of one patch go side by side where there is room."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from healing_helpers import SUMS, heal_with
from project_helpers import workshop_at

from pytest_selfheal import join
from pytest_selfheal.healing import Healer
from pytest_selfheal.judge import repeats as judging
from pytest_selfheal.judge.along import MOST_SECONDS, MOST_TESTS, quick
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised, Verdict

WALLS = find_bwrap()[0] is not None and (os.cpu_count() or 1) > 1
CODE = (
    "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)\n\n\ndef half(a):\n    return a * 2\n"
)
MENDED = CODE.replace("a - b", "a + b")


def cause(id: str, *names: str) -> Diagnosis:
    nodeids = [f"test_calc.py::{name}" for name in names]
    failures = tuple(Failure(nodeid, "call", (Raised("AssertionError", ""),)) for nodeid in nodeids)
    return Diagnosis(id, failures, "logic", (), "")


def judged(
    folder: Path, tests: str, along: Sequence[Diagnosis], code: str = MENDED, cores: int = 1, sandbox: Any = "process"
) -> Verdict:
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (folder / "calc.py").write_text(CODE)
    (folder / "test_calc.py").write_text(f"import os\nfrom calc import add, double, half\n\n{tests}")
    with workshop_at(folder, Settings(sandbox=sandbox)) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
        workshop.project = replace(workshop.project, outcomes=first.outcomes, durations=first.durations)
        passing = [nodeid for nodeid, outcome in first.outcomes.items() if outcome == "passed"]
        patch = Patch((FileChange("calc.py", CODE.encode(), code.encode()),), "search", "")
        return verify(workshop, patch, cause("0001", "test_add"), Affected(passing, ""), cores=cores, along=along)


ADD = "def test_add():\n    assert add(1, 2) == 3\n\n\n"
DOUBLE = "def test_double():\n    assert double(2) == 4\n\n\ndef test_double_more():\n    assert double(3) == 6\n\n\n"
HALF = "def test_half():\n    assert half(4) == 2\n\n\n"


def test_what_the_patch_repairs_as_well_is_told(tmp_path: Path) -> None:
    others = (cause("0002", "test_double", "test_double_more"), cause("0003", "test_half"))
    verdict = judged(tmp_path, ADD + DOUBLE + HALF, others)
    assert verdict.kind == "healed", verdict.reason
    assert (verdict.asked, verdict.repaired) == (("0002", "0003"), ("0002",))
    assert verdict.failing_now_pass == ("test_calc.py::test_add",)


def test_a_cause_of_which_one_test_still_fails_is_not_repaired(tmp_path: Path) -> None:
    verdict = judged(tmp_path, ADD + DOUBLE + HALF, [cause("0002", "test_double", "test_half")])
    assert (verdict.kind, verdict.asked, verdict.repaired) == ("healed", ("0002",), ())


def test_what_passes_only_now_and_then_is_not_repaired(tmp_path: Path) -> None:
    # What a run leaves in the copy is there in the next one.
    flickers = (
        "def test_flickers():\n    left = os.path.exists('left')\n    open('left', 'w').close()\n"
        "    assert double(2) == 4\n    assert not left\n"
    )
    verdict = judged(tmp_path, ADD + flickers, [cause("0002", "test_flickers")])
    assert (verdict.kind, verdict.repaired) == ("healed", ())


@pytest.mark.parametrize("ending", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_another_cause_that_ends_the_process_costs_the_patch_nothing(tmp_path: Path, ending: str) -> None:
    bad = f"def test_ends():\n    assert add(1, 1) == 2\n    {ending}\n"
    verdict = judged(tmp_path, ADD + DOUBLE + bad, [cause("0002", "test_double"), cause("0003", "test_ends")])
    assert verdict.kind == "healed", verdict.reason
    assert (verdict.asked, verdict.repaired) == ((), ())


def test_a_bad_patch_is_bad_whatever_else_it_repairs(tmp_path: Path) -> None:
    code = CODE.replace("return add(a, a)", "return 2 * a")
    verdict = judged(tmp_path, ADD + DOUBLE, [cause("0002", "test_double", "test_double_more")], code)
    assert (verdict.kind, verdict.repaired) == ("still_failing", ())


def test_few_and_quick_tests_only() -> None:
    many = cause("0001", *(f"test_{n}" for n in range(MOST_TESTS + 1)))
    some = cause("0002", *(f"test_{n}" for n in range(MOST_TESTS - 1)))
    pair, one = cause("0003", "test_a", "test_b"), cause("0004", "test_c")
    assert quick((many, some, pair, one), {}) == (some, one)
    assert quick((pair, one), {"test_calc.py::test_a": MOST_SECONDS + 1}) == (one,)
    assert quick((pair, one), {"test_calc.py::test_b": MOST_SECONDS, "test_calc.py::test_c": 1.0}) == (pair,)


def test_a_joined_cause_was_verified_with_the_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[object] = []
    monkeypatch.setattr(join, "run_tests", lambda *given, **more: again.append(given))
    monkeypatch.setattr(join, "verify", lambda *given, **more: again.append(given))
    monkeypatch.setattr(Healer, "_turn", lambda *_: 0)  # in the order of the tests: the other one is still open
    report = heal_with(tmp_path, monkeypatch, SUMS, {"test_total": ("calc.py", "a - b", "a + b")})
    [outcome] = report.outcomes
    assert outcome.verdict is not None
    both = {"test_shop.py::test_total", "test_shop.py::test_add"}
    assert set(outcome.diagnosis.nodeids) == set(outcome.verdict.failing_now_pass) == both
    assert again == []


# ---------------------------------------------------------------------- side by side


def meeting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs of a patch were going on when each one began."""
    going, seen, lock = [0], [], threading.Lock()

    def counted(*given: Any, **more: Any) -> ChildRun:
        with lock:
            going[0] += 1
            seen.append(going[0])
        try:
            return run_tests(*given, **more)
        finally:
            with lock:
                going[0] -= 1

    monkeypatch.setattr(judging, "run_tests", counted)
    return seen


@pytest.mark.skipif(not WALLS, reason="runs go side by side only where children cannot meet")
@pytest.mark.parametrize("cores", [1, 2])
def test_runs_go_side_by_side_where_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    seen = meeting(monkeypatch)
    slow = "def test_add():\n    import time\n    time.sleep(0.3)\n    assert add(1, 2) == 3\n\n\n"
    verdict = judged(tmp_path, slow + DOUBLE, [cause("0002", "test_double")], cores=cores, sandbox="bwrap")
    assert (verdict.kind, verdict.repeats, verdict.repaired) == ("healed", 3, ("0002",))
    assert len(seen) == 3
    assert max(seen) == cores


@pytest.mark.skipif(not WALLS, reason="runs go side by side only where children cannot meet")
def test_what_a_run_leaves_behind_is_seen_side_by_side_as_well(tmp_path: Path) -> None:
    once = (
        "def test_add():\n    assert add(1, 2) == 3\n    left = os.path.exists('left')\n    open('left', 'w').close()\n"
        "    assert not left\n"
    )
    verdict = judged(tmp_path, once, (), cores=2, sandbox="bwrap")
    assert verdict.kind == "still_failing"
    assert "now and then" in verdict.reason


@pytest.mark.skipif(not WALLS, reason="runs go side by side only where children cannot meet")
def test_the_first_bad_run_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[ChildRun] = []
    there: list[bool] = []

    def kept(*given: Any, **more: Any) -> ChildRun:
        runs.append(run_tests(*given, **more))
        there.append(given[1].top.exists())
        return runs[-1]

    monkeypatch.setattr(judging, "run_tests", kept)
    slow = (  # passes, and takes long with the patch only
        "def test_half():\n    import calc, time\n"
        "    time.sleep(40 if 'a * b' in open(calc.__file__).read() else 0)\n    assert half(2) == 4\n"
    )
    verdict = judged(tmp_path, ADD + slow, (), CODE.replace("a - b", "a * b"), cores=2, sandbox="bwrap")
    assert verdict.kind == "still_failing"
    assert "did not end" not in verdict.reason
    assert [run.finished for run in runs].count(True) == 1
    assert all(there)  # no copy goes while somebody runs in it


@pytest.mark.skipif(not WALLS, reason="runs go side by side only where children cannot meet")
def test_another_cause_that_ends_the_process_is_left_out_side_by_side_as_well(tmp_path: Path) -> None:
    bad = "def test_ends():\n    os._exit(3)\n"
    verdict = judged(tmp_path, ADD + bad, [cause("0003", "test_ends")], cores=2, sandbox="bwrap")
    assert (verdict.kind, verdict.asked) == ("healed", ())
