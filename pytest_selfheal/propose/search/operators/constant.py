"""Literal values: neighbours of numbers, other constants of the function, values in docstrings and in the tests' inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.source import Region

_MOST = 40
"""Values taken from tests or docstrings for one literal."""


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    nodes = [n for n in region.expressions if isinstance(n, ast.Constant) and not _in_fstring(region, n)]
    own = {(type(n.value), repr(n.value)): n.value for n in nodes}
    for node in nodes:
        value = node.value
        place = role(source, node)
        if isinstance(value, bool):
            yield swap(source, node, str(not value), f"constant/bool/{place}")
            yield swap(source, node, "None", "constant/bool/none", 0.5)
        elif isinstance(value, (int, float)):
            yield from _number(region, node, value, place)
        elif isinstance(value, str):
            yield from _string(region, node, value, place)
        elif value is None:
            for text, key in (
                ("0", "zero"),
                ("[]", "list"),
                ('""', "string"),
                ("False", "false"),
                ("True", "true"),
                ("{}", "dict"),
            ):
                yield swap(source, node, text, f"constant/none/{key}")
        for (kind, text), other in own.items():
            if (
                other != value
                and isinstance(other, type(value) if not isinstance(value, (int, float)) else (int, float))
                and kind is not bool
                and not isinstance(value, bool)
            ):
                yield swap(source, node, text, f"constant/own/{kind.__name__}/{place}")
        yield from _foreign(region, node, value, context, place)
        if isinstance(value, (int, float, str)) and place not in ("index", "slice"):
            yield swap(source, node, "None", "constant/none/to", 0.5)
    yield from _exchanged(region, nodes)


def _in_fstring(region: Region, node: ast.Constant) -> bool:
    return isinstance(region.source.parent(node), ast.JoinedStr)


def _number(region: Region, node: ast.Constant, value: int | float, place: str) -> Iterator[Draft]:
    source = region.source
    kind = type(value).__name__
    negative = isinstance(up := source.parent(node), ast.UnaryOp) and isinstance(up.op, ast.USub)
    steps: dict[str, int | float] = {"plus1": value + 1, "minus1": value - 1, "zero": 0, "one": 1, "two": 2}
    steps |= {"plus2": value + 2, "minus2": value - 2, "ten": 10, "times10": value * 10, "double": value * 2}
    if value:
        steps["negated"] = -value
        steps["tenth"] = value // 10 if isinstance(value, int) else value / 10
        steps["half"] = value // 2 if isinstance(value, int) else value / 2
        steps["square"] = value * value
    for key, new in steps.items():
        if new == 0 and isinstance(up, ast.BinOp) and isinstance(up.op, (ast.Add, ast.Sub)):
            continue  # nothing added: dropping the operand says it better
        if new != value and abs(new) < 10**9:
            yield swap(
                source,
                node,
                repr(new),
                f"constant/{kind}/{key}/{place}" if key in _COMMON else f"constant/{kind}/{key}",
            )
    if isinstance(value, float):
        yield swap(source, node, repr(int(value)), "constant/float/int")
    elif place not in ("index", "slice", "range"):
        yield swap(source, node, repr(float(value)), "constant/int/float")
    if negative:
        assert isinstance(up, ast.UnaryOp)
        yield swap(source, up, source.segment(node), f"constant/{kind}/unsigned/{role(source, up)}")
        yield swap(source, up, "0", f"constant/{kind}/unsigned/zero")


_COMMON = {"plus1", "minus1", "zero", "one", "negated"}


def _string(region: Region, node: ast.Constant, value: str, place: str) -> Iterator[Draft]:
    source = region.source

    def put(new: str, key: str, factor: float = 1.0) -> Iterator[Draft]:
        if new != value:
            yield swap(source, node, quoted(source.segment(node), new), f"constant/str/{key}", factor)

    yield from put(value.lower(), "lower")
    yield from put(value.upper(), "upper")
    yield from put(value.capitalize(), "capitalize")
    yield from put(value.strip(), "strip")
    yield from put("", "empty")
    yield from put(" ", "space")
    yield from put(value + " ", "pad/right")
    yield from put(" " + value, "pad/left")
    yield from put(value + "\n", "pad/newline")
    if len(value) > 1:
        yield from put(value[:-1], "shorter/right")
        yield from put(value[1:], "shorter/left")
        yield from put(value[::-1], "reversed")
        if len(value) <= 40:
            for i in range(1, len(value) - 1):
                yield from put(value[:i] + value[i + 1 :], "shorter/inside", 0.3)
            for i in range(len(value) - 1):
                yield from put(value[:i] + value[i + 1] + value[i] + value[i + 2 :], "transposed", 0.3)
    elif value == "":
        for text in (" ", ",", "0", "\n", "-", "_", "."):
            yield from put(text, "separator")
    elif len(value) == 1:
        for text in " ,.;:-_/\\|\n\t'\"()[]{}<>+*#@!?=&%":
            yield from put(text, "character", 0.3)
        if value.isalnum():
            for step in (1, -1):
                yield from put(chr(ord(value) + step), "neighbour")
    for group in ("aeiou", "AEIOU", "0123456789"):
        if len(value) > 1 and set(value) <= set(group) | {group[0]}:
            yield from put(group, "alphabet")
            yield from put(group + group.swapcase() if group.isalpha() else group, "alphabet")
    if value.isalpha() and value.islower() and len(value) > 2:
        yield from put(value + value.upper(), "bothcases")


def quoted(old: str, new: str) -> str:
    """``new`` as a literal in the manner of the literal ``old`` (its prefix and quotes where they fit)."""
    prefix = old[: len(old) - len(old.lstrip("rRbBuUfF"))]
    quote = old[len(prefix) : len(prefix) + 1]
    text = repr(new)
    if quote == '"' and '"' not in new and text.startswith("'"):
        text = '"' + text[1:-1].replace("\\'", "'") + '"'
    if prefix.lower() == "r" and "\\" in new and quote not in new and "\n" not in new and not new.endswith("\\"):
        return f"{prefix}{quote}{new}{quote}"
    return text


def _foreign(region: Region, node: ast.Constant, value: object, context: Context, place: str) -> Iterator[Draft]:
    """Values of the docstring, of the tests' inputs, and (for strings) what the tests expect."""
    source = region.source

    def fits(other: object) -> bool:
        if isinstance(value, bool) or isinstance(other, bool) or value is None:
            return False
        if isinstance(value, (int, float)):
            return isinstance(other, (int, float)) and other != value
        return type(other) is type(value) and other != value

    for origin, values in (("docstring", context.docstring_literals), ("inputs", context.inputs)):
        for other in [v for v in values if fits(v)][:_MOST]:
            text = quoted(source.segment(node), other) if isinstance(other, str) else repr(other)
            yield swap(source, node, text, f"constant/{origin}/{type(value).__name__}", _alike(value, other))
    if value is None:
        for other in [
            v for v in (*context.expected, *context.docstring_literals) if isinstance(v, str) and len(v) < 20
        ][:_MOST]:
            yield swap(source, node, quoted('""', other), "constant/none/string", 0.3)
    for other in [v for v in context.expected if fits(v)][:_MOST]:
        if isinstance(other, str) and isinstance(value, str):
            near = _alike(value, other)
            if len(value) > 1 and near > 1.0:  # a slip of the pen, not the answer written into the code
                yield swap(source, node, quoted(source.segment(node), other), "constant/expected/str", near)
            elif len(value) <= 1:
                for char in sorted(set(other))[:12]:
                    if char != value:
                        yield swap(source, node, quoted(source.segment(node), char), "constant/expected/char", 0.5)


def _alike(value: object, other: object) -> float:
    """More than 1 for strings that share most of their characters."""
    if isinstance(value, str) and isinstance(other, str) and value and other:
        if value.lower() == other.lower():
            return 4.0
        same = sum(a == b for a, b in zip(value, other, strict=False))
        tail = sum(a == b for a, b in zip(value[::-1], other[::-1], strict=False))
        if len(other) > 2 and other.lower() in value.lower():
            return 3.0  # with something stray around it
        return 3.0 if max(same, tail) >= max(len(value), len(other)) - 2 > 0 else 0.7
    return 1.0


def _exchanged(region: Region, nodes: list[ast.Constant]) -> Iterator[Draft]:
    """Two literals of one statement that stand in each other's place."""
    source = region.source
    for i, first in enumerate(nodes):
        for second in nodes[i + 1 : i + 8]:
            if type(first.value) is type(second.value) and first.value != second.value:
                near = 1.0 if source.statement(first) is source.statement(second) else 0.4
                one, two = source.span(first), source.span(second)
                edits = (Edit(*one, source.segment(second)), Edit(*two, source.segment(first)))
                kind = type(first.value).__name__
                yield Draft(edits, f"constant/exchange/{kind}", f"exchange {edits[1].text} and {edits[0].text}", near)
