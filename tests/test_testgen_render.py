"""Values as source: what is written evaluates to an equal value, and what cannot be rebuilt is refused in words."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable, quoted


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Crate:
    name: str
    size: int = 3
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", kw_only=True)


def rebuilt(value: Any) -> tuple[str, Any]:
    renderer = Renderer()
    source = renderer.render(value)
    space: dict[str, Any] = {}
    for module, name in renderer.imports:
        exec(f"from {module} import {name}" if name else f"import {module}", space)
    return source, eval(source, space)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2.5,
        1 + 2j,
        "it's",
        'say "x"',
        "ü\n",
        b"\x00a",
        [],
        [1, [2]],
        (1,),
        {"a": {1, 2}},
        set(),
        frozenset({1}),
        range(3),
        bytearray(b"x"),
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        uuid.UUID(int=5),
        datetime.date(2020, 2, 29),
        datetime.datetime(2020, 1, 2, 3, 4, 5),
        datetime.timedelta(days=1, seconds=2),
        collections.Counter("aab"),
        collections.OrderedDict(a=1),
        collections.deque([1, 2]),
        pathlib.PurePosixPath("a/b"),
        Colour.RED,
        Pair(1, "x"),
        Crate("box"),
        Crate("box", 4, ["new"], note="heavy"),
        len,
        collections.OrderedDict,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_source_makes_an_equal_value(value: Any) -> None:
    _, again = rebuilt(value)
    assert again == value
    if not isinstance(value, pathlib.PurePath):
        assert type(again) is type(value)


def test_floats_without_digits() -> None:
    assert math.isnan(rebuilt(math.nan)[1])
    assert rebuilt(-math.inf)[1] == -math.inf


def test_defaults_of_dataclasses_are_left_out() -> None:
    assert rebuilt(Crate("box"))[0] == 'Crate("box")'
    assert rebuilt(Crate("box", tags=["x"]))[0] == 'Crate("box", tags=["x"])'


def test_sets_are_written_in_one_order_whatever_their_own() -> None:
    assert rebuilt({"b", "a", "c"})[0] == '{"a", "b", "c"}'


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "object of object that cannot be rebuilt"),
        (lambda: 1, "no name to import it by"),
        (pathlib.PurePosixPath("/etc/passwd"), "an absolute path"),
        ("see /tmp/x/y", "an absolute path"),
        (list(range(1000)), "too large"),
        (datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc), "time zone"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(value: Any, words: str) -> None:
    with pytest.raises(Unrenderable, match=words):
        Renderer().render(value)


def test_names_that_only_tests_define_are_refused() -> None:
    with pytest.raises(Unrenderable, match="only the tests define"):
        Renderer(is_test=lambda module: module == __name__).render(Crate("box"))


def test_a_cyclic_value_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Unrenderable, match="nested too deeply"):
        Renderer().render(loop)


@pytest.mark.parametrize(("text", "shown"), [("a", '"a"'), ('"', "'\"'"), ("it's", '"it\'s"')])
def test_quotes(text: str, shown: str) -> None:
    assert quoted(text) == shown
