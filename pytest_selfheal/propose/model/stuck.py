"""Whether further rounds would only repeat the last ones. Pure functions over the history."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_selfheal.types import Attempt, Failure, stable

PATIENCE = 2
"""No improvement is noticed over so many times ``selfheal_stuck_after`` rounds."""


def stuck(attempts: Sequence[Attempt], first: Sequence[Failure], after: int) -> str | None:
    """Why the proposer goes round in circles, in words; ``None`` while it does not.

    ``attempts``: the proposer's own, in order; ``first``: the failures that are to be healed; ``after``: how many alike in
    a row are too many.
    """
    last = attempts[-after:]
    if len(last) == after:
        if all(attempt.verdict == "duplicate" for attempt in last):
            return f"the model repeated a patch {after} times in a row"
        signatures = {_signature(attempt) for attempt in last}
        if len(signatures) == 1 and None not in signatures:
            return f"{after} different patches in a row left exactly the same failure"
        feedbacks = {normal(attempt.feedback) for attempt in last}
        if len(feedbacks) == 1 and "" not in feedbacks:
            return f"the same feedback came {after} times in a row"
    window = attempts[-after * PATIENCE :]
    if len(window) == after * PATIENCE and not any(_better(attempt, attempts, first) for attempt in window):
        return f"no improvement over {len(window)} rounds"
    return None


def _signature(attempt: Attempt) -> tuple[str, ...] | None:
    if attempt.result is None or not attempt.result.still_failing:
        return None
    return tuple(sorted(failure.signature for failure in attempt.result.still_failing))


def _better(attempt: Attempt, attempts: Sequence[Attempt], first: Sequence[Failure]) -> bool:
    """Whether an attempt came further than all before it: fewer failing tests, or further into the failing test."""
    if attempt.verdict in ("regressed", "healed"):
        return True
    if attempt.result is None or not attempt.result.still_failing:
        return False
    earlier = [
        _distance(one.result.still_failing)
        for one in attempts
        if one.n < attempt.n and one.result and one.result.still_failing
    ]
    return _distance(attempt.result.still_failing) < min([_distance(first), *earlier])


def _distance(failures: Sequence[Failure]) -> tuple[int, int]:
    lines = [frame.line for link in failures[0].chain for frame in link.frames if frame.path == failures[0].path]
    return (len(failures), -max(lines, default=0))


def normal(feedback: str) -> str:
    """Feedback without what may differ between two tellings of the same: case, punctuation, numbers, times."""
    return " ".join(re.sub(r"[\W\d_]+", " ", stable(feedback).lower()).split())
