"""Values computed of two or three names in scope, as source."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region

_OTHERS = 4
_READ = 16


def read(region: Region, leaves: Sequence[tuple[str, Kind]]) -> list[str]:
    """Names in scope, and the items and attributes that the function reads elsewhere or could read by them."""
    names = [name for name, _ in leaves]
    found = dict.fromkeys(names)
    for node in region.expressions:
        if isinstance(node, (ast.Subscript, ast.Attribute)) and len(text := region.source.segment(node)) < 24:
            up = region.source.parent(node)
            if not (isinstance(up, ast.Call) and up.func is node):
                found.setdefault(text)
    indices = [name for name, kind in leaves if kind == "int"]
    found |= {
        f"{c}[{i}]": None for c, kind in leaves if kind in ("str", "list", "tuple", "any") for i in indices if i != c
    }
    return list(found)[:_READ]


def of_two(leaves: Sequence[tuple[str, Kind]]) -> Iterator[tuple[str, int]]:
    """Two names in one text or one collection."""
    for (a, first), (b, second) in itertools.permutations(leaves[:_OTHERS], 2):
        if first in ("list", "any"):
            yield from ((f"{a} + [{b}]", 10), (f"[{b}] + {a}", 10))
        if first in ("tuple", "any"):
            yield from ((f"{a} + ({b},)", 10), (f"({b},) + {a}", 10))
        if first in ("str", "any") and second in ("str", "any"):
            forms = ("{a}.replace({b}, '')", "{a}.replace(' ', {b})", "{a}.startswith({b})", "{a}.endswith({b})",
                     "{a}.find({b})", "{a}.strip({b})", "{a}.split({b})")  # fmt: skip
            yield from ((form.format(a=a, b=b), ATOM) for form in forms)
            yield from ((f"{a} + ' ' + {b}", 10), (f"{a}.count({b})", ATOM))
        if first in ("str", "any") and second in COLLECTIONS | {"any", "iterator"}:
            yield f"{a}.join({b})", ATOM
        yield from ((f"[{a}, {b}]", ATOM), (f"({a}, {b})", ATOM))
        if {first, second} <= COLLECTIONS | {"any", "iterator"}:
            yield from ((f"dict(zip({a}, {b}))", ATOM), (f"list(zip({a}, {b}))", ATOM), (f"zip({a}, {b})", ATOM))
            yield from ((f"set({a}) & set({b})", 8), (f"set({a}) | set({b})", 6), (f"set({a}) - set({b})", 10))


def arithmetic(leaves: Sequence[tuple[str, Kind]]) -> Iterator[str]:
    """Three operands: two names and a third or a constant. One of two names is what ``placeholder`` tries."""
    names = [name for name, kind in leaves if kind in NUMBERS | {"any"}][:_OTHERS]
    for a, b in itertools.permutations(names, 2):
        if a < b:
            yield from (f"{a} * {a} + {b} * {b}", f"{a} * {b} * {a}", f"{a} * {b} * {b}", f"2 * {a} * {b}")
        for op in ("+", "*", "-", "//", "%", "/"):
            if op in "+*" and a > b:
                continue
            inner = f"{a} {op} {b}" if op not in "+-" else f"({a} {op} {b})"
            for third in (n for n in names if n not in (a, b)):
                yield from (f"{inner} {o} {third}" for o in ("*", "//", "/", "%"))
                yield from (f"{a} {op} {b} {o} {third}" for o in ("+", "-"))
                yield from (f"{third} {o} {inner}" for o in ("-", "//", "/", "%") if op not in "*/%//")
                yield from (f"0.5 * {inner} * {third}", f"{inner} * {third} // 2", f"{inner} * {third} / 3")
            yield from (f"{a} {op} {b} + 1", f"{a} {op} {b} - 1")
            yield from (
                f"{inner} * 2",
                f"{inner} // 2",
                f"{inner} / 2",
                f"0.5 * {inner}",
                f"{inner} * 100",
                f"{inner} % 10",
            )
    for a in names:
        yield from (f"{a} * ({a} + 1) // 2", f"{a} * ({a} - 1) // 2", f"{a} * ({a} + 1)", f"{a} * ({a} - 1)", f"{a} * {a}",
                    f"{a} ** 3", f"{a} ** 0.5", f"2 ** {a}", f"10 ** {a}", f"{a} * 4", f"{a} * 3", f"{a} / 2", f"-{a}")  # fmt: skip
