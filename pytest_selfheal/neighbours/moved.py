"""Inputs that keep what the observed ones mean: all of an input moved alike, arguments of one input put into another.

A fault at a boundary (``value == high``) shows on a moved input as it does on the observed one, and a fault between two
names on others of the names; a patch that recognises the observed input itself does nothing there.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_selfheal.propose.search.observe import Call

STEPS = (1, -1, 2, -2, 3, -3, 5, 10)
_ALPHABETS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_DEPTH = 4


def moved(calls: Sequence[Call]) -> Iterator[Call]:
    """Each call with all its numbers moved by each step, and its letters exchanged one for one; never below 0 where
    no number of the call is. Arguments are shared or made anew, never altered.
    """
    for call in calls:
        for step in STEPS:
            if step < 0 and _least(call.arguments) + step < 0 <= _least(call.arguments):
                continue
            arguments = {name: _moved(value, step, _DEPTH) for name, value in call.arguments.items()}
            if repr(arguments) != repr(call.arguments):
                yield Call(call.key, arguments, call.order)


def crossed(calls: Sequence[Call], limit: int) -> Iterator[Call]:
    """Calls with one argument of another call of the same function, no more than ``limit``."""
    pairs = [(a, b, name) for a in calls for b in calls if a.key == b.key and a is not b for name in a.arguments]
    for a, b, name in pairs[:: max(1, len(pairs) // limit)][:limit]:
        if len(a.arguments) > 1 and name in b.arguments and name not in ("self", "cls"):
            yield Call(a.key, {**a.arguments, name: b.arguments[name]}, a.order)


def _moved(value: Any, step: int, depth: int) -> Any:
    kind = type(value)
    if kind in (int, float):
        return value + step
    if kind is str:
        return value.translate(_exchange(step))
    if not depth:
        return value
    if kind in (list, tuple, set, frozenset):
        return kind(_moved(element, step, depth - 1) for element in value)
    if kind is dict:
        return {_moved(key, step, depth - 1): _moved(element, step, depth - 1) for key, element in value.items()}
    return value


def _exchange(step: int) -> dict[int, str]:
    return {
        ord(letter): alphabet[(place + step) % len(alphabet)]
        for alphabet in _ALPHABETS
        for place, letter in enumerate(alphabet)
    }


def _least(value: Any, depth: int = _DEPTH) -> float:
    """The least number in a value; infinity without any."""
    if type(value) in (int, float):
        return float(value)
    if depth and type(value) in (list, tuple, set, frozenset, dict):
        parts = [*value, *value.values()] if type(value) is dict else value
        return min((_least(part, depth - 1) for part in parts), default=float("inf"))
    return float("inf")
