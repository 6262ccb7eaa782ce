"""Literals changed by the difference between the actual and the expected value, as the failure's own words show it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.constant import quoted
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region

_LONGEST = 20_000
_MOST = 12
"""Differences that are looked at."""
_PIECE = 24
"""Characters of a piece of text that may be replaced within a longer literal."""
_COMPARED = re.compile(r" (?:==|!=) ")
_LINES = re.compile(r"^\s*- (.+)\n(?:\s*\? .*\n)?\s*\+ (.+)$", re.MULTILINE)

Pair = tuple[object, object]


def propose(region: Region, context: Context) -> Iterator[Draft]:
    """A literal that is the actual value (or the piece of it that differs) becomes the expected one."""
    found = differences(context.messages)
    if not found:
        return
    source = region.source
    for node in region.expressions:
        if not isinstance(node, ast.Constant):
            continue
        text = source.segment(node)
        for actual, expected in found:
            if type(node.value) is type(actual) and node.value == actual:
                new = (
                    quoted(text if isinstance(actual, str) else '""', expected)
                    if isinstance(expected, str)
                    else repr(expected)
                )
                yield swap(source, node, new, "difference/value")
            elif _holds(node.value, actual) and isinstance(actual, str) and isinstance(expected, str):
                new = quoted(text, str(node.value).replace(actual, expected))
                yield swap(source, node, new, "difference/piece", min(1.0, 0.25 * len(actual)))


def _holds(value: object, piece: object) -> bool:
    return isinstance(value, str) and isinstance(piece, str) and 0 < len(piece) <= _PIECE and value.count(piece) == 1


@lru_cache(maxsize=8)
def differences(messages: tuple[str, ...]) -> tuple[Pair, ...]:
    """``(actual, expected)`` leaves in which two compared values differ; of texts the pieces that differ as well."""
    pairs: dict[str, Pair] = {}
    for message in messages:
        for one, other in _sides(message[:_LONGEST]):
            for actual, expected in _leaves(one, other):
                for pair in ((actual, expected), _pieces(actual, expected)):
                    if pair is not None and len(pairs) < _MOST:
                        pairs.setdefault(repr(pair), pair)
    return tuple(pairs.values())


def _sides(message: str) -> Iterator[Pair]:
    for line in message.splitlines():
        line = re.sub(r"^\s*(?:\w*Error: )?(?:assert )?", "", line)
        for match in _COMPARED.finditer(line):
            try:
                yield ast.literal_eval(line[: match.start()]), ast.literal_eval(line[match.end() :])
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
    for expected, actual in _LINES.findall(message):
        yield actual, expected


def _leaves(actual: object, expected: object) -> Iterator[Pair]:
    """Where two values of one shape differ."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in actual.keys() & expected.keys():
            yield from _leaves(actual[key], expected[key])
    elif isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)) and len(actual) == len(expected):
        for one, other in zip(actual, expected, strict=True):
            yield from _leaves(one, other)
    elif (type(actual) is not type(expected) or actual != expected) and all(
        isinstance(value, (str, int, float, bool, type(None))) for value in (actual, expected)
    ):
        yield actual, expected


def _pieces(actual: object, expected: object) -> Pair | None:
    """The parts of two texts that are left without their common beginning and end."""
    if not (isinstance(actual, str) and isinstance(expected, str)):
        return None
    shorter = min(len(actual), len(expected))
    head = next((i for i in range(shorter) if actual[i] != expected[i]), shorter)
    tail = next((i for i in range(shorter - head) if actual[-1 - i] != expected[-1 - i]), shorter - head)
    one, other = actual[head : len(actual) - tail], expected[head : len(expected) - tail]
    return (one, other) if one and (one, other) != (actual, expected) else None
