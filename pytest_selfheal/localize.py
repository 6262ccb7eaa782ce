"""Fault localisation from what a failure itself tells: frames, the last change, names. Pure functions.

The embedded engine refines this with coverage (Ochiai) inside its own child, where the tests run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

from pytest_selfheal.types import Failure, Suspect

DEPTH_DECAY = 0.7
"""How much less suspicious each frame further out is than the one it called."""


def suspects(
    failures: Sequence[Failure],
    *,
    prefix: str,
    changed_lines: Mapping[str, frozenset[int]],
    is_test_file: Callable[[str], bool],
) -> tuple[Suspect, ...]:
    """Lines that may hold the fault, most suspicious first; tests are never suspects.

    Frames count from the innermost out; the cause of an exception counts like the exception; a line changed since the
    last commit counts double. ``changed_lines`` maps paths relative to top to 1-based lines.
    """
    found: dict[tuple[str, int], Suspect] = {}
    for failure in failures:
        for link in failure.chain:
            weight = 1.0
            for frame in reversed(link.frames):
                path = os.path.normpath(os.path.join(prefix, frame.path)).replace(os.sep, "/")  # noqa: PTH118
                if is_test_file(path):
                    continue
                score, why = weight, "in the traceback"
                if frame.line in changed_lines.get(path, ()):
                    score, why = min(1.0, score * 2), "in the traceback, changed since the last commit"
                weight *= DEPTH_DECAY
                known = found.get((path, frame.line))
                if known is None or known.score < score:
                    found[path, frame.line] = Suspect(path, frame.line, frame.function, round(score, 4), why)
    for path, lines in changed_lines.items():
        if not path.endswith(".py") or is_test_file(path):
            continue
        for line in sorted(lines)[:50]:
            found.setdefault((path, line), Suspect(path, line, "", 0.3, "changed since the last commit"))
    return tuple(sorted(found.values(), key=lambda suspect: -suspect.score))


def ochiai(failed_with: int, failed: int, passed_with: int) -> float:
    """Suspiciousness of a line that ``failed_with`` of ``failed`` failing tests and ``passed_with`` passing ones executed.

    Ochiai's coefficient as Abreu, Zoeteweij and van Gemund use it (An Evaluation of Similarity Coefficients for
    Software Fault Localization, PRDC 2006): ``ef / sqrt((ef + nf) * (ef + ep))``; 0 when no failing test ran the line.
    """
    if failed_with == 0:
        return 0.0
    return failed_with / math.sqrt(failed * (failed_with + passed_with))
