"""Assignments: plain ↔ augmented, accumulators started elsewhere, results assigned or dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import Kinds
from pytest_selfheal.propose.search.operators.arithmetic import TEXT
from pytest_selfheal.propose.search.operators.edit import swap, token
from pytest_selfheal.propose.search.source import Region

_EMPTY = ("0", "1", "[]", '""', "{}", "set()", "None", "True", "False", "-1", "0.0", 'float("inf")', 'float("-inf")')


_WORDS = {"+": "plus", "-": "minus", "*": "times", "//": "floor", "|": "or", "&": "and"}


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    for node in region.statements:
        if isinstance(node, ast.AugAssign):
            place = _operator(region, node.target, node.value, TEXT[type(node.op)] + "=")
            if place:
                yield Draft((Edit(*place, "="),), "assign/plain", "assign instead of accumulating")
                a = source.segment(node.target)
                b = source.segment(node.value)
                edit = Edit(*source.span(node), f"{a} = {b} {TEXT[type(node.op)]} {a}")
                yield Draft((edit,), "assign/turned", f"{a} on the right of {TEXT[type(node.op)]}")
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            place = _operator(region, target, node.value, "=")
            if place and not isinstance(target, (ast.Tuple, ast.List)):
                for op in ("+", "-", "*", "//", "|", "&"):
                    if kinds.of(node.value) in ("list", "str") and op != "+":
                        continue
                    yield Draft((Edit(*place, op + "="),), f"assign/augment/{_WORDS[op]}", f"{op}= instead of =")
            if isinstance(node.value, ast.Constant) or _is_empty(node.value):
                text = source.segment(node.value)
                for value in (*_EMPTY, *(p for p in region.parameters if p not in ("self", "cls"))):
                    if value != text:
                        yield swap(
                            source, node.value, value, f"assign/initial/{value if value in _EMPTY else 'parameter'}"
                        )
                for name in region.parameters[:4]:
                    if name not in ("self", "cls"):
                        yield swap(source, node.value, f"{name}[0]", "assign/initial/first")
                        yield swap(source, node.value, f"len({name})", "assign/initial/len")
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                left = [source.segment(t) for t in target.elts]
                right = [source.segment(v) for v in node.value.elts]
                if len(left) == len(right):
                    indent = source.newline + source.indent_of(node)
                    parallel = indent.join(f"{a} = {b}" for a, b in zip(left, right, strict=True))
                    yield Draft(
                        (Edit(*source.span(node), parallel),), "assign/sequential", "assign one after the other"
                    )
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _kept(region, node, node.value)
        elif isinstance(node, ast.Return) and node.value is None:
            for value in ("None", "True", "False", *region.names[:12]):
                yield Draft((Edit(*source.span(node), f"return {value}"),), "assign/return", f"return {value}")
    yield from _parallel(region)


def _operator(region: Region, left: ast.expr, right: ast.expr, text: str) -> tuple[int, int] | None:
    import re

    return token(region.source, region.source.span(left)[1], region.source.span(right)[0], re.escape(text))


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _kept(region: Region, node: ast.Expr, call: ast.Call) -> Iterator[Draft]:
    """A call whose result is thrown away: return it, or assign it to the object that it was called on."""
    source = region.source
    start = source.span(node)[0]
    yield Draft((Edit(start, start, "return "),), "assign/kept/return", "return the result")
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        name = call.func.value.id
        yield Draft((Edit(start, start, f"{name} = "),), "assign/kept/same", f"keep the result in {name}")
    for arg in call.args[:2]:
        if isinstance(arg, ast.Name):
            yield Draft((Edit(start, start, f"{arg.id} = "),), "assign/kept/argument", f"keep the result in {arg.id}")


def _parallel(region: Region) -> Iterator[Draft]:
    """``a = b`` then ``b = a + b``: two assignments that should happen at once."""
    source = region.source
    for node in region.statements:
        block = source.block(node)
        index = block.index(node) if node in block else -1
        if index < 0 or index + 1 >= len(block):
            continue
        other = block[index + 1]
        if not (isinstance(node, ast.Assign) and isinstance(other, ast.Assign)):
            continue
        if len(node.targets) == len(other.targets) == 1:
            a, b = source.segment(node.targets[0]), source.segment(other.targets[0])
            if isinstance(node.targets[0], ast.Tuple) or isinstance(other.targets[0], ast.Tuple) or a == b:
                continue
            text = f"{a}, {b} = {source.segment(node.value)}, {source.segment(other.value)}"
            yield Draft(
                (Edit(source.span(node)[0], source.span(other)[1], text),), "assign/parallel", "assign both at once"
            )
