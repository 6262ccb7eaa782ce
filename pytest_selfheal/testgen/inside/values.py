"""Values to begin with, as source, by type."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import re
from typing import Any

from pytest_selfheal.testgen.job import Name

Option = tuple[str, frozenset[Name]]
"""A value's source, and the names that it needs."""

PLAIN: dict[Any, tuple[str, ...]] = {
    int: ("1", "0", "2", "3", "7", "-1", "10"),
    float: ("1.5", "0.0", "2.0", "-1.0", "10.0"),
    bool: ("True", "False"),
    str: ('"abc"', '""', '"a"', '"Hello World"', '"a-b c"', '"12"', '"  x "'),
    bytes: ('b"abc"', 'b""'),
    complex: ("1 + 2j",),
    type(None): ("None",),
    list: ("[1, 2, 3]", "[]", "[3, 1, 2]", "[1]", '["b", "a"]'),
    tuple: ("(1, 2)", "()"),
    dict: ('{"a": 1}', "{}", '{"a": 1, "b": 2}'),
    set: ("{1, 2}", "set()"),
    frozenset: ("frozenset({1, 2})",),
    object: ("1", '"abc"', "None", "[1, 2]"),
}
NOTHING: frozenset[Name] = frozenset()
FUNCTIONS: tuple[Option, ...] = (
    ("str", NOTHING),
    ("abs", NOTHING),
    ("len", NOTHING),
    ("bool", NOTHING),
    ("add", frozenset({("operator", "add")})),
    ("max", NOTHING),
    ("lambda x: x * 2", NOTHING),
)
LAZY: tuple[Option, ...] = (("iter([1, 2, 3])", NOTHING), ("iter([2, 1, 2])", NOTHING), ("iter([])", NOTHING))
"""What can be gone through once."""
NO_NUMBERS: tuple[Option, ...] = (('float("inf")', NOTHING), ('float("nan")', NOTHING))
OTHER_KINDS: tuple[Option, ...] = (('"abc"', NOTHING), ("None", NOTHING), ("[1]", NOTHING))
"""What a function gets that copes with arguments of other types."""


def _of(module: str, name: str, *sources: str) -> tuple[Option, ...]:
    return tuple((source, frozenset({(module, name)})) for source in sources)


STANDARD: dict[Any, tuple[Option, ...]] = {
    datetime.timedelta: _of(
        "datetime",
        "timedelta",
        "timedelta(days=1)",
        "timedelta(seconds=30)",
        "timedelta(days=400, seconds=5)",
        "timedelta()",
        "timedelta(microseconds=5)",
    ),
    datetime.date: _of("datetime", "date", "date(2024, 2, 29)", "date(2023, 1, 1)"),
    datetime.datetime: _of("datetime", "datetime", "datetime(2024, 2, 29, 12, 30)", "datetime(2023, 1, 1)"),
    datetime.time: _of("datetime", "time", "time(12, 30)", "time(0, 0, 1)"),
    decimal.Decimal: _of("decimal", "Decimal", 'Decimal("1.5")', 'Decimal("0")', 'Decimal("-20.25")'),
    fractions.Fraction: _of("fractions", "Fraction", "Fraction(1, 2)", "Fraction(3, 1)"),
    pathlib.Path: _of("pathlib", "Path", 'Path("a/b.txt")', 'Path("c")'),
    pathlib.PurePath: _of("pathlib", "PurePath", 'PurePath("a/b.txt")', 'PurePath("c")'),
    re.Pattern: _of("re", "", 're.compile("a+")', 're.compile("(b)|c")'),
}
"""Types of the standard library whose constructors say little."""
ABSTRACT: dict[Any, tuple[str, ...]] = {
    list: ("Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"),
    dict: ("Mapping", "MutableMapping"),
    set: ("Set", "MutableSet"),
    float: ("Number", "Real"),
    int: ("Integral",),
}
