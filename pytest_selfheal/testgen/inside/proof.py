"""What candidates prove: which mutants they kill, beside what the existing tests kill already."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_selfheal.propose.search import fork, items
from pytest_selfheal.propose.search.fork import Timer
from pytest_selfheal.testgen.inside.candidate import Candidate, Surroundings
from pytest_selfheal.testgen.inside.evaluate import Evaluator
from pytest_selfheal.testgen.inside.mutants import Mutant
from pytest_selfheal.testgen.inside.versions import Versions
from pytest_selfheal.testgen.inside.watch import Seen

MAX_TESTS = 12
TEST_SECONDS = 0.05
"""CPU seconds that an existing test may take on a mutant in any case; ten times what it takes otherwise."""


@dataclass(frozen=True)
class Proof:
    """The answers of all mutants that were tried."""

    tried: tuple[int, ...]
    """Numbers of the mutants that could be asked."""
    killed: tuple[frozenset[int], ...]
    """By each candidate."""
    before: frozenset[int] | None
    """By the existing tests; ``None`` when there was no way to tell."""


def prove(
    faults: Sequence[Mutant],
    chosen: Sequence[Candidate],
    seen: Seen,
    around: Surroundings,
    versions: Versions,
    evaluator: Evaluator,
    limit: float,
) -> Proof:
    """Run every mutant on the candidates and on the tests that call the function. ``limit``: CPU seconds of one call."""
    inputs = [c.prepared for c in chosen]
    codes = [fault.codes for fault in faults]
    texts = versions.each(codes, lambda: evaluator.texts(inputs, limit))
    answers = {n: found for n, found in enumerate(texts) if found is not None}
    killed = _kills(answers, [c.answer.text for c in chosen])
    before: frozenset[int] | None = frozenset()
    if seen.calls:
        before = _killed_by_tests(codes, seen, around, versions)
    return Proof(tuple(answers), tuple(killed), before)


def _kills(answers: Mapping[int, Sequence[str]], right: Sequence[str]) -> list[frozenset[int]]:
    """Per input, the mutants whose answer to it is not the right one."""
    return [
        frozenset(m for m, texts in answers.items() if i < len(texts) and texts[i] not in (text, "?"))
        for i, text in enumerate(right)
    ]


def _killed_by_tests(
    codes: Sequence[Any], seen: Seen, around: Surroundings, versions: Versions
) -> frozenset[int] | None:
    runs = _calling_tests(seen, around)
    if not runs:
        return None

    def any_fails() -> bool:
        timer = Timer()
        return any(fails(timer, run, limit) for run, limit in runs)

    found = versions.each(codes, any_fails)
    return frozenset(n for n, failed in enumerate(found) if failed)


def _calling_tests(seen: Seen, around: Surroundings) -> list[tuple[items.Run, float]]:
    """Runs of the tests that call the function, in the cheapest way that passes, and the CPU seconds each may take."""
    found = [around.tests[nodeid] for nodeid in seen.tests if nodeid in around.tests][:MAX_TESTS]
    return sorted((run for run in passing_runs(found, around) if run is not None), key=lambda run: run[1])


def passing_runs(tests: Sequence[pytest.Item], around: Surroundings) -> list[tuple[items.Run, float] | None]:
    """For each test the cheapest way in which it passes, and the CPU seconds it may take; ``None`` where there is none."""
    ways = fork.call(lambda: [_passing_way(item) for item in tests], 6.0, around.usage, around.close)
    return [
        (dict(items.ways(item))[way], max(TEST_SECONDS, 10 * seconds)) if way else None
        for item, (way, seconds) in zip(tests, ways or [("", 0.0)] * len(tests), strict=True)
    ]


def _passing_way(item: pytest.Item) -> tuple[str, float]:
    timer = Timer()
    for way, run in items.ways(item):
        started = time.process_time()
        if not fails(timer, run, 0.5):
            return way, time.process_time() - started
    return "", 0.0


def fails(timer: Timer, run: items.Run, limit: float) -> bool:
    try:
        timer.start(limit)
        try:
            run()
        finally:
            timer.stop()
    except BaseException:
        return True
    return False
