"""What exploring finds, in a real child: observed calls, objects with a history, exceptions, generators; and what it refuses."""

from __future__ import annotations

import re

import pytest
from project_helpers import workshop_at

from pytest_selfheal.testgen.common import code_files, explore
from pytest_selfheal.testgen.job import Found, Job, Target

SHOP = '''\
import asyncio
import functools
import random
import time
from dataclasses import dataclass


class Basket:
    def __init__(self, limit=10):
        self._limit = limit
        self._things = {}

    def add(self, name, count=1):
        self._things[name] = self._things.get(name, 0) + count

    def total(self):
        return min(self._limit, sum(n for n in self._things.values() if n > 1))

    @property
    def empty(self):
        return not self._things

    @staticmethod
    def label(text):
        return text.strip().upper()


@dataclass
class Item:
    name: str
    price: float

    def dearer(self, by: int) -> "Item":
        return Item(self.name, self.price + by)


def clamp(value: int, low: int = 0, high: int = 10) -> int:
    if value < low:
        return low
    if value > high:
        return high
    return value


def parse(text):
    """Read a number.

    >>> parse("12")
    12
    """
    if not text.isdigit():
        raise ValueError(f"no number: {text}")
    return int(text)


def drop_first(items):
    del items[0]


def evens(limit: int):
    for n in range(limit):
        if n % 2 == 0:
            yield n


def every(step: int, items: list[int]):
    if step < 1:
        raise ValueError("step must be positive")
    yield from items[::step]


def endless(start: int):
    while True:
        yield start


async def later(x: int) -> int:
    await asyncio.sleep(0)
    return x + 1


@functools.lru_cache
def cached(x: int) -> int:
    return x * 3


def stamp(name: str) -> str:
    return f"{name} {time.time()}"


def dice(sides: int) -> int:
    return random.randint(1, sides)


def save(text: str) -> int:
    with open("out.txt", "w") as file:
        return file.write(text)


def connected(handle):
    return handle is not None


def crashes(x: int) -> int:
    return 1 // (x - x)


def wrong_docs(x: int) -> int:
    """
    >>> wrong_docs(4)
    5
    """
    return x


def adder(step: int):
    def add(value: int) -> int:
        return value + step

    return add


def doubled(func):
    @functools.wraps(func)
    def wrapper(*args):
        return 2 * func(*args)

    return wrapper


def power(exponent: int):
    def outer(base: int):
        def inner(offset: int) -> int:
            return base**exponent + offset

        return inner

    return outer


def unused(names: list[str], sep: str = ", ") -> str:
    if len(names) > 2:
        return sep.join(names[:2]) + " and more"
    return sep.join(names)
'''
TESTS = """\
import pytest
from shop import *
from shop import cached


@pytest.fixture
def basket():
    made = Basket(limit=5)
    made.add("tea", 2)
    return made


def test_total(basket):
    basket.add("milk")
    assert basket.total() == 2
    assert not basket.empty


def test_label():
    assert Basket.label(" a ") == "A"


def test_dearer():
    assert Item("tea", 1.5).dearer(2).price == 3.5


def test_clamp():
    assert clamp(3) == 3


def test_others():
    things = [1, 2]
    drop_first(things)
    assert things == [2]
    assert cached(2) == 6
    assert connected(object())
    assert parse("7") == 7
"""
NAMES = [
    "Basket.total",
    "Basket.empty",
    "Basket.label",
    "Basket.add",
    "Item.dearer",
    "clamp",
    "parse",
    "drop_first",
    "evens",
    "every",
    "endless",
    "later",
    "cached",
    "stamp",
    "dice",
    "save",
    "connected",
    "crashes",
    "wrong_docs",
    "adder",
    "doubled",
    "power",
    "unused",
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings =\n")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    outcomes = {"test_shop.py::test_total": "passed"}
    with workshop_at(folder, outcomes=outcomes) as workshop:
        targets = tuple(Target("shop.py", name) for name in NAMES)
        code = code_files(workshop, workshop.pristine)
        # Everything counts as different from before, so that covered functions are explored as well.
        job = Job(str(workshop.pristine.seen_top), targets, code, "regression", cpu_seconds=0.6)
        answers = explore(workshop, workshop.pristine, job, ["test_shop.py"])
    assert len(answers) == len(NAMES)
    return {answer.target.qualname: answer for answer in answers}


def calls(found: Found) -> list[str]:
    return [case.call.format(*(a.source for a in case.input.arguments)) for case in found.cases]


def test_observed_arguments_become_calls_and_their_variations(found: dict[str, Found]) -> None:
    assert found["clamp"].cases
    assert all(call.startswith("clamp(") for call in calls(found["clamp"]))
    assert found["clamp"].killed_alone >= 0.6 * found["clamp"].mutants


def test_arguments_that_say_what_the_default_says_are_left_out(found: dict[str, Found]) -> None:
    assert not [call for call in calls(found["clamp"]) if "low=0" in call or "high=10" in call]


def test_an_object_is_rebuilt_from_its_construction_and_what_was_done_with_it(found: dict[str, Found]) -> None:
    [case] = [case for case in found["Basket.total"].cases if case.input.setup][:1]
    assert case.input.setup[0].startswith("basket = Basket(")
    assert "basket.add(" in case.input.setup[1]
    assert "basket.total()" in calls(found["Basket.total"])


def test_methods_properties_and_static_methods_are_called_as_people_do(found: dict[str, Found]) -> None:
    assert calls(found["Basket.empty"])[0].endswith(".empty")
    assert calls(found["Basket.label"])[0].startswith("Basket.label(")
    [case] = found["Item.dearer"].cases[:1]
    assert case.expected.startswith("Item(")
    assert ("shop", "Item") in case.imports


def test_changes_of_arguments_and_of_the_object_are_asserted(found: dict[str, Found]) -> None:
    case = found["drop_first"].cases[0]
    assert case.expected == "None"
    assert case.after[0][:2] == (0, "{0}")
    assert any(form == "vars({0})" for case in found["Basket.add"].cases for _, form, _ in case.after)


def test_what_is_raised_on_purpose_is_expected_and_accidents_are_not(found: dict[str, Found]) -> None:
    assert {case.expected for case in found["parse"].cases if case.kind == "raises"} <= {"ValueError"}
    assert found["crashes"].cases == []
    assert "exception that nobody promises" in found["crashes"].reason


def test_generators_coroutines_and_caches(found: dict[str, Found]) -> None:
    assert calls(found["evens"])[0].startswith("list(evens(")
    assert calls(found["later"])[0].startswith("asyncio.run(later(")
    assert found["cached"].cases
    assert calls(found["endless"])[0].startswith("list(itertools.islice(endless(")


def test_a_generator_that_raises_is_gone_through(found: dict[str, Found]) -> None:
    raising = [case for case in found["every"].cases if case.kind == "raises"]
    assert raising
    assert all(calls_of(case).startswith("list(every(") for case in raising)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("adder", r"adder\(-?\d+\)\(-?\d+\)"),
        ("doubled", r"doubled\([a-z].*\)\(.+\)"),
        ("power", r"power\(-?\d+\)\(-?\d+\)\(-?\d+\)"),
    ],
)
def test_a_function_that_comes_back_is_called_in_turn(found: dict[str, Found], name: str, shape: str) -> None:
    assert found[name].cases, found[name].reason
    assert all(re.fullmatch(shape, call) for call in calls(found[name])), calls(found[name])
    assert found[name].lines_after == found[name].lines


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stamp", "it depends on the clock"),
        ("dice", "it depends on chance"),
        ("save", "it works with files"),
    ],
)
def test_what_depends_on_the_world_outside_gets_no_test(found: dict[str, Found], name: str, reason: str) -> None:
    assert found[name].cases == []
    assert found[name].reason == reason


def test_objects_that_cannot_be_rebuilt_are_told(found: dict[str, Found]) -> None:
    given = [argument.source for case in found["connected"].cases for argument in case.input.arguments]
    assert not [source for source in given if "object" in source]


def test_nothing_is_asserted_against_the_docstring(found: dict[str, Found]) -> None:
    assert "wrong_docs(4)" not in calls(found["wrong_docs"])
    backed = {case.backed for case in found["parse"].cases if calls_of(case) == 'parse("12")'}
    assert backed <= {"docstring"}


def calls_of(case: object) -> str:
    return case.call.format(*(a.source for a in case.input.arguments))  # type: ignore[attr-defined]


def test_functions_that_no_test_calls_get_inputs_from_their_hints(found: dict[str, Found]) -> None:
    assert found["unused"].cases
    assert found["unused"].lines_before == 0
    assert found["unused"].lines_after == found["unused"].lines
    assert found["unused"].killed_before == 0


def test_what_existing_tests_kill_is_measured(found: dict[str, Found]) -> None:
    assert found["Basket.label"].killed_before is not None
    assert found["Basket.label"].killed_before > 0
