"""A value as JSON data that two processes can compare."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

MAX_ITEMS = 100_000
MAX_DEPTH = 60


class TooBig(Exception):
    """The value has no canonical form of bearable size."""


def canonical(value: Any, depth: int = 0) -> Any:
    """``value`` as nested lists. Raises :class:`TooBig`; an iterator's own exception passes through."""
    if depth > MAX_DEPTH:
        raise TooBig
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return ["int", hex(value)]
    if isinstance(value, float):
        return ["float", value.hex() if math.isfinite(value) else repr(value)]
    if isinstance(value, complex):
        return ["complex", canonical(value.real), canonical(value.imag)]
    if isinstance(value, str):
        return ["str", value.encode("utf-8", "surrogatepass").hex() if not value.isascii() else value]
    if isinstance(value, (bytes, bytearray)):
        return ["bytes", bytes(value).hex()]
    if isinstance(value, (list, tuple)):
        return ["list" if isinstance(value, list) else "tuple", _all(value, depth)]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted(_all(value, depth), key=repr)]
    if isinstance(value, dict):
        pairs = [[canonical(key, depth + 1), canonical(item, depth + 1)] for key, item in value.items()]
        return ["dict", sorted(pairs, key=repr)]
    if isinstance(value, (Iterator, range, map, zip, filter)) or hasattr(value, "__next__"):
        return ["iterator", _all(value, depth)]
    if isinstance(value, type) or callable(value):
        return ["callable", getattr(value, "__qualname__", type(value).__name__)]
    try:
        state = vars(value)
    except TypeError:
        state = {}
    if state:
        return ["object", type(value).__name__, canonical(dict(state), depth + 1)]
    return ["object", type(value).__name__, repr(value)[:1000] if _has_own_repr(value) else ""]


def _all(values: Any, depth: int) -> list[Any]:
    items = [canonical(item, depth + 1) for item in itertools.islice(values, MAX_ITEMS + 1)]
    if len(items) > MAX_ITEMS:
        raise TooBig
    return items


def _has_own_repr(value: Any) -> bool:
    """Object's own shows an address."""
    return any("__repr__" in vars(base) for base in type(value).__mro__ if base is not object)
