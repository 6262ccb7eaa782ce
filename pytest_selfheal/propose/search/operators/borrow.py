"""An expression replaced by another one that stands elsewhere in the function (or, for calls, the class)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import precedence
from pytest_selfheal.propose.search.source import Region

_LONGEST = 80


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    donors: dict[str, ast.expr] = {}
    for node in region.expressions:
        if isinstance(node, ast.Constant) or not isinstance(node, ast.expr):
            continue
        text = source.segment(node)
        if len(text) <= _LONGEST and "\n" not in text and text not in ("self", "cls"):
            donors.setdefault(text, node)
    names = set(region.names)
    for node in region.expressions:
        up = source.parent(node)
        if isinstance(up, ast.Expr) or (isinstance(up, ast.Call) and up.func is node) or isinstance(up, ast.Attribute):
            continue
        text = source.segment(node)
        place = role(source, node)
        kind = kinds.of(node)
        for other, donor in donors.items():
            if other == text or (isinstance(donor, ast.Name) and (isinstance(node, ast.Name) or donor.id not in names)):
                continue
            if isinstance(up, ast.Compare) and isinstance(donor, (ast.Compare, ast.BoolOp)):
                continue  # nobody compares what a comparison says
            there = kinds.of(donor)
            factor = 1.0
            if type(donor) is type(node):
                factor = 2.0
            elif "any" not in (kind, there) and kind != there:
                factor = 0.3
            if text in other and len(other) > len(text):
                factor *= 1.5
            shape = "leaf" if isinstance(node, (ast.Name, ast.Constant)) else "tree"
            yield swap(source, node, other, f"borrow/{place}/{shape}", factor, level=precedence(donor))
