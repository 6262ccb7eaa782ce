"""Stand-ins for objects of which a function only reads attributes: what a command line parsed, a record, a request."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_selfheal.testgen.inside.clues import Clues
from pytest_selfheal.testgen.inside.render import quoted
from pytest_selfheal.testgen.inside.values import PLAIN, Option

MAX_OPTIONS = 12
MAX_ATTRIBUTES = 6
_KINDS = tuple(kind for kind in PLAIN if kind is not object)


def options(name: str, hint: Any, clues: Clues) -> Iterator[Option]:
    """``SimpleNamespace(…)`` with the attributes that the body reads of parameter ``name``; ``Namespace(…)`` of argparse
    where the type hint says so. None where it is of a plain type, by its hint or by its attributes."""
    read, called = clues.attributes(name)
    if not read or len(read) > MAX_ATTRIBUTES:
        return
    if hint is argparse.Namespace:
        own = ("argparse", "Namespace")
    elif hint is None and not called and any(_is_foreign(attribute) for attribute in read):
        own = ("types", "SimpleNamespace")
    else:
        return
    columns = [_values(name, attribute, clues) for attribute in read]
    aligned = (tuple(c[i % len(c)] for c in columns) for i in range(max(map(len, columns))))
    rows = itertools.chain(itertools.islice(aligned, MAX_OPTIONS // 2), itertools.product(*(c[:4] for c in columns)))
    for row in itertools.islice(dict.fromkeys(rows), MAX_OPTIONS):
        inside = ", ".join(f"{attribute}={value}" for attribute, value in zip(read, row, strict=True))
        yield f"{own[1]}({inside})", frozenset({own})


def _is_foreign(attribute: str) -> bool:
    return not any(hasattr(kind, attribute) for kind in _KINDS)


def _values(name: str, attribute: str, clues: Clues) -> Sequence[str]:
    constants = [value for value in clues.constants(f"{name}.{attribute}") if value is not None]
    said = [quoted(value) if isinstance(value, str) else repr(value) for value in constants]
    examples = [quoted(text) for text in clues.examples()]
    guessed = PLAIN[clues.guesses(attribute)[0]] if clues.has_telling_name(attribute) else PLAIN[str]
    return list(dict.fromkeys([*said, *examples, *guessed[:3]]))
