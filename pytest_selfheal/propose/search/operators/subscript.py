"""Indexing and slicing: the other end, bounds dropped or added, steps, an element instead of the whole and back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import NUMBERS, Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    for node in region.expressions:
        if isinstance(node, ast.Subscript) and not source.in_annotation(node):
            base = source.segment(node.value)
            if isinstance(node.slice, ast.Slice):
                yield from _slice(region, node, base)
            else:
                index = source.segment(node.slice)
                yield swap(source, node, base, "subscript/drop", level=ATOM)
                for text, key in (
                    (f"{index}:", "from"),
                    (f":{index}", "to"),
                    (f"-{index}", "mirror"),
                    (f"{index}][0", "deeper"),
                ):
                    if key != "mirror" or index.isidentifier():
                        yield swap(source, node, f"{base}[{text}]", f"subscript/{key}", level=ATOM)
                if index in ("0", "-1"):
                    other = "-1" if index == "0" else "0"
                    yield swap(source, node, f"{base}[{other}]", "subscript/end", level=ATOM)
                if not isinstance(node.slice, ast.Constant):
                    yield swap(source, node, f"{base}.get({index})", "subscript/get", 0.5, level=ATOM)
                    yield swap(source, node, f"{base}.get({index}, 0)", "subscript/get", 0.5, level=ATOM)
                    yield swap(source, node, f"{base}[{index} % len({base})]", "subscript/modulo", level=ATOM)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            place = role(source, node)
            if place in ("callee", "index", "slice", "object", "condition") or kinds.of(node) in NUMBERS | {"none"}:
                continue
            if isinstance(source.parent(node), (ast.Attribute, ast.Expr)):
                continue
            if isinstance(node, ast.Name) and node.id in ("self", "cls"):
                continue
            text = source.segment(node)
            for suffix, key in (
                ("[0]", "first"),
                ("[-1]", "last"),
                ("[1:]", "tail"),
                ("[:-1]", "init"),
                ("[1]", "second"),
            ):
                yield swap(source, node, text + suffix, f"subscript/add/{key}", level=ATOM)
            if place == "iterable":
                for suffix in ("[::2]", "[1::2]", "[2:]", "[:]"):
                    yield swap(source, node, text + suffix, "subscript/add/slice", level=ATOM)


def _slice(region: Region, node: ast.Subscript, base: str) -> Iterator[Draft]:
    source = region.source
    assert isinstance(node.slice, ast.Slice)
    low, high, step = (source.segment(b) if b else "" for b in (node.slice.lower, node.slice.upper, node.slice.step))

    def made(a: str, b: str, c: str, key: str) -> Draft:
        text = f"{a}:{b}" + (f":{c}" if c else "")
        return swap(source, node, f"{base}[{text}]", f"subscript/slice/{key}", level=ATOM)

    if low:
        yield made("", high, step, "drop/lower")
    if high:
        yield made(low, "", step, "drop/upper")
    if step:
        yield made(low, high, "", "drop/step")
        if not step.startswith("-"):
            yield made(low, high, f"-{step}", "step")
    if not low:
        for value in ("1", "0") if not step else ("1",):
            yield made(value, high, step, "lower")
    if not high:
        yield made(low, "-1", step, "upper")
    if not step:
        for value in ("-1", "2"):
            yield made(low, high, value, "step")
    if low and high:
        yield made(high, low, step, "exchange")
    if bool(low) != bool(high):
        yield made(high, low, step, "side")
    if not low and not high:
        yield swap(source, node, base, "subscript/slice/drop", level=ATOM)
    else:
        yield swap(source, node, base, "subscript/slice/whole", level=ATOM)
    if low and not high and not step:
        yield swap(source, node, f"{base}[{low}]", "subscript/slice/index", level=ATOM)
    if high and not low and not step:
        yield swap(source, node, f"{base}[{high}]", "subscript/slice/index", level=ATOM)
