"""A candidate repair as data: a few text edits of one file, and why they were proposed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, order=True)
class Edit:
    """Replace ``text[start:end]`` of the decoded source by ``text``; offsets are characters, ``start == end`` inserts."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Draft:
    """What an operator yields: edits without the bookkeeping.

    ``key`` names the change for the learned priors, most general part first (``compare/Lt>LtE``); ``factor`` multiplies the
    prior by what only the operator knows of this place; ``at`` is the character offset that decides line and function
    (the first edit's start when it is -1).
    """

    edits: tuple[Edit, ...]
    key: str
    description: str
    factor: float = 1.0
    at: int = -1


@dataclass(frozen=True)
class Candidate:
    """One proposed change of one file."""

    path: str
    edits: tuple[Edit, ...]
    """Sorted, never overlapping."""
    operator: str
    """The key of the priors: ``family/detail``; ``first + second`` for two edits."""
    weight: float
    """Prior × suspiciousness, 0..1; comparable within one search."""
    line: int
    """1-based line of the first change."""
    function: str
    """Qualified name (``A.b``, ``f.<locals>.g``) of the innermost function that is edited; ``<module>`` outside of any."""
    description: str
    body_only: bool
    """Only code inside the body of that one existing function changes, so that swapping code objects carries it."""

    @property
    def family(self) -> str:
        return self.operator.partition("/")[0]

    def but(self, **changes: object) -> Candidate:
        return replace(self, **changes)  # type: ignore[arg-type]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with the edits made. Raises :class:`ValueError` when two of them overlap."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position:
            raise ValueError(f"edits overlap at offset {edit.start}")
        pieces += (text[position : edit.start], edit.text)
        position = edit.end
    pieces.append(text[position:])
    return "".join(pieces)


def overlap(edits: Sequence[Edit]) -> bool:
    """Whether two of the edits touch the same characters (two insertions at one place do)."""
    ordered = sorted(edits)
    return any(b.start < a.end or a.start == b.start for a, b in itertools.pairwise(ordered))


def trimmed(text: str, edit: Edit) -> Edit:
    """The same change with what both sides have in common cut off: two edits that do the same compare equal."""
    old, new = text[edit.start : edit.end], edit.text
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(edit.start + head, edit.end - tail, new[head : len(new) - tail])


def compose(text: str, first: Sequence[Edit], second: Sequence[Edit]) -> tuple[Edit, ...]:
    """``first`` on ``text``, then ``second`` on the result, as edits of ``text``."""
    ordered = sorted(first)
    spans: list[tuple[int, int]] = []  # what each first edit wrote, in coordinates of the intermediate text
    shift = 0
    for edit in ordered:
        start = edit.start + shift
        spans.append((start, start + len(edit.text)))
        shift += len(edit.text) - (edit.end - edit.start)

    def back(position: int) -> int:
        offset = 0
        for edit, (_, end) in zip(ordered, spans, strict=True):
            if position >= end:
                offset += (edit.end - edit.start) - len(edit.text)
        return position + offset

    if all(e.end < start or e.start > end for e in second for start, end in spans):
        return tuple(sorted([*ordered, *(Edit(back(e.start), back(e.end), e.text) for e in second)]))
    after = apply(apply(text, ordered), second)
    return (trimmed(text, Edit(0, len(text), after)),)
