"""New inputs from known ones, and smaller ones. Both stay within what is known of a parameter: types, ranges, sizes."""

from __future__ import annotations

import ast
import copy
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_selfheal.propose.search.inputs import Pool
from pytest_selfheal.propose.search.observe import Call
from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_SMALLER = 40
LARGE = 1e9
"""Numbers are not multiplied beyond this: a size or count that large only takes time."""


@dataclass
class _Slot:
    """What is known of the values in one place."""

    least: float | None = None
    empty: bool = False
    """Whether an empty container was seen."""
    values: list[Any] = field(default_factory=list)


class Variation:
    """Mutates the literals in inputs' source; ``known`` says what values look like.

    With ``landmarks`` (``None``: stay within what is known), values may become these and their neighbours, numbers may grow,
    and arguments of one input, or ``spares``, go into another.
    """

    def __init__(
        self,
        known: Iterable[Input],
        rng: random.Random,
        landmarks: Sequence[Any] | None = None,
        spares: Sequence[tuple[Argument, frozenset[Name]]] = (),
    ) -> None:
        known = list(known)
        self._rng = rng
        self._free = landmarks is not None
        self._landmarks = [value for value in landmarks or () if type(value) in (int, float, str)]
        self._sources: dict[str, list[tuple[Argument, frozenset[Name]]]] = {}
        self._slots: dict[str, _Slot] = {}
        calls: list[Call] = []
        for given in known:
            for argument in given.arguments:
                others = self._sources.setdefault(argument.name, [])
                if len(others) < 40 and not given.setup:
                    others.append((argument, given.imports))
                for place, value in _literals(argument.source):
                    calls.append(Call(("", 0), {_slot(argument, place): value}, ()))
                    self._learn(self._slots.setdefault(_slot(argument, place), _Slot()), value, 3)
        self._pool = Pool(calls, rng)
        for spare in spares:
            self._sources.setdefault(spare[0].name, []).append(spare)

    def _learn(self, slot: _Slot, value: Any, depth: int) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            slot.least = value if slot.least is None else min(slot.least, value)
        elif isinstance(value, (str, bytes, list, tuple, dict, set)):
            slot.empty = slot.empty or not value
            if depth and not isinstance(value, (str, bytes)):
                for inner in [*value, *(value.values() if isinstance(value, dict) else ())][:30]:
                    self._learn(slot, inner, depth - 1)

    # ------------------------------------------------------------------ mutants of inputs

    def mutated(self, given: Input) -> Input | None:
        """A neighbour of ``given``; ``None`` when this attempt led nowhere."""
        rng = self._rng
        if self._free and rng.random() < 0.2:
            return self._recombined(given)
        spots = [(i, place, value) for i, a in enumerate(given.arguments) for place, value in _literals(a.source)]
        if not spots:
            return None
        changed = given
        for _ in range(1 if rng.random() < 0.7 else 2):
            i, place, value = rng.choice(spots)
            argument = changed.arguments[i]
            try:
                new = self._landmark(value)
                if new is None:
                    new = self._pool.mutated(_slot(argument, place), copy.deepcopy(value))
                source = _replaced(argument.source, place, new)
            except (Unrenderable, SyntaxError, ValueError, IndexError, TypeError, AttributeError, OverflowError):
                return None
            changed = _with(changed, i, source)
        return None if changed.key == given.key else replace(changed, observed=False)

    def _recombined(self, given: Input) -> Input | None:
        """With an argument of another input: instead of its own, or an optional one that it did not have."""
        rng = self._rng
        if given.setup or not self._sources:
            return None
        name = rng.choice(list(self._sources))
        argument, imports = rng.choice(self._sources[name])
        at = next((i for i, own in enumerate(given.arguments) if own.name == name), None)
        arguments = list(given.arguments)
        if at is not None:
            arguments[at] = replace(arguments[at], source=argument.source)
        elif argument.keyword:
            arguments.append(argument)
        else:
            return None
        return replace(given, arguments=tuple(arguments), imports=given.imports | imports, observed=False)

    def _landmark(self, value: Any) -> Any:
        """Now and then a constant of the code under test, or its neighbour, of the value's type; or a number that grew."""
        rng = self._rng
        if not self._free or type(value) not in (int, float, str) or rng.random() > 0.3:
            return None
        chosen = rng.choice(self._landmarks) if self._landmarks else None
        if isinstance(value, str):
            if isinstance(chosen, str) and len(chosen) == 1 and rng.random() < 0.7:
                at = rng.randint(0, len(value))
                return value[:at] + chosen + value[at + rng.choice((0, 1)) :]
            return chosen if isinstance(chosen, str) else None
        if chosen is None or isinstance(chosen, str) or rng.random() < 0.3:
            return rng.choice((value * 2, value * 10, value * 60, -value))
        if not math.isfinite(chosen):
            return chosen
        if abs(value * chosen) < LARGE and rng.random() < 0.3:
            return type(value)(value * chosen)
        return type(value)(chosen + rng.choice((-1, 0, 1)))

    # ------------------------------------------------------------------ smaller ones

    def smaller(self, given: Input) -> list[Input]:
        """One step smaller, within what was seen: fewer optional arguments, shorter texts and lists, lesser numbers."""
        found: list[Input] = []
        for i, argument in enumerate(given.arguments):
            if argument.keyword and i == len(given.arguments) - 1:
                found.append(replace(given, arguments=given.arguments[:i], observed=False))
            for place, value in _literals(argument.source):
                slot = self._slots.get(_slot(argument, place), _Slot())
                for less in self._less(slot, value, 2):
                    try:
                        source = _replaced(argument.source, place, less)
                    except (Unrenderable, SyntaxError, ValueError, IndexError):
                        continue
                    if source != argument.source:
                        found.append(replace(_with(given, i, source), observed=False))
        found.sort(key=lambda one: one.cost)
        return found[:MAX_SMALLER]

    def _less(self, slot: _Slot, value: Any, depth: int) -> Iterator[Any]:
        size = len(value) if isinstance(value, (str, bytes, list, tuple, dict)) else 0
        may_shrink = size > 1 or (size == 1 and slot.empty)
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, int):
            for less in (0, 1, 2, value // 2, value - 1 if value > 0 else value + 1):
                if abs(less) < abs(value) and (slot.least is None or less >= slot.least):
                    yield less
        elif isinstance(value, float):
            for less_float in (float(int(value)), round(value, 1)):
                if len(repr(less_float)) < len(repr(value)) and (slot.least is None or less_float >= slot.least):
                    yield less_float
        elif isinstance(value, (str, bytes, list, tuple)):
            if may_shrink:
                yield from self._parts(value)
            for i, inner in enumerate(value[:6] if depth and isinstance(value, (list, tuple)) else ()):
                for less in self._less(slot, inner, depth - 1):
                    yield type(value)([*value[:i], less, *value[i + 1 :]])
        elif isinstance(value, dict):
            if may_shrink:
                yield from ({k: v for k, v in value.items() if k != gone} for gone in list(value)[:8])
        elif isinstance(value, (set, frozenset)) and len(value) > 1:
            yield from (value - {gone} for gone in sorted(value, key=repr)[:8])

    @staticmethod
    def _parts(value: Any) -> Iterator[Any]:
        """Both halves, and all but one element."""
        half = len(value) // 2
        if half:
            yield value[:half]
            yield value[half:]
        yield from (value[:i] + value[i + 1 :] for i in range(min(len(value), 12)))


_Place = tuple[int, ...]
"""Where a literal is in a call's source: the numbers of the arguments on the way to it."""


def _slot(argument: Argument, place: _Place) -> str:
    return argument.name + "".join(f".{i}" for i in place)


def _literals(source: str) -> list[tuple[_Place, Any]]:
    try:
        node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(_walk(node, ()))


def _walk(node: ast.expr, place: _Place) -> Iterator[tuple[_Place, Any]]:
    try:
        yield place, ast.literal_eval(node)
        return
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    for i, child in enumerate(_children(node)):
        yield from _walk(child, (*place, i))


def _children(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return [*node.args, *(k.value for k in node.keywords)]
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return list(node.elts)
    if isinstance(node, ast.Dict):
        return list(node.values)
    return []


def _replaced(source: str, place: _Place, value: Any) -> str:
    node = ast.parse(source, mode="eval").body
    new = ast.parse(Renderer().render(value), mode="eval").body
    return _source(_substituted(node, place, new))


def _substituted(node: Any, place: _Place, new: ast.expr) -> Any:
    if not place:
        return new
    i, rest = place[0], place[1:]
    if isinstance(node, ast.Call):
        if i < len(node.args):
            node.args[i] = _substituted(node.args[i], rest, new)
        else:
            keyword = node.keywords[i - len(node.args)]
            keyword.value = _substituted(keyword.value, rest, new)
    elif isinstance(node, ast.Dict):
        node.values[i] = _substituted(node.values[i], rest, new)
    else:
        node.elts[i] = _substituted(node.elts[i], rest, new)
    return node


def _source(node: Any) -> str:
    """Like :func:`ast.unparse`, with literals as :class:`Renderer` writes them."""
    try:
        return Renderer().render(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, Unrenderable):
        pass
    if isinstance(node, ast.Call):
        parts = [_source(a) for a in node.args]
        parts += [f"{k.arg}={_source(k.value)}" if k.arg else f"**{_source(k.value)}" for k in node.keywords]
        return f"{ast.unparse(node.func)}({', '.join(parts)})"
    if isinstance(node, ast.List):
        return f"[{', '.join(_source(e) for e in node.elts)}]"
    if isinstance(node, ast.Tuple):
        return f"({', '.join(_source(e) for e in node.elts)}{',' if len(node.elts) == 1 else ''})"
    if isinstance(node, ast.Dict) and None not in node.keys:
        return "{" + ", ".join(f"{_source(k)}: {_source(v)}" for k, v in zip(node.keys, node.values, strict=True)) + "}"
    return ast.unparse(node)


def _with(given: Input, number: int, source: str) -> Input:
    arguments = list(given.arguments)
    arguments[number] = replace(arguments[number], source=source)
    return replace(given, arguments=tuple(arguments))
