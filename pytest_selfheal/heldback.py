"""Cases kept back from the search: a patch that passes them without having been chosen by them is no mere fit.

Every third failing case of a parametrised test is kept from the embedded engine, which takes what passes the tests it
runs. Verification runs all cases. (A model reads the tests' source; nothing can honestly be kept from it.)
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from pytest_selfheal.types import Diagnosis, Verdict, lower

EACH = 3
MAX_MISSES = 2
"""After so many patches that failed only what was kept back, the engine is asked again with all cases."""


def hold_back(diagnosis: Diagnosis) -> tuple[Diagnosis, frozenset[str]]:
    """The diagnosis without the cases that are kept back, and their nodeids; none where a test has fewer than three."""
    cases: dict[str, list[str]] = defaultdict(list)
    for nodeid in diagnosis.nodeids:
        if nodeid.endswith("]"):
            cases[nodeid.partition("[")[0]].append(nodeid)
    held = frozenset(nodeid for group in cases.values() for nodeid in group[EACH - 1 :: EACH])
    if not held or any(failure.phase != "call" for failure in diagnosis.failures):
        return diagnosis, frozenset()
    return replace(diagnosis, failures=tuple(f for f in diagnosis.failures if f.nodeid not in held)), held


def is_miss(verdict: Verdict | None, held: frozenset[str]) -> bool:
    """Whether a patch passes all that it was made for, and fails a case that was kept back."""
    failing = {failure.nodeid for failure in verdict.still_failing} if verdict is not None else set()
    return verdict is not None and verdict.kind == "still_failing" and bool(failing) and failing <= held


def weighed(verdict: Verdict, held: frozenset[str], misses: int) -> Verdict:
    """The verdict on a patch that passes all cases, in the light of what became of those that were kept back."""
    if misses:
        words = "confidence is medium at most, since another change fitted the tests until cases kept back refuted it"
        return replace(verdict, confidence=lower(verdict.confidence, "medium"), reason=f"{verdict.reason}; {words}")
    if held:
        what = (
            "a case that was kept back from the search passes"
            if len(held) == 1
            else (f"{len(held)} cases that were kept back from the search pass")
        )
        words = f"{what} as well"
        return replace(verdict, reason=f"{verdict.reason}; {words}")
    return verdict
