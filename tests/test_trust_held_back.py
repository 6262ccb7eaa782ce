"""Cases kept back from the search: what passes them keeps its confidence, what was refuted by them costs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from project_helpers import workshop_at

from pytest_selfheal.heldback import hold_back
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.propose import Proposal
from pytest_selfheal.rounds import Rounds, Tools
from pytest_selfheal.surroundings import PytestHooks
from pytest_selfheal.types import Attempt, Diagnosis, Failure, FileChange, Outcome, Patch, Raised

WRONG = b"def double(n):\n    return n\n"
RIGHT = b"def double(n):\n    return n + n\n"
FITS_TWO = b"def double(n):\n    return n * n - n\n"  # 3 → 6, -1 → 2, but 5 → 20
TEST = """
import pytest
from double import double


@pytest.mark.parametrize("n, wanted", [(3, 6), (3.0, 6), (5, 10)])
def test_double(n, wanted):
    assert double(n) == wanted
"""
CASES = tuple(f"test_double.py::test_double[{case}]" for case in ("3-6", "3.0-6", "5-10"))


class Scripted:
    """Plays the embedded engine: for each number of failing tests shown, the patches that it would come to."""

    name = "search"

    def __init__(self, script: dict[int, list[bytes]]) -> None:
        self.script = script
        self.asked: list[tuple[str, ...]] = []

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        self.asked.append(diagnosis.nodeids)
        for after in self.script[len(diagnosis.nodeids)]:
            yield Patch((FileChange("double.py", WRONG, after),), "search", "", confidence="high")


def outcome_of(folder: Path, proposer: Scripted) -> Outcome:
    (folder / "double.py").write_bytes(WRONG)
    (folder / "test_double.py").write_text(TEST)
    with workshop_at(folder, outcomes=dict.fromkeys(CASES, "failed"), plugins_off=True) as workshop:
        root = str(workshop.pristine.top)
        failures = tuple(
            Failure(n, "call", (Raised("AssertionError", "assert"),), path="test_double.py") for n in CASES
        )
        diagnosis = Diagnosis("0001", failures, "logic", (), "", root, root)
        quiet: Any = lambda *args, **kwargs: None  # noqa: E731
        affected = AffectedTests(workshop.project, workshop.pristine.top)
        tools = Tools(
            workshop.settings, workshop, affected, PytestHooks(None), None, quiet, quiet, time.monotonic() + 200,
            threading.Event(),
        )  # fmt: skip
        return Rounds(tools, diagnosis, [proposer]).run()


def test_what_passes_the_unseen_case_keeps_its_confidence(tmp_path: Path):
    engine = Scripted({2: [RIGHT]})
    outcome = outcome_of(tmp_path, engine)
    assert engine.asked == [CASES[:2]]
    assert (outcome.status, outcome.confidence) == ("healed", "high")
    assert outcome.verdict is not None
    assert "a case that was kept back from the search passes as well" in outcome.verdict.reason
    assert set(outcome.verdict.failing_now_pass) == set(CASES)


def test_what_is_found_only_with_all_cases_is_less_sure(tmp_path: Path):
    engine = Scripted({2: [FITS_TWO], 3: [RIGHT]})
    outcome = outcome_of(tmp_path, engine)
    assert engine.asked == [CASES[:2], CASES]
    assert [attempt.verdict for attempt in outcome.attempts] == ["still_failing", "healed"]
    assert (outcome.status, outcome.confidence) == ("healed", "medium")


def test_few_cases_are_all_shown():
    failures = tuple(Failure(n, "call", ()) for n in CASES[:2])
    diagnosis = Diagnosis("0001", failures, "logic", (), "")
    assert hold_back(diagnosis) == (diagnosis, frozenset())
