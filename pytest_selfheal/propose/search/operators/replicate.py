"""Coupled edits: the same change at every place that looks the same, and twins changed together."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit, overlap
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators import (
    arithmetic,
    boolean,
    call,
    compare,
    constant,
    offset,
    subscript,
    variable,
    wrap,
)
from pytest_selfheal.propose.search.source import Region

_Operator = Callable[[Region, Context], Iterator[Draft]]
_LOCAL: tuple[_Operator, ...] = (
    compare.propose,
    arithmetic.propose,
    boolean.propose,
    constant.propose,
    call.propose,
    subscript.propose,
    offset.propose,
    variable.propose,
    wrap.propose,
)
_MOST = 8
"""Twins that one coupled edit may have."""
_CAP = 6000
"""Single edits of one operator that are looked at: a module full of tables has hundreds of thousands."""


def propose(region: Region, context: Context) -> Iterator[Draft]:
    """Single edits that write the same text over the same text at two or more places, made at all of them at once."""
    source = region.source
    for operator in _LOCAL:
        groups: dict[tuple[str, str, str], list[Draft]] = {}
        for draft in itertools.islice(operator(region, context), _CAP):
            if len(draft.edits) == 1:
                edit = draft.edits[0]
                old = source.text[edit.start : edit.end]
                groups.setdefault((old, edit.text, draft.key), []).append(draft)
        for (_, _, key), drafts in groups.items():
            if not 1 < len(drafts) <= _MOST:
                continue
            together = tuple(sorted(d.edits[0] for d in drafts))
            if not overlap(together):
                where = "everywhere" if len(drafts) > 2 else "at both places"
                yield Draft(together, f"replicate/{key}", f"{drafts[0].description} {where}", drafts[0].factor)
        yield from _opposites(region, groups)


def _opposites(region: Region, groups: dict[tuple[str, str, str], list[Draft]]) -> Iterator[Draft]:
    """``A → B`` at one place with ``B → A`` at another: two things mixed up."""
    by_texts: dict[tuple[str, str], list[Draft]] = {}
    for (old, new, _), drafts in groups.items():
        by_texts.setdefault((old, new), drafts)
    for (old, new, key), drafts in groups.items():
        other = by_texts.get((new, old))
        if other is None or old >= new or len(drafts) * len(other) > 40:
            continue
        for first in drafts:
            for second in other:
                edits = tuple(sorted((first.edits[0], second.edits[0])))
                if not overlap(edits):
                    yield Draft(edits, f"replicate/opposite/{key}", f"exchange {old} and {new}", 1.0)
        both = tuple(sorted(d.edits[0] for d in (*drafts, *other)))
        if len(both) > 2 and not overlap(both):
            yield Draft(both, f"replicate/opposite/{key}", f"exchange {old} and {new} everywhere", 1.0)


def rename(region: Region, context: Context) -> Iterator[Draft]:
    """A name replaced by another one at every place of the region."""
    source = region.source
    names = [n for n in region.names if n not in ("self", "cls")]
    uses: dict[str, list[Edit]] = {}
    for node in region.nodes:
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(Edit(*source.span(node), ""))
    for name, places in uses.items():
        if name in names and 1 < len(places) <= _MOST:
            for other in names:
                if other != name:
                    edits = tuple(Edit(p.start, p.end, other) for p in places)
                    yield Draft(edits, "replicate/rename", f"{other} for {name} everywhere")
