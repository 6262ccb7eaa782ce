"""New inputs from observed ones: the same types, sizes and ranges, so that a difference in behaviour is one that matters."""

from __future__ import annotations

import copy
import functools
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_selfheal.propose.search.observe import Call

PROMISED = 6
"""Calls of one function that get a fraction."""
BEYOND = 8
"""Calls made for one parameter of one function with what was not seen in it."""

DEPTH = 3
"""Containers inside one another whose values are changed."""
FEW_NUMBERS = 8
"""With fewer numbers seen as an argument, others between one and twice the largest are tried as well."""

_FRACTIONS = re.compile(r"\b(float|Real|Number|Decimal)\b")
_NOTHING = re.compile(r"\bNone\b|\bOptional\b|\bNoneType\b")
_CHANGEABLE = frozenset((bool, int, float, str, list, tuple, dict, set))


class Pool:
    """Values seen at each parameter of one function, and inside its containers, by type."""

    def __init__(self, calls: Sequence[Call], rng: random.Random) -> None:
        self._rng = rng
        self._seen: dict[str, dict[type, list[Any]]] = {}
        for call in calls:
            for name, value in call.arguments.items():
                self._add(self._seen.setdefault(name, {}), value, DEPTH)

    def _add(self, slot: dict[type, list[Any]], value: Any, depth: int) -> None:
        values = slot.setdefault(type(value), [])
        if len(values) < 60:
            values.append(value)
        if depth and isinstance(value, (list, tuple, set, frozenset)):
            for element in list(value)[:20]:
                self._add(slot, element, depth - 1)
        elif depth and not isinstance(value, (str, bytes, dict)) and isinstance(getattr(value, "__dict__", None), dict):
            for element in list(vars(value).values())[:20]:
                self._add(slot, element, depth - 1)
        elif depth and isinstance(value, dict):
            for key, element in list(value.items())[:20]:
                self._add(slot, key, depth - 1)
                self._add(slot, element, depth - 1)

    def mutated(self, name: str, value: Any) -> Any:
        """A value like ``value`` for this parameter; equal to it when nothing is known to change about its kind."""
        return self._change(self._seen.get(name, {}), value, DEPTH)

    def _change(self, slot: dict[type, list[Any]], value: Any, depth: int) -> Any:
        rng = self._rng
        kind = type(value)
        same = slot.get(kind, [value])
        if kind is bool:
            return not value
        if kind is int:
            low, high = _range(same, depth)
            return rng.choice(
                (
                    value + 1,
                    value - 1 if value > low or low < 0 else value + 2,
                    rng.choice(same),
                    rng.randint(low, high),
                )
            )
        if kind is float:
            low, high = _range(same, depth)
            try:
                return rng.choice(
                    (round(value + rng.choice((-0.5, 0.5, 1.0)), 6), rng.choice(same), round(rng.uniform(low, high), 3))
                )
            except (OverflowError, ValueError):
                return value
        if kind is str:
            return self._text(value, same)
        if kind in (list, tuple):
            return kind(self._sequence(slot, list(value), same, depth))
        if kind is dict and value and depth:
            key = rng.choice(list(value))
            changed = dict(value)
            if rng.random() < 0.3:
                del changed[key]
            else:
                changed[key] = self._change(slot, value[key], depth - 1)
            return changed
        if kind in (set, frozenset) and depth:
            elements = list(value)
            return kind(self._sequence(slot, elements, [list(s) for s in same], depth))
        fields = getattr(value, "__dict__", None)
        if isinstance(fields, dict) and fields and depth and not isinstance(value, type) and not callable(value):
            names = [n for n, v in fields.items() if v is not None and type(v) in _CHANGEABLE]
            if names:
                name = rng.choice(names)
                known = slot if type(fields[name]) in slot else {type(fields[name]): [fields[name]]}
                setattr(value, name, self._change(known, fields[name], depth - 1))
        return value

    def _text(self, value: str, same: list[Any]) -> str:
        rng = self._rng
        other = rng.choice(same)
        if not value:
            return str(other)
        i = rng.randrange(len(value))
        letters = other or value
        return rng.choice(
            (
                value[:i] + value[i + 1 :] if len(value) > 1 else value,
                value[:i] + rng.choice(letters) + value[i:],
                value[:i] + rng.choice(letters) + value[i + 1 :],
                value[:i] + value[i].swapcase() + value[i + 1 :],
                value[::-1],
                value[:i] + str(other)[i:],
                str(other),
            )
        )

    def _sequence(self, slot: dict[type, list[Any]], value: list[Any], same: list[Any], depth: int) -> list[Any]:
        rng = self._rng
        other = list(rng.choice(same))
        if not value:
            return other
        i = rng.randrange(len(value))
        j = rng.randrange(len(value))
        choice = rng.randrange(7)
        if choice == 0 and len(value) > 1:
            del value[i]
        elif choice == 1:
            value.insert(i, copy.deepcopy(value[j]))
        elif choice == 2:
            value[i], value[j] = value[j], value[i]
        elif choice == 3:
            value = value[:i] + other[i:]
        elif choice == 4:
            value.reverse()
        elif depth:
            value[i] = self._change(slot, value[i], depth - 1)
        return value


def _range(same: Sequence[Any], depth: int) -> tuple[Any, Any]:
    """The smallest and the largest number to try: as seen, wider for an argument that has hardly been seen."""
    low, high = min(same), max(same)
    if depth == DEPTH and low > 0 and len(set(same)) < FEW_NUMBERS:
        return min(low, 1), 2 * high
    return low, high


def _by_function(calls: Sequence[Call]) -> dict[tuple[str, int], list[Call]]:
    groups: dict[tuple[str, int], list[Call]] = {}
    for call in calls:
        groups.setdefault(call.key, []).append(call)
    return groups


def mutants(calls: Sequence[Call], limit: int, seed: int = 0) -> Iterator[Call]:
    """Calls with some arguments changed, deterministic, no more than ``limit``; arguments are shared, never altered."""
    rng = random.Random(seed)
    by_function = _by_function(calls)
    share = max(4, limit // max(len(by_function), 1))
    for key, group in by_function.items():
        pool = Pool(group, rng)
        seen = {_text(call.arguments) for call in group}
        for _ in range(3 * share):
            if len(seen) - len(group) >= share:
                break
            call = rng.choice(group)
            names = [n for n in call.order if n != "cls"]
            if not names:
                break
            arguments = dict(call.arguments)
            for name in rng.sample(names, 1 if rng.random() < 0.7 else min(2, len(names))):
                plain = name.lstrip("*")
                try:
                    arguments[plain] = pool.mutated(plain, copy.deepcopy(arguments[plain]))
                except Exception:  # values of the code under test may do anything
                    continue
            text = _text(arguments)
            if text not in seen:
                seen.add(text)
                yield Call(key, arguments, call.order)


def promised(calls: Sequence[Call], annotations: Callable[[tuple[str, int]], Mapping[str, Any]]) -> Iterator[Call]:
    """Calls with values that a function's annotations allow and no observed call has: fractions for ``float``, ``None``.

    A patch that is right for the whole numbers of the tests alone differs here from one that is right for all.
    """
    for key, group in _by_function(calls).items():
        for name, annotation in annotations(key).items():
            seen = [call.arguments[name] for call in group if name in call.arguments]
            text = (
                annotation if isinstance(annotation, str) else f"{getattr(annotation, '__name__', '')} {annotation!r}"
            )
            made: list[tuple[Call, Any]] = []
            if _FRACTIONS.search(text) and not any(_fractional(value) for value in seen):
                made += [
                    (call, _with_half(call.arguments[name])) for call in group[:PROMISED] if name in call.arguments
                ]
            if seen and _NOTHING.search(text) and not any(value is None for value in seen):
                made.append((group[0], None))
            for call, value in made:
                if value is not call.arguments.get(name):
                    yield Call(key, {**call.arguments, name: value}, call.order)


def beyond(calls: Sequence[Call]) -> Iterator[Call]:
    """Calls with what a parameter's kind of value may well hold and no observed call has.

    Numbers below zero among those of a sequence; digits, spaces and letters of the other case in texts of letters: words alone
    do not tell ``not c.islower()`` from ``c.isupper()``. Texts without letters may be of a language of their own (brackets,
    digits) and single numbers may be counts: these stay as they are.
    """
    for key, group in _by_function(calls).items():
        for name in dict.fromkeys(name for call in group for name in call.arguments):
            having = [call for call in group if name in call.arguments and _parts(call.arguments[name])]
            changes = _unseen([part for call in having for part in _parts(call.arguments[name])])
            for number, call in enumerate(itertools.islice(itertools.cycle(having), BEYOND)) if changes else ():
                value = call.arguments[name]
                changed = _with_part(value, number, changes[number % len(changes)])
                if changed is not value:
                    yield Call(key, {**call.arguments, name: changed}, call.order)


def _parts(value: Any) -> list[Any]:
    """A text itself, the elements of a sequence."""
    if type(value) is str:
        return [value]
    return list(value) if type(value) in (list, tuple) else []


def _unseen(parts: Sequence[Any]) -> list[Callable[[Any, int], Any]]:
    """Changes of one part; each gives the part itself where it is of another type."""
    changes: list[Callable[[Any, int], Any]] = []
    characters = {c for part in parts if type(part) is str for c in part}
    if any(c.isalpha() for c in characters):
        for new, seen in (("7", str.isdigit), (" ", str.isspace), ("q", str.islower), ("Q", str.isupper)):
            if not any(seen(c) for c in characters):
                changes.append(functools.partial(_inserted, new))
    numbers = [part for part in parts if type(part) in (int, float)]
    if numbers and all(number >= 0 for number in numbers):
        changes.append(lambda part, at: -part if type(part) in (int, float) else part)
    return changes


def _inserted(new: str, text: Any, at: int) -> Any:
    if type(text) is not str:
        return text
    at %= len(text) + 1
    return text[:at] + new + text[at:]


def _with_part(value: Any, number: int, change: Callable[[Any, int], Any]) -> Any:
    if type(value) is str:
        return change(value, number)
    i = number % len(value)
    part = change(value[i], number)
    return value if part == value[i] else type(value)([*value[:i], part, *value[i + 1 :]])


def _fractional(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(_fractional(element) for element in value)
    return type(value) is float and not value.is_integer()


def _with_half(value: Any) -> Any:
    """The value with a half taken off its last whole number; itself where it has none."""
    if type(value) in (int, float):
        return value - 0.5
    if type(value) in (list, tuple) and value:
        return type(value)([*value[:-1], _with_half(value[-1])])
    return value


def _text(arguments: dict[str, Any]) -> str:
    """Equal for equal arguments."""
    from pytest_selfheal.propose.search.behaviour import canonical

    try:
        return ", ".join(f"{name}={canonical(value)}" for name, value in arguments.items())
    except Exception:
        return ""
