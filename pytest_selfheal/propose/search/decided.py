"""Whether the tests see both outcomes of a decision that a candidate changes or brings in.

A condition that is turned round passes whatever only ever takes one of its branches; what the other one does now, nobody
has looked at. Such a patch may be right, but the tests do not say so. To see it, the tests of ``if``, ``while``,
conditional expressions and comprehensions are wrapped in a call that notes what came out.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply, compose
from pytest_selfheal.propose.search.source import Source

NAME = "__selfheal_asked__"
"""The built-in that probes call, while one looks."""

Outcome = tuple[int, bool]
"""Number of a decision, and what came out."""


@dataclass(frozen=True)
class Probes:
    """A candidate and the code before it, with every decision wrapped that the candidate touches."""

    count: int
    after: Candidate
    before: Candidate | None
    """``None`` where the decisions before are not those after."""


def probed(source: Source, candidate: Candidate) -> Probes | None:
    """``None`` where a candidate neither changes a decision nor brings one in."""
    text = apply(source.text, candidate.edits)
    try:
        after = Source("", text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    new = _touched(after, list(_written(candidate.edits)))
    old = _touched(source, [(edit.start, edit.end) for edit in candidate.edits])
    # What only stands elsewhere now is the decision that it was.
    moved = Counter(map(ast.dump, new)) & Counter(map(ast.dump, old))
    wraps, before = _wraps(after, _without(new, moved)), _wraps(source, _without(old, moved))
    if not wraps:
        return None
    return Probes(
        len(wraps) // 2,
        candidate.but(edits=compose(source.text, candidate.edits, wraps)),
        candidate.but(edits=tuple(before)) if len(before) == len(wraps) else None,
    )


class Asked:
    """What :data:`NAME` calls: the outcomes since the last look."""

    def __init__(self) -> None:
        self.outcomes: set[Outcome] = set()

    def __call__(self, number: int, value: object) -> bool:
        truth = bool(value)
        self.outcomes.add((number, truth))
        return truth

    def taken(self) -> set[Outcome]:
        taken, self.outcomes = self.outcomes, set()
        return taken


def _touched(source: Source, places: Sequence[tuple[int, int]]) -> list[ast.expr]:
    """Tests that lie at one of the places, in the order of the text; of nested ones the outermost."""
    found = [
        (start, -end, node)
        for node in _decided(source.nodes)
        for start, end in [source.span(node)]
        if any(a <= end and b >= start for a, b in places)
    ]
    kept: list[ast.expr] = []
    last = -1
    for start, negative, node in sorted(found, key=lambda entry: entry[:2]):
        if start >= last:
            last = -negative
            kept.append(node)
    return kept


def _without(tests: Sequence[ast.expr], moved: Counter[str]) -> list[ast.expr]:
    left = Counter(moved)
    kept = []
    for test in tests:
        if left[ast.dump(test)] > 0:
            left[ast.dump(test)] -= 1
        else:
            kept.append(test)
    return kept


def _wraps(source: Source, tests: Sequence[ast.expr]) -> list[Edit]:
    """Two edits for each test."""
    edits: list[Edit] = []
    for number, (start, end) in enumerate(map(source.span, tests)):
        edits += [Edit(start, start, f"{NAME}({number}, ("), Edit(end, end, "))")]
    return edits


def _decided(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _written(edits: Sequence[Edit]) -> Iterator[tuple[int, int]]:
    """Where the edits' texts are afterwards."""
    shift = 0
    for edit in sorted(edits):
        start = edit.start + shift
        yield start, start + len(edit.text)
        shift += len(edit.text) - (edit.end - edit.start)
