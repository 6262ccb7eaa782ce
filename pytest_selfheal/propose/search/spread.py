"""The complete form of a repair: the same edit at every place of the function where the very same code stands.

Tests often reach one of several twins only. Code that was written twice with a fault in it has the fault twice.
"""

from __future__ import annotations

import ast

from pytest_selfheal.propose.search.candidate import Candidate, Edit
from pytest_selfheal.propose.search.source import Source

SHORTEST = 12
"""Characters of a piece of code below which standing twice means nothing."""
MOST = 8
PREFERRED = 1.3
"""Weight of the complete form relative to the edit of one place."""


def spread(source: Source, candidate: Candidate) -> Candidate | None:
    """``candidate`` with its one edit made at all twins of the simple statement that it changes; ``None`` without any."""
    outer = source.functions.get(candidate.function.split(".<locals>.")[0])
    if outer is None or len(candidate.edits) != 1 or not candidate.body_only:
        return None
    edit = candidate.edits[0]
    units = [source.span(n) for n in ast.walk(outer) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    around = [(start, end) for start, end in units if start <= edit.start and edit.end <= end and edit.start < edit.end]
    if not around:
        return None
    start, end = min(around, key=lambda span: span[1] - span[0])
    text = source.text[start:end]
    twins = [a for a, b in units if a != start and source.text[a:b] == text]
    if len(text) < SHORTEST or not 0 < len(twins) < MOST:
        return None
    edits = {Edit(edit.start - start + a, edit.end - start + a, edit.text) for a in (start, *twins)}
    where = "at both places" if len(edits) == 2 else "everywhere"
    return candidate.but(
        edits=tuple(sorted(edits)),
        weight=min(1.0, PREFERRED * candidate.weight),
        description=f"{candidate.description} {where}",
    )
