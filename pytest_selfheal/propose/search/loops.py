"""Loops over a collection, with what may be made of an element and asked of it: the inner part of one idiom.

The kinds of the elements, as the tests pass them, keep it small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind, of_value
from pytest_selfheal.propose.search.source import Region

_COLLECTIONS = 3
"""Collections in scope that are tried, nearest first; the work grows with them."""
_OTHERS = 4

OF_NUMBERS = ("{x} ** 2", "{x} * 2", "{x} * {x} * {x}", "abs({x})", "-{x}", "str({x})", "{x} + 1", "{x} - 1")
OF_TEXTS = ("len({x})", "{x}[0]", "{x}[-1]", "{x}.lower()", "{x}.upper()", "{x}.strip()", "int({x})", "{x}[::-1]",
             "{x}.capitalize()", "ord({x})", "{x}[1:]", "float({x})", "{x}.swapcase()")  # fmt: skip
OF_ROWS = ("{x}[0]", "{x}[1]", "{x}[-1]", "len({x})", "sum({x})", "max({x})", "min({x})", "sorted({x})", "tuple({x})",
            "list({x})", "{x}[::-1]", "set({x})", "{x}[0] + {x}[1]", "{x}[0] * {x}[1]")  # fmt: skip
_NUMBER_TESTS = ("{x} % 2 == 0", "{x} % 2 != 0", "{x} > 0", "{x} < 0", "{x} >= 0", "{x} != 0", "{x} == 0", "{x} > 1")
_TEXT_TESTS = ("{x}.isdigit()", "{x}.isalpha()", "{x}.isupper()", "{x}.islower()", "{x}.isalnum()", "{x}.isspace()",
               "not {x}.isdigit()", "not {x}.isspace()")  # fmt: skip
_KIND_TESTS = ("isinstance({x}, int)", "isinstance({x}, str)", "isinstance({x}, float)", "isinstance({x}, (list, tuple))",
               "not isinstance({x}, str)", "isinstance({x}, tuple)")  # fmt: skip
_WITH_NUMBER = (
    "{x} + {n}",
    "{x} - {n}",
    "{x} * {n}",
    "{x} // {n}",
    "{x} % {n}",
    "{x} ** {n}",
    "{x} / {n}",
    "{n} - {x}",
)
_NUMBER_BY = ("{x} == {n}", "{x} != {n}", "{x} > {n}", "{x} < {n}", "{x} >= {n}", "{x} <= {n}", "{x} % {n} == 0")
_SIZE_BY = ("len({x}) == {n}", "len({x}) > {n}", "len({x}) >= {n}", "len({x}) < {n}", "len({x}) != {n}")
_OF_PAIRS = ("{a} + {b}", "{b} - {a}", "{a} - {b}", "{a} * {b}", "{b} // {a}", "{a} % {b}", "{b} % {a}", "{a} / {b}",
             "{b} / {a}", "{a} // {b}", "abs({a} - {b})", "abs({a} * {b})", "{b}", "({b}, {a})", "({a}, {b})", "max({a}, {b})", "min({a}, {b})")  # fmt: skip
_PAIR_TESTS = ("{a} == {b}", "{a} != {b}", "{a} < {b}", "{a} <= {b}", "{a} > {b}", "{a} >= {b}")


@dataclass(frozen=True)
class Loop:
    """``for names in iterable``, with what may be made of an element and asked of it."""

    head: str
    plain: str
    """The element as it is."""
    made: tuple[str, ...]
    asked: tuple[str, ...]

    def likely(self) -> Iterator[str]:
        """What stands between the brackets: the element, with a test, or something made of it."""
        yield f"{self.plain} {self.head}"
        yield from (f"{self.plain} {self.head} if {test}" for test in self.asked)
        yield from (f"{element} {self.head}" for element in self.made)

    def others(self) -> Iterator[str]:
        """Something made of those elements that pass a test."""
        yield from (f"{element} {self.head} if {test}" for test in self.asked[:12] for element in self.made[:8])

    def tests(self) -> Iterator[str]:
        """For ``all`` and ``any``."""
        return (f"{test} {self.head}" for test in self.asked)


def _elements(region: Region, context: Context, name: str) -> list[object]:
    """Elements of the collections that the tests pass for a parameter."""
    values: list[object] = []
    parameters = [p for p in region.parameters if p not in ("self", "cls")]
    if name in parameters:
        at = parameters.index(name)
        for row in context.calls.get(region.qualname.rpartition(".")[2], ()):
            if at < len(row):
                values.append(row[at])
    found: list[object] = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, (list, tuple, set, frozenset, str)):
            found += value
    return found[:60]


def loops(region: Region, context: Context, leaves: Sequence[tuple[str, Kind]]) -> Iterator[Loop]:
    """Loops over ``leaves`` (names in scope and their kinds), and over numbers up to them."""
    collections = [(n, k) for n, k in leaves if k in COLLECTIONS | {"any", "iterator"}][:_COLLECTIONS]
    others = [(n, k) for n, k in leaves][: _OTHERS + _COLLECTIONS]
    x = _fresh("x", leaves)
    for name, kind in collections:
        elements = _elements(region, context, name)
        rest = [(n, k) for n, k in others if n != name]
        made, asked = _about(x, elements, rest)
        if kind == "dict":
            yield Loop(f"for {x} in {name}.values()", x, made, asked)
            k, v = _fresh("k", leaves), _fresh("v", leaves)
            yield Loop(
                f"for {k}, {v} in {name}.items()", k, (v, f"({k}, {v})", f"({v}, {k})"), _about(v, elements, rest)[1]
            )
        yield Loop(f"for {x} in {name}", x, made, asked)
        a, b = _fresh("a", leaves), _fresh("b", leaves)
        row = _fresh("row", leaves)
        nested = [inner for element in elements if isinstance(element, (list, tuple, set)) for inner in element]
        if nested or not elements:
            inner_made, inner_asked = _about(x, nested, rest)
            over = f"{name}.values()" if kind == "dict" else name
            yield Loop(f"for {row} in {over} for {x} in {row}", x, inner_made, inner_asked)
        if elements and all(isinstance(element, (list, tuple)) and len(element) == 2 for element in elements):
            yield _pairs(f"for {a}, {b} in {name}", a, b)
        if kind not in ("dict", "set"):
            yield _pairs(f"for {a}, {b} in zip({name}, {name}[1:])", a, b)
            i = _fresh("i", leaves)
            yield Loop(f"for {i}, {x} in enumerate({name})", x, (i, f"({i}, {x})", f"{i} * {x}"), (f"{i} % 2 == 0", f"{i} % 2 == 1", *asked[:12]))  # fmt: skip
        for other, second in collections:
            if other != name and kind not in ("dict", "set") and second not in ("dict", "set"):
                yield _pairs(f"for {a}, {b} in zip({name}, {other})", a, b)
    for name, kind in leaves[:_OTHERS]:
        if kind in ("int", "any"):
            made, asked = _about(x, [1], [(n, k) for n, k in others if n != name] + [(name, kind)])
            yield Loop(f"for {x} in range({name})", x, made, asked)
            yield Loop(f"for {x} in range(1, {name} + 1)", x, made, asked)


def _pairs(head: str, a: str, b: str) -> Loop:
    return Loop(head, a, filled(_OF_PAIRS, a=a, b=b), filled(_PAIR_TESTS, a=a, b=b))


def _about(
    x: str, elements: Sequence[object], others: Sequence[tuple[str, Kind]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What can be made of an element and what can be asked of it."""
    kinds = {of_value(element) for element in elements}
    unknown = not kinds or "any" in kinds
    made: list[str] = []
    asked: list[str] = []
    if len(kinds) > 1 or unknown:
        asked += filled(_KIND_TESTS, x=x)
    if kinds & NUMBERS or unknown:
        made += filled(OF_NUMBERS, x=x)
        asked += filled(_NUMBER_TESTS, x=x)
    if "str" in kinds or unknown:
        made += filled(OF_TEXTS, x=x)
        asked += filled(_TEXT_TESTS, x=x)
    if kinds & {"list", "tuple", "set", "dict"} or unknown:
        made += filled(OF_ROWS, x=x)
    sized = bool(kinds & COLLECTIONS) or unknown
    for name, kind in others[:_OTHERS]:
        if kind in NUMBERS | {"any"}:
            made += filled(_WITH_NUMBER if kinds & NUMBERS or unknown else (), x=x, n=name)
            asked += filled(_NUMBER_BY if kinds & NUMBERS or unknown else ("{x} == {n}", "{x} != {n}"), x=x, n=name)
            asked += filled(_SIZE_BY if sized else (), x=x, n=name)
            made += filled(("{x}[{n}]",) if sized else (), x=x, n=name)
        elif kind == "str":
            asked += filled(
                ("{x} == {n}", "{x} != {n}", "{n} in {x}", "{n} not in {x}", "{x}.startswith({n})"), x=x, n=name
            )
        if kind in COLLECTIONS | {"any"}:
            asked += filled(("{x} in {n}", "{x} not in {n}"), x=x, n=name)
            made += filled(("{n}.count({x})",) if kind != "set" else (), x=x, n=name)
    asked.append(x)
    return tuple(dict.fromkeys(made)), tuple(dict.fromkeys(asked))


def filled(forms: Iterable[str], **names: str) -> tuple[str, ...]:
    return tuple(form.format(**names) for form in forms)


def _fresh(name: str, leaves: Sequence[tuple[str, Kind]]) -> str:
    """A loop variable that hides nothing."""
    taken = {n for n, _ in leaves}
    while name in taken:
        name += "_"
    return name
