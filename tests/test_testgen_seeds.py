"""First inputs for functions that no test calls: what hints, defaults and the body say of parameters."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_selfheal.testgen.inside.render import Renderer
from pytest_selfheal.testgen.inside.seeds import Seeds
from pytest_selfheal.testgen.inside.subject import find
from pytest_selfheal.testgen.job import Target

MODULE = '''\
from __future__ import annotations

import argparse
import enum
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from nowhere import Missing

UNITS = {"kg": 1000, "lb": 454}


class Speed(enum.Enum):
    SLOW = 1
    FAST = 2


def until(when: dt.timedelta, how: Missing = None):
    return when.days


def weight(amount, unit):
    return amount * UNITS[unit]


def move(speed):
    return Speed[speed.upper()].value


def shown(value):
    try:
        return str(int(value))
    except ValueError:
        return "none"


def finite(value):
    return value if math.isfinite(value) else 0


def longest(iterable):
    try:
        return len(iterable)
    except TypeError:
        return sum(1 for _ in iterable)


def ranked(items, key=None):
    if key is not None and not callable(key):
        key = [key].index
    return sorted(items, key=key)


def padded(text, width=8, *rest, fill: bool = True):
    return text.ljust(width) if fill else text


def nothing_known(value: Missing):
    return value


def read_size(text):
    """Bytes.

    >>> read_size("3 MiB")
    3145728
    """
    return int(text.split()[0]) << 20


def larger(text, limit: int):
    return read_size(text) > limit


def command(options: argparse.Namespace):
    return options.verbose or read_size(options.size)


def area(shape):
    return shape.width * shape.height if shape.kind == "box" else 0


def opened(handle):
    return handle.acquire() + handle.width


class Lazy:
    @property
    def part(self):
        raise ImportError("not installed")


LAZY = Lazy()


def lazily(text):
    return LAZY.part(text)


def joiners(label):
    return [c for c in label if ord(c) == 0x200D]
'''


@pytest.fixture
def seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Seeds]]:
    (tmp_path / "seeded.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    names = [line[4 : line.index("(")] for line in MODULE.splitlines() if line.startswith("def ")]
    yield {name: Seeds(find(Target("seeded.py", name), str(tmp_path)), MODULE, Renderer()) for name in names}
    sys.modules.pop("seeded", None)


def sources(seeds: Seeds, name: str) -> set[str]:
    inputs = [*(a for given in seeds.inputs() for a in given.arguments), *(a for a, _ in seeds.spares())]
    return {a.source for a in inputs if a.name == name}


@pytest.mark.parametrize(
    ("function", "parameter", "source"),
    [
        pytest.param("until", "when", "timedelta(days=1)", id="a type that is imported for type checkers only"),
        pytest.param("weight", "unit", '"kg"', id="a key of the table that is asked"),
        pytest.param("move", "speed", '"FAST"', id="a name of the enumeration that is asked"),
        pytest.param("shown", "value", "[1]", id="another type, where the body copes with it"),
        pytest.param("finite", "value", 'float("inf")', id="infinity, where the body asks for it"),
        pytest.param("longest", "iterable", "iter([1, 2, 3])", id="an iterator, where it makes a difference"),
        pytest.param("ranked", "key", "len", id="a function for a key"),
        pytest.param("ranked", "key", '"abc"', id="and none, where the body asks whether it is one"),
        pytest.param("padded", "width", "0", id="other values of the default's type"),
        pytest.param("padded", "fill", "False", id="a keyword-only argument"),
        pytest.param("larger", "text", '"3 MiB"', id="what a function that is used shows in its docstring"),
    ],
)
def test_what_the_code_says_of_a_parameter_is_tried(
    seeds: dict[str, Seeds], function: str, parameter: str, source: str
) -> None:
    assert source in sources(seeds[function], parameter)


def test_likely_inputs_come_first(seeds: dict[str, Seeds]) -> None:
    first = next(iter(seeds["weight"].inputs()))
    assert [argument.source for argument in first.arguments][1] == '"kg"'


def test_other_types_only_where_the_body_copes_with_them(seeds: dict[str, Seeds]) -> None:
    assert "[1]" not in sources(seeds["weight"], "amount")


def test_optional_arguments_are_named(seeds: dict[str, Seeds]) -> None:
    assert all(argument.keyword for argument, _ in seeds["padded"].spares())


def test_a_hint_that_nobody_can_evaluate_is_no_hint(seeds: dict[str, Seeds]) -> None:
    assert list(seeds["nothing_known"].inputs())


@pytest.mark.parametrize(
    ("function", "parameter", "start", "part"),
    [
        pytest.param("command", "options", "Namespace(verbose=", 'size="3 MiB"', id="a command line's"),
        pytest.param("area", "shape", "SimpleNamespace(width=", 'kind="box"', id="one without a hint"),
    ],
)
def test_an_object_of_which_attributes_are_read_gets_a_stand_in(
    seeds: dict[str, Seeds], function: str, parameter: str, start: str, part: str
) -> None:
    found = [source for source in sources(seeds[function], parameter) if source.startswith(start)]
    assert any(part in source for source in found), found


@pytest.mark.parametrize(("function", "parameter"), [("opened", "handle"), ("padded", "text")])
def test_no_stand_in_where_a_plain_value_does_or_where_methods_are_needed(
    seeds: dict[str, Seeds], function: str, parameter: str
) -> None:
    assert not [source for source in sources(seeds[function], parameter) if "Namespace(" in source]


def test_a_character_that_the_body_asks_for_by_its_number_is_a_landmark(seeds: dict[str, Seeds]) -> None:
    assert chr(0x200D) in seeds["joiners"].clues.landmarks(frozenset(), None)
    assert chr(0x200D) not in seeds["area"].clues.landmarks(frozenset(), None)


def test_what_cannot_be_looked_at_is_no_example(seeds: dict[str, Seeds]) -> None:
    assert seeds["lazily"].clues.examples() == ()
