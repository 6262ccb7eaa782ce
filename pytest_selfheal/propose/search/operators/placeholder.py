"""A ``None`` that was put where a value belongs, and a positional argument that was left out: small expressions for them.

What is written first and filled in later is forgotten sometimes; the value is then nearly always something in scope, or a
plain call of it.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind, Kinds
from pytest_selfheal.propose.search.operators.edit import swap, target_of
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region

_PLACES = frozenset(
    ("argument", "range", "assign", "iterable", "operand", "element", "index", "slice", "object", "other")
)
_LITERALS = ("0", "1", "[]", '""', "{}", "True", "False", "set()", "-1", "2", '" "', "()")
_LEAVES = 8
_WRAPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("len({})", COLLECTIONS),
    ("sorted({})", COLLECTIONS),
    ("set({})", COLLECTIONS),
    ("list({})", COLLECTIONS | {"iterator"}),
    ("sum({})", frozenset(("list", "tuple", "set"))),
    ("max({})", COLLECTIONS),
    ("min({})", COLLECTIONS),
    ("{}[0]", frozenset(("str", "list", "tuple"))),
    ("{}[-1]", frozenset(("str", "list", "tuple"))),
    ("{}[::-1]", frozenset(("str", "list", "tuple"))),
    ("{}[1:]", frozenset(("str", "list", "tuple"))),
    ("{}[:]", frozenset(("list",))),
    ("{}.split()", frozenset(("str",))),
    ('{}.split(" ")', frozenset(("str",))),
    ("{}.lower()", frozenset(("str",))),
    ("{}.strip()", frozenset(("str",))),
    ("{}.items()", frozenset(("dict",))),
    ("{}.keys()", frozenset(("dict",))),
    ("{}.values()", frozenset(("dict",))),
    ("{}.copy()", frozenset(("list", "dict", "set"))),
    ("str({})", NUMBERS),
    ("int({})", frozenset(("str", "float"))),
    ("abs({})", NUMBERS),
    ("range({})", frozenset(("int",))),
    ("range(len({}))", COLLECTIONS),
    ("{} + 1", NUMBERS),
    ("{} - 1", NUMBERS),
    ("{} * 2", NUMBERS),
    ("{} // 2", NUMBERS),
    ("{} % 10", NUMBERS),
)
_LEVELS = {"{} + 1": 10, "{} - 1": 10, "{} * 2": 11, "{} // 2": 11, "{} % 10": 11}
_NUMERIC = ("+", "-", "*", "//", "%", "/", "**", "&", "|", "^", "<<", ">>")
_LEVEL = {"+": 10, "-": 10, "**": 13, "&": 8, "|": 6, "^": 7, "<<": 9, ">>": 9}


def propose(region: Region, context: Context) -> Iterator[Draft]:
    kinds = Kinds(region, context)
    leaves = [(n, kinds.variables.get(n, "any")) for n in region.names if n not in ("self", "cls", "_")]
    yield from _filled(region, leaves)
    yield from _missing(region, leaves)


def _filled(region: Region, leaves: list[tuple[str, Kind]]) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if not isinstance(node, ast.Constant) or node.value is not None or source.in_annotation(node):
            continue
        place = role(source, node)
        if place not in _PLACES or isinstance(source.parent(node), ast.keyword | ast.arguments):
            continue
        target = target_of(region.source, node)
        for name, _ in leaves:
            if name != target:
                yield swap(source, node, name, f"placeholder/name/{place}", level=ATOM)
        for literal in _LITERALS:
            yield swap(source, node, literal, f"placeholder/literal/{place}", level=ATOM if literal != "-1" else 12)
        near = [(name, kind) for name, kind in leaves if name != target][:_LEAVES]
        for name, kind in near:
            for form, fits in _WRAPS:
                if kind == "any" or kind in fits:
                    factor = 1.0 if kind != "any" else 0.5
                    level = _LEVELS.get(form, ATOM)
                    yield swap(source, node, form.format(name), f"placeholder/call/{place}", factor, level=level)
        for (a, first), (b, second) in itertools.permutations(near, 2):
            for text, level in _pairs(a, first, b, second):
                yield swap(source, node, text, f"placeholder/pair/{place}", level=level)


def _pairs(a: str, first: Kind, b: str, second: Kind) -> Iterator[tuple[str, int]]:
    if {first, second} <= NUMBERS | {"any"}:
        for op in _NUMERIC:
            if op not in "+*&|^" or a < b:
                yield f"{a} {op} {b}", _LEVEL.get(op, 11)
    elif first == second and first in ("str", "list", "tuple"):
        yield f"{a} + {b}", 10
    if first in COLLECTIONS | {"any"} and first != "set" and second in NUMBERS | {"str", "any"}:
        yield f"{a}[{b}]", ATOM
        yield f"{a}[:{b}]", ATOM
        yield f"{a}[{b}:]", ATOM
    if first in ("str", "list", "tuple", "any") and second not in COLLECTIONS - {"str"}:
        yield f"{a}.count({b})", ATOM
        yield f"{a}.index({b})", ATOM
    if first in ("str", "any") and second in ("str", "any"):
        yield f"{a}.split({b})", ATOM


def _missing(region: Region, leaves: list[tuple[str, Kind]]) -> Iterator[Draft]:
    """One more positional argument, in front or at the end."""
    source = region.source
    for node in region.of(ast.Call):
        assert isinstance(node, ast.Call)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        opening = source.text.find("(", source.span(node.func)[1], source.span(node)[1])
        if opening < 0:
            continue
        given = {source.segment(argument) for argument in node.args}
        for name in _arguments(node, leaves):
            if name in given:
                continue
            if node.args:
                first, last = source.span(node.args[0])[0], source.span(node.args[-1])[1]
                yield Draft((Edit(first, first, f"{name}, "),), "placeholder/argument/first", f"pass {name} as well")
                yield Draft((Edit(last, last, f", {name}"),), "placeholder/argument/last", f"pass {name} as well")
            elif node.keywords:
                at = opening + 1
                for text in (name, f"{name}.items()"):
                    yield Draft((Edit(at, at, f"{text}, "),), "placeholder/argument/first", f"pass {text} as well")
            else:
                at = opening + 1
                yield Draft((Edit(at, at, name),), "placeholder/argument/only", f"pass {name}")


def _arguments(node: ast.Call, leaves: list[tuple[str, Kind]]) -> list[str]:
    """What may have been left out: a name; beside one that is paired with its neighbours, the rest of it."""
    names = [name for name, _ in leaves]
    if isinstance(node.func, ast.Name) and node.func.id == "zip":
        return names + [
            form.format(name) for name in names for form in ("{}[1:]", "{}[::2]", "{}[1::2]", "range(len({}))")
        ]
    return [*names, "1", "2", "0"] if node.args else names
