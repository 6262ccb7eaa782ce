"""Calls put around a value: conversions, normalisations, lengths and the like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, SEQUENCES, Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM, precedence
from pytest_selfheal.propose.search.source import Region

_ITERABLE = COLLECTIONS | {"iterator", "any"}
_FUNCTIONS: dict[str, frozenset[str]] = {
    "abs": NUMBERS | {"any"},
    "int": NUMBERS | {"str", "any"},
    "str": NUMBERS | {"any", "list", "tuple"},
    "len": COLLECTIONS | {"any"},
    "sorted": _ITERABLE,
    "set": _ITERABLE,
    "list": _ITERABLE - {"list"},
    "tuple": _ITERABLE - {"tuple"},
    "sum": _ITERABLE - {"str"},
    "max": _ITERABLE,
    "min": _ITERABLE,
    "float": NUMBERS | {"str", "any"},
    "round": frozenset({"float", "any"}),
    "bool": frozenset({"any", "int", "str", "list"}),
    "dict": frozenset({"any", "list"}),
    "reversed": _ITERABLE - {"iterator", "set"},
    "ord": frozenset({"str"}),
    "chr": frozenset({"int"}),
    "any": _ITERABLE,
    "all": _ITERABLE,
    "enumerate": _ITERABLE,
    "range": frozenset({"int", "any"}),
    "next": frozenset({"iterator"}),
    "repr": frozenset({"any", "str"}),
}
_METHODS: dict[str, frozenset[str]] = {
    ".lower()": frozenset({"str", "any"}),
    ".upper()": frozenset({"str", "any"}),
    ".strip()": frozenset({"str", "any"}),
    ".lstrip()": frozenset({"str"}),
    ".rstrip()": frozenset({"str"}),
    ".split()": frozenset({"str", "any"}),
    ".copy()": frozenset({"list", "dict", "set", "any"}),
    ".items()": frozenset({"dict", "any"}),
    ".keys()": frozenset({"dict"}),
    ".values()": frozenset({"dict", "any"}),
    "[::-1]": SEQUENCES | {"any"},
    ".capitalize()": frozenset({"str"}),
    ".title()": frozenset({"str"}),
    ".swapcase()": frozenset({"str"}),
    ".isdigit()": frozenset({"str"}),
    ".encode()": frozenset({"str"}),
    ".decode()": frozenset({"any"}),
}
_SKIPPED = (ast.Constant, ast.Lambda, ast.Compare, ast.BoolOp, ast.Await, ast.Yield, ast.YieldFrom, ast.JoinedStr)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    for node in region.expressions:
        if isinstance(node, _SKIPPED):
            continue
        place = role(source, node)
        if place in ("callee", "condition") or isinstance(source.parent(node), (ast.Expr, ast.Attribute)):
            continue
        if place == "object" and not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        if isinstance(node, ast.Name) and node.id in ("self", "cls", "super"):
            continue
        kind = kinds.of(node)
        text = source.segment(node)
        bare = text
        if isinstance(node, ast.GeneratorExp) and text.startswith("("):
            bare = text[1:-1]
        outer = source.parent(node)
        for name, takes in _FUNCTIONS.items():
            if kind not in takes or _same(outer, name) or (isinstance(node, ast.Call) and _same(node, name)):
                continue
            if place in ("index", "slice", "range") and name not in (
                "int",
                "abs",
                "len",
                "min",
                "max",
                "round",
                "ord",
                "str",
            ):
                continue
            if (
                place == "iterable"
                and name
                in (
                    "abs",
                    "int",
                    "str",
                    "len",
                    "sum",
                    "max",
                    "min",
                    "float",
                    "round",
                    "bool",
                )
                and name != "str"
            ):
                continue
            factor = 1.0 if kind != "any" else 0.5
            yield swap(source, node, f"{name}({bare})", f"wrap/{name}/{place}", factor, level=ATOM)
        if place in ("index", "slice", "range"):
            continue
        body = text if precedence(node) == ATOM else f"({text})"
        for suffix, takes in _METHODS.items():
            if kind in takes and not text.endswith(suffix):
                factor = 1.0 if kind != "any" else 0.5
                name = suffix.strip(".()") if suffix.startswith(".") else "reverse"
                yield swap(source, node, body + suffix, f"wrap/{name}/{place}", factor, level=ATOM)


def _same(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
