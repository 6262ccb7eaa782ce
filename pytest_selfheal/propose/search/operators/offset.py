"""Off by one: ±1 put where a whole number is used as index, bound, count or result."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import precedence
from pytest_selfheal.propose.search.source import Region

_ROLES = {"index", "slice", "range", "compare", "operand", "return", "assign", "argument", "element"}


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    for node in region.expressions:
        if isinstance(
            node, (ast.Constant, ast.Compare, ast.BoolOp, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr)
        ):
            continue
        place = role(source, node)
        if place not in _ROLES or kinds.of(node) in COLLECTIONS | {"bool", "none", "iterator"}:
            continue
        if isinstance(node, ast.Name) and node.id in ("self", "cls"):
            continue
        if _shifted(node) or _shifted(source.parent(node)):
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            continue
        text = source.segment(node)
        if precedence(node) < 10:
            text = f"({text})"
        sure = 2.0 if kinds.of(node) == "int" or place in ("index", "slice", "range") else 1.0
        for sign, word in (("+", "plus"), ("-", "minus")):
            yield swap(source, node, f"{text} {sign} 1", f"offset/{place}/{word}", sure, level=10)


def _shifted(node: ast.AST | None) -> bool:
    """``x + 1`` and the like: changing or dropping the number says the same in fewer words."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))):
        return False
    return any(isinstance(side, ast.Constant) and not isinstance(side.value, str) for side in (node.left, node.right))
