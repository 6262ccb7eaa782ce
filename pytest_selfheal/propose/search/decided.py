"""Whether the tests see both outcomes of a decision that a candidate changes or brings in.

A condition that is turned round passes whatever only ever takes one of its branches; what the other one does now, nobody
has looked at. Such a patch may be right, but the tests do not say so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search.candidate import Edit, apply
from pytest_selfheal.propose.search.source import Source

Arc = tuple[int, int]
"""From one line to the next one that ran in the same call; to 0 where the call ended."""


@dataclass(frozen=True)
class Decision:
    """An ``if`` or ``while`` of the patched text."""

    first: int
    last: int
    """Lines of its test."""
    body: int
    """First line of its body."""

    def outcomes(self, arcs: set[Arc]) -> tuple[bool, bool]:
        """Whether it came out true, and whether it came out false."""
        left = {end for start, end in arcs if self.first <= start <= self.last and not self.first <= end <= self.last}
        return self.body in left, bool(left - {self.body})


def decisions(text: str, edits: Sequence[Edit]) -> list[Decision]:
    """Those of ``text`` after ``edits`` whose test an edit touches or brings in; none where the outcome shows on no line."""
    try:
        source = Source("", apply(text, edits))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    touched = list(_written(edits))
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.If, ast.While)) and node.body[0].lineno > (node.test.end_lineno or node.test.lineno):
            start, end = source.span(node.test)
            if any(a <= end and b >= start for a, b in touched):
                found.append(Decision(node.test.lineno, node.test.end_lineno or node.test.lineno, node.body[0].lineno))
    return found


def _written(edits: Sequence[Edit]) -> Iterator[tuple[int, int]]:
    """Where the edits' texts are afterwards."""
    shift = 0
    for edit in sorted(edits):
        start = edit.start + shift
        yield start, start + len(edit.text)
        shift += len(edit.text) - (edit.end - edit.start)
