"""One wrapping for another (``xs[-1]`` ↔ ``sum(xs)`` ↔ ``len(xs)``), the same wrapping on both sides, two-argument wrappings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kinds
from pytest_selfheal.propose.search.operators.edit import fitted, short, swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM, precedence
from pytest_selfheal.propose.search.source import Region

_CALLS = (
    "sum",
    "max",
    "min",
    "len",
    "sorted",
    "set",
    "list",
    "str",
    "int",
    "abs",
    "any",
    "all",
    "bool",
    "tuple",
    "float",
)
_SUFFIXES = ("[0]", "[-1]", "[1:]", "[:-1]", "[::-1]", ".lower()", ".upper()", ".strip()", ".split()")
_BOTH = ("set", "sorted", "len", "abs", "str", "int", "sum", "float", "list", "round")
_BOTH_METHODS = (".lower()", ".strip()", ".upper()", "[::-1]", ".split()")


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    for node in region.expressions:
        inner = _inside(node)
        if inner is not None and not isinstance(source.parent(node), ast.Expr):
            text = source.segment(inner)
            base = text if precedence(inner) == ATOM else f"({text})"
            bare = text[1:-1] if isinstance(inner, (ast.ListComp,)) else text
            for call in _CALLS:
                yield swap(source, node, f"{call}({text})", f"rewrap/call/{call}", level=ATOM)
                if bare != text and call in ("sum", "max", "min", "any", "all", "sorted", "set"):
                    yield swap(source, node, f"{call}({bare})", f"rewrap/call/{call}", 0.5, level=ATOM)
            for suffix in _SUFFIXES:
                yield swap(source, node, base + suffix, "rewrap/suffix", level=ATOM)
        if isinstance(node, (ast.Compare, ast.BinOp)):
            yield from _both(region, node, kinds)
    yield from _two(region, kinds)


def _inside(node: ast.expr) -> ast.expr | None:
    """What a call of one argument, a method without arguments or a subscript is about."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and not node.keywords:
        if (
            isinstance(node.func, ast.Name)
            and len(node.args) == 1
            and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp))
        ):
            return node.args[0]
        if isinstance(node.func, ast.Attribute) and not node.args and not isinstance(node.func.value, ast.Constant):
            return node.func.value
    return None


def _both(region: Region, node: ast.Compare | ast.BinOp, kinds: Kinds) -> Iterator[Draft]:
    """``a == b`` → ``f(a) == f(b)``."""
    source = region.source
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1 or isinstance(node.comparators[0], ast.Constant):
            return
        left, right = node.left, node.comparators[0]
    else:
        left, right = node.left, node.right
    if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
        return
    found = {kinds.of(left), kinds.of(right)} - {"any"}
    a, b = source.segment(left), source.segment(right)
    for call in _BOTH:
        if (call in ("abs", "round") and found & COLLECTIONS) or (
            call in ("set", "sorted", "len", "sum", "list") and found & NUMBERS
        ):
            continue
        edits = (Edit(*source.span(left), f"{call}({a})"), Edit(*source.span(right), f"{call}({b})"))
        yield Draft(edits, f"rewrap/both/{call}", f"{call}() of both sides of {short(source.segment(node))}")
    if not found & NUMBERS:
        for suffix in _BOTH_METHODS:
            one, two = (t if precedence(n) == ATOM else f"({t})" for t, n in ((a, left), (b, right)))
            edits = (Edit(*source.span(left), one + suffix), Edit(*source.span(right), two + suffix))
            yield Draft(edits, "rewrap/both/method", f"{suffix} on both sides of {short(source.segment(node))}")


def _two(region: Region, kinds: Kinds) -> Iterator[Draft]:
    """``max(e, 0)``, ``min(e, other)``, ``e.replace(" ", "")``, ``round(e, 2)`` …; a name for the literal that spells it."""
    source = region.source
    names = [n for n in region.names if n not in ("self", "cls")][:8]
    for node in region.expressions:
        place = role(source, node)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node.value in region.names:
                for form in (
                    node.value,
                    f"{node.value}.encode()",
                    f"str({node.value})",
                    f"{node.value}.encode('utf-8')",
                ):
                    yield swap(source, node, form, "rewrap/unquoted", level=ATOM)
            continue
        if place in ("callee", "condition", "object", "iterable", "other") or isinstance(
            node, (ast.Lambda, ast.JoinedStr, ast.Compare)
        ):
            continue
        if isinstance(node, ast.Name) and node.id in ("self", "cls"):
            continue
        kind, text = kinds.of(node), source.segment(node)
        if kind in NUMBERS | {"any"} and kind != "bool":
            for call in ("max", "min"):
                for other in (
                    "0",
                    "1",
                    *(n for n in names if n != text and kinds.variables.get(n, "any") in NUMBERS | {"any"}),
                ):
                    yield swap(source, node, f"{call}({text}, {other})", f"rewrap/two/{call}", level=ATOM)
            for digits in ("1", "2", "3"):
                yield swap(source, node, f"round({text}, {digits})", "rewrap/two/round", level=ATOM)
        if kind in ("str", "any") and precedence(node) == ATOM:
            for form in ('.replace(" ", "")', '.split(",")', '.split(" ")', ".zfill(2)", '.replace(",", "")'):
                yield swap(source, node, text + form, "rewrap/two/str", level=ATOM)
        if kind in ("list", "iterator", "any", "str"):
            for glue in ('""', '" "', '", "', '","', '"\\n"'):
                yield swap(source, node, f"{glue}.join({text})", "rewrap/two/join", level=ATOM)
        if kind in ("list", "str", "tuple") and precedence(node) == ATOM:
            for other in names:
                if kinds.variables.get(other, "any") in ("int", "any") and other != text:
                    for form in (f"[:{other}]", f"[{other}:]", f"[{other}]"):
                        yield swap(
                            source, node, fitted(source, node, text + form, ATOM), "rewrap/two/slice", level=ATOM
                        )
