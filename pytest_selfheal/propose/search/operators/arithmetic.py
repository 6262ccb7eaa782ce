"""Arithmetic and bit operators, in expressions and in augmented assignments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import token
from pytest_selfheal.propose.search.source import Region

TEXT: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_NUMERIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_MORE: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Pow: (ast.BitXor,),
    ast.Add: (ast.BitOr,),
    ast.Sub: (ast.BitAnd,),
    ast.Mod: (ast.BitAnd,),
}
_USUAL: dict[type[ast.operator], float] = {ast.Add: 2.0, ast.Sub: 1.5, **dict.fromkeys(_BITS, 0.5)}
"""How often an operator is meant, relative to others: where a bit operator stands by mistake, the common ones come first."""


def alternatives(op: ast.operator) -> tuple[type[ast.operator], ...]:
    """Operators that are written for ``op`` by mistake, or the other way round."""
    kind = type(op)
    # Bits are seldom meant: where they stand by mistake (``^`` for a power, ``|`` for a sum of lists), it may be for anything.
    group = _NUMERIC if kind in _NUMERIC else (*_BITS, *_NUMERIC)
    return (*(k for k in group if k is not kind), *_MORE.get(kind, ()))


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.of(ast.BinOp, ast.AugAssign):
        assert isinstance(node, (ast.BinOp, ast.AugAssign))
        old = TEXT[type(node.op)]
        augmented = isinstance(node, ast.AugAssign)
        if isinstance(node, ast.BinOp):
            if (
                isinstance(node.left, (ast.Constant, ast.JoinedStr))
                and isinstance(getattr(node.left, "value", ""), str)
                and isinstance(node.op, ast.Mod)
            ):
                continue  # formatting, not arithmetic
            start, end = source.span(node.left)[1], source.span(node.right)[0]
        else:
            start, end = source.span(node.target)[1], source.span(node.value)[0]
        place = token(source, start, end, re.escape(old + ("=" if augmented else "")))
        if place is None:
            continue
        prefix = "arithmetic/aug" if augmented else "arithmetic/bin"
        for kind in alternatives(node.op):
            new = TEXT[kind]
            yield Draft(
                (Edit(*place, new + ("=" if augmented else "")),),
                f"{prefix}/{type(node.op).__name__}>{kind.__name__}",
                f"replace {old} with {new}",
                _USUAL.get(kind, 1.0) if isinstance(node.op, _BITS) else 1.0,
            )
