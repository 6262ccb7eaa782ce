"""Outcomes and reports for the tests of the record, as the loop would make them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_selfheal.record.patch import make_diff
from pytest_selfheal.types import (
    Alternative,
    Attempt,
    Diagnosis,
    Failure,
    FileChange,
    Frame,
    Outcome,
    Patch,
    Raised,
    RunReport,
    StopReason,
    Suspect,
    Usage,
    Verdict,
)

BEFORE = b"def add(a, b):\n    return a - b\n"
AFTER = b"def add(a, b):\n    return a + b\n"
CHANGE = FileChange("calc.py", BEFORE, AFTER)


def diagnosis(
    id: str,
    nodeid: str = "tests/test_calc.py::test_add",
    message: str = "assert 1 == 3",
    text: str = "E  assert 1 == 3",
) -> Diagnosis:
    frame = Frame("calc.py", 2, "add", "return a - b")
    failure = Failure(
        nodeid, "call", (Raised("AssertionError", message, (frame,)),), text=text, path="tests/test_calc.py"
    )
    return Diagnosis(
        id, (failure,), "logic", (Suspect("calc.py", 2, "add", 0.9, "raised there"),), "add() gives 1, not 3"
    )


def healed_outcome(
    id: str = "0001",
    *,
    changes: tuple[FileChange, ...] = (CHANGE,),
    note: str = "",
    includes: tuple[str, ...] = (),
    description: str = "replace - with + in add()",
    **failure: str,
) -> Outcome:
    found = diagnosis(id, **failure)
    patch = Patch(
        changes,
        "search",
        description,
        note=note,
        alternatives=(Alternative((), "replace - with |", "add(1, 1) → 1 here, 2 there"),),
    )
    verdict = Verdict("healed", "", found.nodeids, affected_pass=4, repeats=3, guards=("paths",), scope="all tests")
    diff = make_diff(changes).decode("utf-8", "replace")
    attempt = Attempt(1, "search", None, "", diff, "healed", "", description, usage=Usage(10, 5, 0.001), seconds=1.0)
    return Outcome(
        found,
        "healed",
        "healed",
        description,
        attempts=(attempt,),
        patch=patch,
        verdict=verdict,
        confidence="medium",
        diff=diff,
        candidates_tried=12,
        usage=attempt.usage,
        seconds=1.5,
        includes=includes,
    )


def unhealed_outcome(
    id: str = "0002",
    *,
    reason: StopReason = "no_candidate",
    words: str = "Nothing helped.",
    evidence: tuple[str, ...] = (),
    **failure: str,
) -> Outcome:
    diff = make_diff([FileChange("calc.py", BEFORE, b"def add(a, b):\n    return 3\n")]).decode()
    attempt = Attempt(
        1, "model", "some/model", "a guess", diff, "guarded", "special-casing", usage=Usage(100, 20, None)
    )
    return Outcome(
        diagnosis(id, **failure),
        "skipped" if reason == "flaky" else "unhealed",
        reason,
        words,
        attempts=(attempt,),
        usage=attempt.usage,
        seconds=0.5,
        evidence=evidence,
    )


def run_report(outcomes: Iterable[Outcome], **more: Any) -> RunReport:
    data: dict[str, Any] = {
        "started": "2026-01-02T03:04:05Z",
        "seconds": 3.0,
        "exit_status": 1,
        "model": "builtin",
        "critic": None,
        "strategy": "auto",
        "sandbox": "bwrap",
        "stop": "finished",
        "outcomes": tuple(outcomes),
    }
    return RunReport(**{**data, **more})
