"""Where the lines of a SEARCH block stand in a file: exactly once, or not at all.

Each step forgives a little more than the one before (trailing blanks, indentation, a slip of the pen); a step that
finds the text twice ends the search, because choosing would be guessing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence

from pytest_selfheal.propose.model.reply import Unusable

NEAR = 0.9
"""Similarity (difflib's ratio over the joined lines) from which lines count as the ones that were meant."""
CLEARLY = 0.05
"""By so much the nearest place must be nearer than the second nearest."""


def swap(text: str, search: str, replace: str, path: str, within: tuple[int, int] | None = None) -> str:
    """``text`` with the one place that ``search`` means replaced.

    ``within``: first and last line (1-based) of the function at fault, which settles a tie. Raises :class:`Unusable`.
    """
    lines, wanted, given = text.split("\n"), search.split("\n"), replace.split("\n") if replace else []
    if not search.strip():
        raise Unusable(f"a SEARCH block for {path} is empty")
    for normal, shifts in ((str, False), (str.rstrip, False), (_unnumbered, False), (str.strip, True)):
        found = _places(lines, wanted, normal)
        if len(found) > 1 and within is not None:
            low, high = within
            found = [n for n in found if low - 1 <= n < high] or found
        if len(found) > 1:
            raise Unusable(f"the SEARCH lines stand {len(found)} times in {path}; add lines around them")
        if found:
            clean = [_unnumbered(line) for line in given] if normal is _unnumbered else given
            return _put(lines, found[0], wanted, clean, shifts)
    if "\n" not in search and text.count(search) == 1:
        return text.replace(search, replace)
    at = _nearest(lines, wanted, path)
    return _put(lines, at, wanted, given, True)


def _places(lines: Sequence[str], wanted: Sequence[str], normal: Callable[[str], str]) -> list[int]:
    pattern = [normal(line) for line in wanted]
    have = [normal(line) for line in lines]
    first = pattern[0]
    return [
        n for n in range(len(have) - len(pattern) + 1) if have[n] == first and have[n : n + len(pattern)] == pattern
    ]


def _unnumbered(line: str) -> str:
    return re.sub(r"^\s*\d+\s*[|:│]\s?", "", line).rstrip()


def _nearest(lines: Sequence[str], wanted: Sequence[str], path: str) -> int:
    size = len(wanted)
    pattern = "\n".join(line.strip() for line in wanted)
    matcher = difflib.SequenceMatcher(None, "", pattern, autojunk=False)
    scores: list[tuple[float, int]] = []
    for n in range(len(lines) - size + 1):
        matcher.set_seq1("\n".join(line.strip() for line in lines[n : n + size]))
        if matcher.real_quick_ratio() >= NEAR - CLEARLY and matcher.quick_ratio() >= NEAR - CLEARLY:
            scores.append((matcher.ratio(), n))
    scores.sort(reverse=True)
    if not scores or scores[0][0] < NEAR:
        raise Unusable(
            f"the SEARCH lines are not in {path}; copy them from the source as it is shown: {wanted[0].strip()!r}"
        )
    if len(scores) > 1 and scores[1][0] > scores[0][0] - CLEARLY:
        raise Unusable(f"the SEARCH lines are not in {path} and resemble two places; copy them exactly")
    return scores[0][1]


def _put(lines: Sequence[str], at: int, wanted: Sequence[str], given: Sequence[str], shifts: bool) -> str:
    if shifts:
        given = _shift(given, _indent(lines[at : at + len(wanted)]), _indent(wanted))
    return "\n".join([*lines[:at], *given, *lines[at + len(wanted) :]])


def _indent(lines: Sequence[str]) -> str:
    return next((line[: len(line) - len(line.lstrip())] for line in lines if line.strip()), "")


def _shift(given: Sequence[str], real: str, written: str) -> list[str]:
    """``given`` indented as the file is, when the model's lines were all off by the same amount."""
    if real == written:
        return list(given)
    shifted = []
    for line in given:
        if not line.strip():
            shifted.append(line)
        elif line.startswith(written):
            shifted.append(real + line[len(written) :])
        else:
            shifted.append(real + line.lstrip())
    return shifted
