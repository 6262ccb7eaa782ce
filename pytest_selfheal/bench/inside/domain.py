"""Inputs like those that the tests use: the domain they span, and mutants within it.

The domain is learned for each place of an input (argument 1, an item of argument 1, the values under a dictionary's
key …): types, ranges of numbers, lengths, alphabets and words of texts, and what held for *every* recorded value there:
sorted, without repetition, fixed length. A mutant keeps all of that, so that it is an input the function was made for.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

Call = tuple[tuple[Any, ...], dict[str, Any]]
Place = tuple[Any, ...]

_WORDS = re.compile(r"\w+|\W+")


class Slot:
    """What was seen at one place."""

    # A plain class: dataclasses would cost every scorer's process half of its start.
    def __init__(self) -> None:
        self.numbers: list[Any] = []
        self.lengths: set[int] = set()
        self.alphabet: set[str] = set()
        self.words: set[str] = set()
        self.values: list[Any] = []
        self.is_sorted = True
        self.is_unique = True
        self.sizes_seen = 0

    def see(self, value: Any) -> None:
        if len(self.values) < 200:
            self.values.append(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.numbers.append(value)
        if isinstance(value, str):
            self.lengths.add(len(value))
            self.alphabet.update(value)
            self.words.update(_WORDS.findall(value))
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            self.lengths.add(len(value))
        if isinstance(value, (list, tuple)):
            self._see_order(value)

    def _see_order(self, value: Sequence[Any]) -> None:
        self.sizes_seen += len(value) > 1
        try:
            self.is_sorted &= list(value) == sorted(value)
        except TypeError:
            self.is_sorted = False
        self.is_unique &= not any(item in value[:index] for index, item in enumerate(value))

    @property
    def keeps_order(self) -> bool:
        """Whether being sorted looks meant: seen more than twice, without an exception."""
        return self.is_sorted and self.sizes_seen > 2

    @property
    def keeps_unique(self) -> bool:
        return self.is_unique and self.sizes_seen > 2


class Domain:
    """What the recorded calls have in common, place by place."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = list(calls)
        self.slots: dict[Place, Slot] = {}
        for positional, named in self.calls:
            for index, value in enumerate(positional):
                self._see((index,), value)
            for name, value in named.items():
                self._see((name,), value)
        self.ordered = self._ordered_pairs()

    def _see(self, place: Place, value: Any) -> None:
        self.slots.setdefault(place, Slot()).see(value)
        for inner, item in children(place, value):
            self._see(inner, item)

    def _ordered_pairs(self) -> set[tuple[int, int]]:
        """Pairs of numeric arguments of which the first was never above the second, in at least three calls."""
        pairs: set[tuple[int, int]] = set()
        width = min((len(positional) for positional, _ in self.calls), default=0)
        for first in range(width):
            for second in range(width):
                seen = [(p[first], p[second]) for p, _ in self.calls if _is_number(p[first]) and _is_number(p[second])]
                always = first != second and len(seen) == len(self.calls) >= 3 and all(a <= b for a, b in seen)
                if always and any(a != b for a, b in seen):
                    pairs.add((first, second))
        return pairs


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def children(place: Place, value: Any) -> list[tuple[Place, Any]]:
    """The parts of a container with their places. Items of a list share one place; those of a short tuple have each their own."""
    if isinstance(value, list):
        return [((*place, "item"), item) for item in value]
    if isinstance(value, tuple):
        return [((*place, "tuple", index if len(value) <= 4 else "item"), item) for index, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [((*place, "item"), item) for item in value]
    if isinstance(value, dict):
        parts: list[tuple[Place, Any]] = [((*place, "key"), key) for key in value]
        return parts + [((*place, "value"), item) for item in value.values()]
    # Objects may hold each other in circles; nobody's input is nested this deep.
    if len(place) < 24 and _is_plain_object(value):
        return [((*place, "attribute", name), item) for name, item in vars(value).items()]
    return []


def _is_plain_object(value: Any) -> bool:
    return hasattr(value, "__dict__") and not callable(value) and not isinstance(value, ModuleType)


class Mutator:
    """Makes mutants of a domain's calls; the same seed gives the same ones."""

    def __init__(self, domain: Domain, seed: int) -> None:
        self.domain = domain
        self.random = random.Random(seed)

    def mutant(self) -> Call:
        """A recorded call with one to three changes."""
        positional, named = copy.deepcopy(self.random.choice(self.domain.calls))
        arguments = list(positional)
        keys: list[int | str] = [*range(len(arguments)), *named]
        if not keys:
            return tuple(arguments), named
        for _ in range(self.random.choice((1, 1, 2, 3))):
            key = self.random.choice(keys)
            if isinstance(key, int):
                arguments[key] = self.change((key,), arguments[key])
            else:
                named[key] = self.change((key,), named[key])
        for first, second in self.domain.ordered:
            if first < len(arguments) and second < len(arguments) and arguments[first] > arguments[second]:
                arguments[first], arguments[second] = arguments[second], arguments[first]
        return tuple(arguments), named

    def change(self, place: Place, value: Any) -> Any:
        """A value like ``value`` that may stand at ``place``."""
        slot = self.domain.slots.get(place)
        if slot is None:
            return value
        if isinstance(value, (list, tuple)):
            return self._sequence(place, value, slot)
        if isinstance(value, (set, frozenset)):
            return type(value)(self._resized(place, list(value), slot))
        if isinstance(value, dict):
            return self._mapping(place, value, slot)
        if _is_plain_object(value) and vars(value) and len(place) < 24:
            name = self.random.choice(sorted(vars(value)))
            vars(value)[name] = self.change((*place, "attribute", name), vars(value)[name])
            return value
        if self.random.random() < 0.3:
            # Whatever was seen here is of the domain, of whatever type.
            return copy.deepcopy(self.random.choice(slot.values))
        if isinstance(value, bool):
            return not value if len({v for v in slot.values if isinstance(v, bool)}) > 1 else value
        if isinstance(value, int):
            return self._integer(value, slot)
        if isinstance(value, float):
            return self._real(value, slot)
        if isinstance(value, str):
            return self._text(value, slot)
        return value

    def _integer(self, value: int, slot: Slot) -> int:
        whole = [number for number in slot.numbers if isinstance(number, int)] or [value]
        low, high = min(whole), max(whole)
        near = value + self.random.choice((-2, -1, 1, 2))
        return near if low <= near <= high and self.random.random() < 0.5 else self.random.randint(low, high)

    def _real(self, value: float, slot: Slot) -> float:
        real = [number for number in slot.numbers if number == number and abs(number) != float("inf")] or [0.0]
        low, high = min(real), max(real)
        digits = max((len(repr(float(n)).partition(".")[2]) for n in real if "e" not in repr(float(n))), default=3)
        drawn = round(self.random.uniform(low, high), min(digits, 12))
        return float(min(max(drawn, low), high))

    def _text(self, value: str, slot: Slot) -> str:
        low, high = min(slot.lengths, default=0), max(slot.lengths, default=0)
        words = _WORDS.findall(value)
        # Where texts are made of words that come again, whole words are what the function reads.
        if len(words) > 2 and self.random.random() < 0.6:
            units, pool, glue = words, sorted(slot.words), ""
        else:
            units, pool, glue = list(value), sorted(slot.alphabet), ""
        for _ in range(self.random.choice((1, 1, 2, 4))):
            units = self._edited(units, pool)
        text = glue.join(units)
        if len(text) > high:
            text = text[:high]
        while len(text) < low and slot.alphabet:
            text += self.random.choice(sorted(slot.alphabet))
        return text

    def _edited(self, units: list[Any], pool: Sequence[Any]) -> list[Any]:
        units = list(units)
        kind = self.random.choice(("replace", "insert", "delete", "swap", "repeat", "shuffle"))
        index = self.random.randrange(len(units)) if units else 0
        if kind == "insert" and pool:
            units.insert(index, self.random.choice(pool))
        elif kind == "replace" and units and pool:
            units[index] = self.random.choice(pool)
        elif kind == "delete" and units:
            del units[index]
        elif kind == "swap" and len(units) > 1:
            other = self.random.randrange(len(units))
            units[index], units[other] = units[other], units[index]
        elif kind == "repeat" and units:
            units.insert(index, units[index])
        elif kind == "shuffle":
            self.random.shuffle(units)
        return units

    def _sequence(self, place: Place, value: Any, slot: Slot) -> Any:
        fixed = len(slot.lengths) == 1
        if isinstance(value, tuple) and (fixed or len(value) <= 4):
            items = list(value)
            if items:
                index = self.random.randrange(len(items))
                inner = children(place, value)[index][0]
                items[index] = self.change(inner, items[index])
            return type(value)(items) if type(value) is tuple else value
        items = list(value)
        if fixed:
            for _ in range(self.random.choice((1, 2, 3))):
                items = self._one_item(place, items)
        else:
            items = self._resized(place, items, slot)
        if slot.keeps_unique:
            items = [item for index, item in enumerate(items) if item not in items[:index]]
        if slot.keeps_order:
            items = sorted(items)
        return tuple(items) if isinstance(value, tuple) else items

    def _one_item(self, place: Place, items: list[Any]) -> list[Any]:
        if not items:
            return items
        index = self.random.randrange(len(items))
        if self.random.random() < 0.3:
            other = self.random.randrange(len(items))
            items[index], items[other] = items[other], items[index]
        else:
            items[index] = self.change((*place, "item"), items[index])
        return items

    def _resized(self, place: Place, items: list[Any], slot: Slot) -> list[Any]:
        inner = self.domain.slots.get((*place, "item"))
        low, high = min(slot.lengths), max(slot.lengths)
        for _ in range(self.random.choice((1, 1, 2, 4))):
            if items and self.random.random() < 0.5:
                items = self._one_item(place, items)
            else:
                items = self._edited(items, copy.deepcopy(inner.values) if inner else [])
        while len(items) > high:
            del items[self.random.randrange(len(items))]
        while len(items) < low and inner and inner.values:
            items.append(copy.deepcopy(self.random.choice(inner.values)))
        return items

    def _mapping(self, place: Place, value: dict[Any, Any], slot: Slot) -> dict[Any, Any]:
        keys = self.domain.slots.get((*place, "key"))
        values = self.domain.slots.get((*place, "value"))
        made = dict(value)
        if not keys or not values:
            return made
        kind = self.random.choice(("value", "value", "add", "remove"))
        if kind == "add" and len(made) < max(slot.lengths):
            made[copy.deepcopy(self.random.choice(keys.values))] = copy.deepcopy(self.random.choice(values.values))
        elif kind == "remove" and made and len(made) > min(slot.lengths):
            del made[self.random.choice(list(made))]
        elif made:
            key = self.random.choice(list(made))
            made[key] = self.change((*place, "value"), made[key])
        return made
