"""Failures of other causes that are run along with a patch: what it repairs as well is verified in the same children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_selfheal.types import Diagnosis

if TYPE_CHECKING:
    from pytest_selfheal.judge.affected import AffectedTests

MOST_TESTS = 40
"""Describing a failure takes far longer than most tests do; what is left over is asked later, once a patch is found."""
MOST_SECONDS = 5.0


def comes_into_question(other: Diagnosis, changed: tuple[str, ...], affected: AffectedTests) -> bool:
    """Whether a run of tests can cheaply show that a change of these files repairs another cause as well.

    Not of endless tests, and not of modules that do not collect.
    """
    if other.kind == "timeout" or any(failure.phase == "collect" for failure in other.failures):
        return False
    return affected.may_reach(changed, other.nodeids)


def quick(others: Iterable[Diagnosis], durations: Mapping[str, float]) -> tuple[Diagnosis, ...]:
    """Of these causes, those whose tests are few and quick. ``durations``: seconds by nodeid."""
    tests, seconds = MOST_TESTS, MOST_SECONDS
    found = []
    for other in others:
        took = sum(durations.get(nodeid, 0.0) for nodeid in other.nodeids)
        if len(other.nodeids) <= tests and took <= seconds:
            tests -= len(other.nodeids)
            seconds -= took
            found.append(other)
    return tuple(found)
