"""Small new expressions (depth ≤ 3) from what is in scope, put where an expression stands or added to it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind, Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM, precedence
from pytest_selfheal.propose.search.source import Region

_LEAVES = 10
_WORDS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "//": "floor",
    "/": "over",
    "%": "mod",
    "**": "pow",
    "&": "and",
    "|": "or",
}
_PLACES = {"return", "assign", "argument", "element", "operand", "compare", "index", "slice", "range", "iterable"}


def _leaves(region: Region, kinds: Kinds) -> list[tuple[str, Kind]]:
    """Names in scope and what the function reads often, with their kinds."""
    found: dict[str, Kind] = {n: kinds.variables.get(n, "any") for n in region.names if n not in ("self", "cls", "_")}
    for node in region.expressions:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and len(text := region.source.segment(node)) < 24:
            up = region.source.parent(node)
            if not (isinstance(up, ast.Call) and up.func is node):
                found.setdefault(text, kinds.of(node))
    return list(found.items())[:_LEAVES]


def extended(region: Region, context: Context) -> Iterator[Draft]:
    """``e`` → ``e <op> leaf`` and ``leaf <op> e``, ``len(leaf) - e`` …"""
    source = region.source
    kinds = Kinds(region, context)
    leaves = _leaves(region, kinds)
    for node in region.expressions:
        place = role(source, node)
        if place not in _PLACES or isinstance(node, (ast.Lambda, ast.JoinedStr, ast.Dict, ast.Set, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Name) and node.id in ("self", "cls"):
            continue
        if isinstance(source.parent(node), (ast.Attribute, ast.Starred)):
            continue
        kind, text = kinds.of(node), source.segment(node)
        if kind in ("bool", "none", "iterator") and not isinstance(node, ast.Name):
            continue
        for leaf, other in leaves:
            if leaf == text:
                continue
            for op, level in _operators(kind, other):
                left = text if precedence(node) >= level else f"({text})"
                right = text if precedence(node) > level else f"({text})"
                yield swap(source, node, f"{left} {op} {leaf}", f"synthesis/add/{_WORDS[op]}/{place}", level=level)
                if op in ("-", "//", "/", "%", "**") or (op == "+" and kind not in NUMBERS):
                    yield swap(
                        source, node, f"{leaf} {op} {right}", f"synthesis/add/left/{_WORDS[op]}/{place}", level=level
                    )
            if other in COLLECTIONS | {"any"} and kind in NUMBERS | {"any"}:
                for form in (
                    f"len({leaf}) - {text}",
                    f"{text} + len({leaf})",
                    f"{text} - len({leaf})",
                    f"{text} % len({leaf})",
                ):
                    yield swap(source, node, form, f"synthesis/add/len/{place}", level=10 if "%" not in form else 11)
        if kind in ("any", "str", "list", "tuple"):
            for other_text in _indices(region, kinds):
                if other_text != text and precedence(node) == ATOM and not isinstance(node, ast.Constant):
                    yield swap(source, node, f"{text}[{other_text}]", f"synthesis/add/index/{place}", level=ATOM)
        if kind in NUMBERS | {"any"} and place not in ("object", "iterable"):
            body = text if precedence(node) >= 11 else f"({text})"
            for number in (2, 10):
                for op in ("*", "//", "/", "%", "+", "-"):
                    form = f"{body} {op} {number}" if op not in "+-" else f"{text} {op} {number}"
                    yield swap(
                        source, node, form, f"synthesis/add/number/{_WORDS[op]}", level=11 if op not in "+-" else 10
                    )
            yield swap(source, node, f"{body} ** 2", "synthesis/add/number/pow", level=13)
            yield swap(source, node, f"1 - {body}", "synthesis/add/number/minus", level=10)


def _operators(kind: Kind, other: Kind) -> list[tuple[str, int]]:
    """Operators that make sense between two kinds."""
    if "any" in (kind, other):
        return [("+", 10), ("-", 10), ("*", 11)]
    if {kind, other} <= NUMBERS:
        return [("+", 10), ("-", 10), ("*", 11), ("//", 11), ("%", 11), ("/", 11), ("**", 13)]
    if kind == other and kind in ("str", "list", "tuple"):
        return [("+", 10)]
    if kind == other == "set":
        return [("&", 8), ("|", 6), ("-", 10)]
    if {kind, other} & {"str", "list"} and {kind, other} & NUMBERS:
        return [("*", 11)]
    return []


def _indices(region: Region, kinds: Kinds) -> list[str]:
    names = [
        n for n in region.names if kinds.variables.get(n, "any") in ("int", "any", "str") and n not in ("self", "cls")
    ]
    found = list(itertools.chain.from_iterable((n, f"{n} + 1", f"{n} - 1") for n in names[:6]))
    return [*found, "0", "-1", *(f":{n}" for n in names[:4]), *(f"{n}:" for n in names[:4])]


def replaced(region: Region, context: Context) -> Iterator[Draft]:
    """Returned, assigned, passed and tested values replaced by a new expression over the leaves."""
    source = region.source
    kinds = Kinds(region, context)
    leaves = _leaves(region, kinds)
    expressions = list(itertools.islice(_expressions(leaves), 600))
    for node in region.expressions:
        place = role(source, node)
        if place not in ("return", "assign", "argument", "index", "iterable", "element"):
            continue
        text, kind = source.segment(node), kinds.of(node)
        small = isinstance(node, (ast.Name, ast.Constant))
        for new, new_kind, level in expressions:
            if new == text or ("any" not in (kind, new_kind) and kind != new_kind and not {kind, new_kind} <= NUMBERS):
                continue
            related = any(leaf in text for leaf, _ in leaves if leaf in new)
            factor = (1.0 if small else 0.5) * (1.0 if related else 0.5)
            yield swap(source, node, new, f"synthesis/new/{place}", factor, level=level)


def _expressions(leaves: list[tuple[str, Kind]]) -> Iterator[tuple[str, Kind, int]]:
    for a, kind in leaves:
        if kind in COLLECTIONS | {"any"}:
            yield f"len({a})", "int", ATOM
            yield f"{a}[0]", "any", ATOM
            yield f"{a}[-1]", "any", ATOM
            for call in ("sum", "max", "min", "sorted", "set"):
                if not (call == "sum" and kind == "str"):
                    yield f"{call}({a})", "any", ATOM
            yield f"{a}[::-1]", kind, ATOM
        if kind in NUMBERS | {"any"}:
            yield f"abs({a})", "int", ATOM
            yield f"str({a})", "str", ATOM
            yield f"-{a}", "int", 12
    for (a, kind), (b, other) in itertools.permutations(leaves, 2):
        for op, level in _operators(kind, other):
            if op not in ("+", "*") or a < b or kind not in NUMBERS:
                yield f"{a} {op} {b}", kind, level
        if kind in COLLECTIONS | {"any"} and other in ("int", "any", "str") and kind != "set":
            yield f"{a}[{b}]", "any", ATOM
            if other != "str":
                yield f"{a}[{b} - 1]", "any", ATOM
                yield f"{a}[{b} + 1]", "any", ATOM
                yield f"{a}[:{b}]", kind, ATOM
                yield f"{a}[{b}:]", kind, ATOM
        if {kind, other} <= NUMBERS | {"any"}:
            yield f"abs({a} - {b})", "int", ATOM
            yield f"max({a}, {b})", "int", ATOM
            yield f"min({a}, {b})", "int", ATOM
        if other in COLLECTIONS | {"any"}:
            yield f"{a} in {b}", "bool", 5
            yield f"{a} not in {b}", "bool", 5
            yield f"{b}.count({a})", "int", ATOM
            yield f"{b}.index({a})", "int", ATOM
        if kind == "str" and other in ("list", "any", "tuple"):
            yield f"{a}.join({b})", "str", ATOM
