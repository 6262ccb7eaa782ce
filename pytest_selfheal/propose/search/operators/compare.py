"""Comparison operators: the neighbouring boundary, the opposite, equality and identity, membership."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import token
from pytest_selfheal.propose.search.source import Region

_TEXT: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_PATTERN = {t: r"\s+".join(t.split()) if t[0].isalpha() else t for t in _TEXT.values()}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_SWAPS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    **{kind: tuple(k for k in _ORDER if k is not kind) for kind in _ORDER},
    ast.Eq: (ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.In),
    ast.NotEq: (ast.Eq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.IsNot, ast.NotIn),
    ast.Is: (ast.IsNot, ast.Eq),
    ast.IsNot: (ast.Is, ast.NotEq),
    ast.In: (ast.NotIn, ast.Eq),
    ast.NotIn: (ast.In, ast.NotEq),
}
_IDENTITY: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), (ast.Is, ast.IsNot)),
    ast.Is: (ast.NotEq,),
    ast.IsNot: (ast.Eq,),
}
"""What else may be meant beside ``None`` or a name in capitals, of which there is just one and which has no order."""


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.of(ast.Compare):
        assert isinstance(node, ast.Compare)
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            old = _TEXT[type(op)]
            place = token(source, source.span(left)[1], source.span(right)[0], _PATTERN[old])
            sides, left = (left, right), right
            if place is None:
                continue
            for kind in (*_SWAPS[type(op)], *(_IDENTITY.get(type(op), ()) if any(map(_is_single, sides)) else ())):
                if _is_odd(kind, type(op), *sides):
                    continue
                new = _TEXT[kind]
                yield Draft(
                    (Edit(*place, new),), f"compare/{type(op).__name__}>{kind.__name__}", f"replace {old} with {new}"
                )


def _is_single(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr.isupper()
    return (isinstance(node, ast.Name) and node.id.isupper()) or (isinstance(node, ast.Constant) and node.value is None)


def _is_odd(new: type[ast.cmpop], old: type[ast.cmpop], left: ast.expr, right: ast.expr) -> bool:
    """What nobody means: texts put in order to tell whether they are equal, a thing that equals the collection it may be in."""
    if old in (ast.Eq, ast.NotEq) and new in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
        return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (left, right))
    if old in (ast.In, ast.NotIn):
        if isinstance(right, ast.Constant) and isinstance(right.value, str):
            return len(right.value) > 1 and new in (ast.Eq, ast.NotEq)
        return isinstance(right, (ast.Tuple, ast.List, ast.Set, ast.Dict)) and new in (ast.Eq, ast.NotEq)
    return False
