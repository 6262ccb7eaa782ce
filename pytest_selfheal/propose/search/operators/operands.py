"""Operands of arithmetic: dropped, exchanged, regrouped; unary minus."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.arithmetic import TEXT
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.precedence import ATOM, precedence
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if isinstance(node, ast.BinOp):
            left, right = source.segment(node.left), source.segment(node.right)
            yield swap(source, node, left, "operands/drop/right")
            yield swap(source, node, right, "operands/drop/left")
            if left != right and not isinstance(node.op, ast.Mult):
                yield _exchanged(region, node, f"operands/exchange/{type(node.op).__name__}")
            yield from _regrouped(region, node)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                yield _exchanged(region, node, "operands/exchange/in")
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and not isinstance(node.operand, ast.Constant)
        ):
            yield swap(source, node, source.segment(node.operand), "operands/sign/drop")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            yield swap(source, node, source.segment(node.operand), "operands/invert")
        if (
            isinstance(node, (ast.Name, ast.Subscript, ast.Call))
            and not isinstance(source.parent(node), (ast.Attribute, ast.Expr, ast.Call, ast.For, ast.comprehension))
            and (not isinstance(source.parent(node), ast.Subscript) or isinstance(node, ast.Name))
        ):
            parent = source.parent(node)
            # `a - -b` is `a + b` in disguise, which another operator proposes.
            disguised = (
                isinstance(parent, ast.BinOp) and parent.right is node and isinstance(parent.op, (ast.Add, ast.Sub))
            )
            if not disguised and not (isinstance(parent, ast.Subscript) and parent.value is node):
                yield swap(source, node, f"-{source.segment(node)}", "operands/sign/add", level=12)


def _exchanged(region: Region, node: ast.BinOp | ast.Compare, key: str) -> Draft:
    source = region.source
    right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
    (a, b), (c, d) = source.span(node.left), source.span(right)
    first, second = source.text[a:b], source.text[c:d]
    level = precedence(node)
    if precedence(right) < level and source.text[b:c].rstrip()[-1:] != "(":
        second = f"({second})"
    if precedence(node.left) <= level and precedence(node.left) < ATOM and source.text[d : d + 1] != ")":
        first = f"({first})"
    return Draft((Edit(a, b, second), Edit(c, d, first)), key, f"exchange {first} and {second}")


def _regrouped(region: Region, node: ast.BinOp) -> Iterator[Draft]:
    """``a + b * c`` ↔ ``(a + b) * c``: brackets forgotten or too many."""
    source = region.source
    op = TEXT[type(node.op)]
    if isinstance(node.right, ast.BinOp):
        inner = node.right
        a, b, c = (source.segment(n) for n in (node.left, inner.left, inner.right))
        yield swap(
            source, node, f"({a} {op} {b}) {TEXT[type(inner.op)]} {c}", "operands/regroup", level=precedence(inner)
        )
    if isinstance(node.left, ast.BinOp):
        inner = node.left
        a, b, c = (source.segment(n) for n in (inner.left, inner.right, node.right))
        yield swap(
            source, node, f"{a} {TEXT[type(inner.op)]} ({b} {op} {c})", "operands/regroup", level=precedence(inner)
        )
