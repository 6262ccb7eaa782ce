"""Conditions weakened or strengthened by another atom; truthiness ↔ ``is None``; conjuncts in another order."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import Kinds
from pytest_selfheal.propose.search.operators.atoms import atoms
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import condition
from pytest_selfheal.propose.search.precedence import precedence
from pytest_selfheal.propose.search.source import Region

_MOST = 400
"""Atoms for one condition."""
_NAMES = 4
"""Variables of one operand that are put in another order, or exchanged for others."""


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    places = [
        n
        for n in region.expressions
        if (condition(source, n) and not isinstance(source.parent(n), (ast.BoolOp, ast.UnaryOp)))
        or (isinstance(source.parent(n), ast.Return) and isinstance(n, (ast.Compare, ast.BoolOp, ast.UnaryOp)))
    ]
    for node in region.expressions:
        if condition(source, node):
            yield from _truth(region, node, kinds)
        if isinstance(node, ast.BoolOp) and len(node.values) > 1:
            first, *rest = node.values
            word = " and " if isinstance(node.op, ast.And) else " or "
            parts = [_text(region, v, precedence(node)) for v in (*rest, first)]
            yield swap(source, node, word.join(parts), "condition/order", level=precedence(node))
            yield from _twins(region, node)
    known = [a for a, _ in zip(atoms(region, context, kinds), range(_MOST), strict=False)]
    for node in places:
        text = source.segment(node)
        for atom, key, subject in known:
            if atom in text:
                continue
            near = 2.0 if subject and subject in text else 1.0
            yield swap(source, node, f"{_text(region, node, 3)} and {atom}", f"condition/and/{key}", near, level=3)
            yield swap(source, node, f"{_text(region, node, 2)} or {atom}", f"condition/or/{key}", near, level=2)
            if key in ("none", "notnone", "empty", "truthy", "length", "isinstance", "in"):
                yield swap(
                    source, node, f"{atom} and {_text(region, node, 4)}", f"condition/first/{key}", near * 0.5, level=3
                )
                yield swap(
                    source,
                    node,
                    f"{atom} or {_text(region, node, 3)}",
                    f"condition/first/or/{key}",
                    near * 0.5,
                    level=2,
                )
    for node in places:
        for atom, key, _ in known:
            if atom != source.segment(node):
                yield swap(source, node, atom, f"condition/replace/{key}")


def _twins(region: Region, node: ast.BoolOp) -> Iterator[Draft]:
    """One operand more, like another one but for its variables: the case that was forgotten among others of its kind.

    The same variables in another order first, then one of them exchanged for another of the function.
    """
    source, level = region.source, precedence(node)
    word = " and " if isinstance(node.op, ast.And) else " or "
    present = {_normal(v) for v in node.values}
    text = source.segment(node)
    for donor in node.values:
        names = sorted({n.id for n in ast.walk(donor) if isinstance(n, ast.Name) and n.id in region.names})
        if isinstance(donor, ast.BoolOp) or not 0 < len(names) <= _NAMES:
            continue
        orders = [dict(zip(names, order, strict=True)) for order in itertools.permutations(names)]
        others = [{old: new} for old in names for new in region.names if new not in names][:24]
        for exchanged, factor in ((orders, 1.0), (others, 0.5)):
            for new in exchanged:
                twin = _renamed(donor, new)
                if _normal(twin) not in present:
                    present.add(_normal(twin))
                    yield swap(source, node, f"{text}{word}{ast.unparse(twin)}", "condition/twin", factor, level=level)


def _renamed(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    twin = copy.deepcopy(node)
    for inner in ast.walk(twin):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return twin


def _normal(node: ast.expr) -> str:
    """The same text for what differs only in the order of a sum's, a product's or an equality's two sides."""
    return ast.dump(_Ordered().visit(copy.deepcopy(node)))


class _Ordered(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Mult)):
            node.left, node.right = sorted((node.left, node.right), key=ast.dump)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            node.left, node.comparators[0] = sorted((node.left, node.comparators[0]), key=ast.dump)
        return node


def _text(region: Region, node: ast.expr, level: int) -> str:
    text = region.source.segment(node)
    return f"({text})" if precedence(node) < level else text


def _truth(region: Region, node: ast.expr, kinds: Kinds) -> Iterator[Draft]:
    source = region.source
    text = source.segment(node)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        if kinds.of(node) == "bool":  # never None, and of no length
            return
        for new, key in (
            (f"{text} is not None", "notnone"),
            (f"{text} is None", "none"),
            (f"len({text}) > 1", "length"),
        ):
            yield swap(source, node, new, f"condition/truth/{key}", level=5)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = source.segment(node.operand)
        yield swap(source, node, f"{inner} is None", "condition/truth/none", level=5)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = source.segment(node.left), node.comparators[0]
        if isinstance(right, ast.Constant) and right.value in (None, 0, "", True, False):
            yield swap(source, node, left, "condition/truth/truthy", level=precedence(node.left))
            yield swap(source, node, f"not {left}", "condition/truth/falsy", level=4)
        if (
            isinstance(right, ast.Constant)
            and isinstance(right.value, str)
            and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        ):
            word = "in" if isinstance(node.ops[0], ast.Eq) else "not in"
            for other in {
                n.value for n in region.expressions if isinstance(n, ast.Constant) and isinstance(n.value, str)
            }:
                if other != right.value:
                    yield swap(
                        source, node, f"{left} {word} ({source.segment(right)}, {other!r})", "condition/either", level=5
                    )
        if isinstance(node.ops[0], ast.Eq) and not isinstance(right, ast.Constant):
            yield swap(source, node, f"{left} in {source.segment(right)}", "condition/membership", level=5)
