"""Conditions as programmers write them: what can be asked of a name (None? empty? of this type? in that collection?)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kinds
from pytest_selfheal.propose.search.source import Region

_TYPES = ("str", "int", "list", "tuple", "dict", "bool", "float", "bytes", "set")


def subjects(region: Region) -> list[str]:
    """What conditions can be about: names, and attributes of ``self`` and of names that the region reads."""
    found = {n: None for n in region.names if n not in ("self", "cls", "_")}
    for node in region.expressions:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            up = region.source.parent(node)
            if not (isinstance(up, ast.Call) and up.func is node):
                found.setdefault(region.source.segment(node))
    return list(found)[:24]


def around(region: Region, place: ast.stmt) -> list[str]:
    """What a condition before a statement is likely about: what it and the one before it read or set, and loop variables."""
    source = region.source
    block = source.block(place)
    index = block.index(place)
    loops = [up.target for up in source.ancestors(place) if isinstance(up, ast.For)]
    found: dict[str, None] = {}
    for part in (*block[max(0, index - 1) : index], place, *loops):
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and node.id in region.names and node.id not in ("self", "cls", "_"):
                found.setdefault(node.id)
    return list(found)[:6]


def atoms(
    region: Region, context: Context, kinds: Kinds, names: list[str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Conditions as ``(text, key, subject)``, the usual ones first; about ``names`` when they are given."""
    source = region.source
    names = subjects(region) if names is None else names
    kind = {n: kinds.variables.get(n, "any") for n in names}
    for n in names:
        if kind[n] not in NUMBERS or kind[n] == "bool":
            yield f"not {n}", "empty", n
            yield n, "truthy", n
        if kind[n] == "any":
            yield f"{n} is None", "none", n
            yield f"{n} is not None", "notnone", n
    for n in names:
        if (kind[n] in NUMBERS and kind[n] != "bool") or kind[n] == "any":
            for op in (
                "== 0",
                "<= 0",
                "< 0",
                "> 0",
                "== 1",
                "!= 0",
                "< 1",
                "< 2",
                "<= 1",
                ">= 0",
                "% 2 == 0",
                "% 2 == 1",
            ):
                yield f"{n} {op}", "zero" if op.endswith(" 0") else "number", n
        if kind[n] in COLLECTIONS or kind[n] == "any":
            for op in ("== 0", "== 1", "< 2", "> 1", "<= 1", "> 0", "% 2 == 0"):
                yield f"len({n}) {op}", "length", n
    for n in names:
        if kind[n] in ("list", "str", "tuple") or kind[n] == "any":
            for text in (
                "len(set({0})) != len({0})",
                "len(set({0})) == len({0})",
                "any({0}.count(i) > 2 for i in {0})",
            ):
                yield text.format(n), "duplicates", n
    for n in names:
        if kind[n] == "any":
            for name in _TYPES:
                yield f"isinstance({n}, {name})", "isinstance", n
                yield f"not isinstance({n}, {name})", "isinstance", n
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if "any" not in (kind[a], kind[b]) and kind[a] != kind[b] and not {kind[a], kind[b]} <= NUMBERS:
                if kind[b] in COLLECTIONS:
                    yield from ((f"{a} in {b}", "in", a), (f"{a} not in {b}", "in", a))
                elif kind[a] in COLLECTIONS:
                    yield from ((f"{b} in {a}", "in", b), (f"{b} not in {a}", "in", b))
                continue
            for op in ("==", "!=", "<", "<=", ">", ">="):
                yield f"{a} {op} {b}", "pair", a
            yield from (
                (f"{a} in {b}", "in", a),
                (f"{a} not in {b}", "in", a),
                (f"{b} in {a}", "in", b),
                (f"{b} not in {a}", "in", b),
            )
    for node in region.expressions:  # conditions that are asked elsewhere in the function, and their opposite
        if isinstance(node, ast.Compare) or (
            isinstance(node, ast.Call) and isinstance(source.parent(node), (ast.If, ast.BoolOp, ast.UnaryOp))
        ):
            text = source.segment(node)
            if len(text) < 60 and "\n" not in text:
                yield text, "own", ""
                yield f"not {text}" if isinstance(node, ast.Call) else f"not ({text})", "own", ""
