"""Truth: ``and`` ↔ ``or``, negations put in and taken out, operands dropped, conditions that always or never hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap, token
from pytest_selfheal.propose.search.operators.role import condition
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if isinstance(node, ast.BoolOp):
            yield from _connective(region, node)
            for dropped in node.values:
                rest = [source.segment(v) for v in node.values if v is not dropped]
                if len(rest) == 1:
                    kept = next(v for v in node.values if v is not dropped)
                    yield swap(source, node, source.segment(kept), "boolean/drop")
                else:
                    yield _without(region, node, dropped)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield swap(source, node, source.segment(node.operand), "boolean/unnegate")
        if isinstance(node, ast.Compare):
            continue
        valued = isinstance(source.parent(node), (ast.Return, ast.Assign, ast.Lambda)) and _boolean(node)
        up = source.parent(node)
        negated = isinstance(up, ast.UnaryOp) and isinstance(up.op, ast.Not)  # taking that off says the same
        if not isinstance(node, ast.UnaryOp) and not negated and (condition(source, node) or valued):
            text = source.segment(node)
            loose = isinstance(node, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr))
            yield swap(source, node, f"not ({text})" if loose else f"not {text}", "boolean/negate", level=4)
    for node in region.expressions:
        if condition(source, node) and not isinstance(source.parent(node), (ast.BoolOp, ast.UnaryOp)):
            for text in ("True", "False"):
                if not (isinstance(node, ast.Constant) and str(node.value) == text):
                    yield swap(source, node, text, f"boolean/always/{text}")


def _boolean(node: ast.expr) -> bool:
    """Whether a value is surely a truth value."""
    if isinstance(node, (ast.BoolOp, ast.Compare)):
        return True
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all", "isinstance")
    )


def _connective(region: Region, node: ast.BoolOp) -> Iterator[Draft]:
    source = region.source
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    places = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        place = token(source, source.span(left)[1], source.span(right)[0], rf"\b{old}\b")
        if place is None:
            return
        places.append(place)
    yield Draft(tuple(Edit(*p, new) for p in places), f"boolean/{old}>{new}", f"replace {old} with {new}")
    if len(places) > 1:
        for place in places:
            yield Draft((Edit(*place, new),), f"boolean/{old}>{new}/one", f"replace one {old} with {new}")
    if old == "or" and isinstance(source.parent(node), ast.BoolOp):
        return
    if old == "and" and any(isinstance(v, ast.BoolOp) for v in node.values):
        return
    if len(node.values) > 2:  # the grouping that was forgotten
        for first in range(len(node.values) - 1):
            start, end = source.span(node.values[first])[0], source.span(node.values[first + 1])[1]
            place = places[first]
            inner = source.text[start : place[0]] + new + source.text[place[1] : end]
            yield Draft((Edit(start, end, f"({inner})"),), "boolean/group", f"group with {new}")


def _without(region: Region, node: ast.BoolOp, dropped: ast.expr) -> Draft:
    source = region.source
    index = node.values.index(dropped)
    if index + 1 < len(node.values):
        start, end = source.span(dropped)[0], source.span(node.values[index + 1])[0]
    else:
        start, end = source.span(node.values[index - 1])[1], source.span(dropped)[1]
    gap = source.text[start:end]
    if gap.count("(") != gap.count(")"):
        word = " and " if isinstance(node.op, ast.And) else " or "
        text = word.join(source.segment(v) for v in node.values if v is not dropped)
        return swap(source, node, text, "boolean/drop")
    return Draft((Edit(start, end, ""),), "boolean/drop", f"drop the condition {source.segment(dropped)}")
