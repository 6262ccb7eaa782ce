"""Values as source: the shortest readable expression that makes an equal value, and the names that it needs."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import re
import sys
import tempfile
import types
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_selfheal.testgen.job import Name

MAX_LENGTH = 400
MAX_DEPTH = 7
_TMP = tuple({tempfile.gettempdir().rstrip("/") + "/", "/tmp/", "/var/folders/"})


class Unrenderable(Exception):
    """The value cannot be rebuilt from source; says what it is."""


class Renderer:
    """Writes values as source and gathers the imports. ``recipes`` knows how objects of plain classes were made."""

    def __init__(
        self,
        is_test: Callable[[str], bool] = lambda module: False,
        places: Iterable[str] = (),
        recipe: Callable[[Any, Renderer], str | None] = lambda value, renderer: None,
    ) -> None:
        self._is_test = is_test
        self._places = (*_TMP, *places)
        self._recipe = recipe
        self.imports: set[Name] = set()
        self.setup: list[str] = []
        self.bound: dict[int, str] = {}

    def render(self, value: Any) -> str:
        """Raises :class:`Unrenderable`."""
        text = self._of(value, 0)
        if len(text) > MAX_LENGTH:
            raise Unrenderable("a value too large to be read in a test")
        return text

    def _of(self, value: Any, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise Unrenderable("a value nested too deeply")
        kind = type(value)
        if id(value) in self.bound:
            return self.bound[id(value)]
        if value is None or value is ... or kind in (bool, int, complex, bytes):
            return repr(value)
        if kind is str:
            if any(place in value for place in self._places if len(place) > 4):
                raise Unrenderable("an absolute path")
            return quoted(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return simple(self, value, depth + 1)
        if isinstance(value, enum.Enum):
            return f"{self.name_of(kind)}.{value.name}" if value.name else self._call(kind, [value.value], {}, depth)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.name_of(value)
        if isinstance(value, types.ModuleType):
            raise Unrenderable("a module")
        if isinstance(value, pathlib.PurePath):
            if value.is_absolute():
                raise Unrenderable("an absolute path")
            public = pathlib.Path if isinstance(value, pathlib.Path) else pathlib.PurePath
            return self._call(public, [str(value)], {}, depth)
        if isinstance(value, BaseException) and not vars(value):
            return self._call(kind, list(value.args), {}, depth)
        return self._object(value, depth + 1)

    def _object(self, value: Any, depth: int) -> str:
        kind = type(value)
        if dataclasses.is_dataclass(value):
            return self._dataclass(value, depth)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self._call(kind, list(value), {}, depth)
        made = self._recipe(value, self)
        if made is not None:
            return made
        raise Unrenderable(f"an object of {kind.__qualname__} that cannot be rebuilt from source")

    def _dataclass(self, value: Any, depth: int) -> str:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            if not field.init:
                continue
            try:
                now = getattr(value, field.name)
            except AttributeError:
                raise Unrenderable(f"an object of {type(value).__qualname__} without its fields") from None
            default = _default(field)
            if default is not dataclasses.MISSING and type(default) is type(now) and _equal(default, now):
                continue
            if not field.kw_only and not named and len(positional) == _index(value, field.name):
                positional.append(now)
            else:
                named[field.name] = now
        return self._call(type(value), positional, named, depth)

    def _call(self, function: Any, positional: Iterable[Any], named: Mapping[str, Any], depth: int) -> str:
        parts = [self._of(v, depth + 1) for v in positional]
        parts += [f"{name}={self._of(v, depth + 1)}" for name, v in named.items()]
        return f"{self.name_of(function)}({', '.join(parts)})"

    def name_of(self, thing: Any) -> str:
        """The expression that names a class or function, with its import noted."""
        module, qualname = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
        if module == "builtins" and qualname.isidentifier():
            return str(qualname)
        if not module or "<" in qualname or not all(part.isidentifier() for part in qualname.split(".")):
            raise Unrenderable(f"{qualname or 'a function'}, which has no name to import it by")
        if module in ("__main__", "conftest") or self._is_test(module):
            raise Unrenderable(f"{qualname}, which only the tests define")
        module = _PUBLIC.get(module, module)
        place: Any = sys.modules.get(module)
        for part in qualname.split("."):
            place = getattr(place, part, None)
        if place is not thing:
            raise Unrenderable(f"{qualname}, which cannot be imported by its name")
        self.imports.add((module, qualname.partition(".")[0]))
        return str(qualname)

    def sequence(self, value: Iterable[Any], depth: int) -> str:
        return ", ".join(self._of(v, depth) for v in value)

    def mapping(self, value: Mapping[Any, Any], depth: int) -> str:
        return "{" + ", ".join(f"{self._of(k, depth)}: {self._of(v, depth)}" for k, v in value.items()) + "}"

    def standard(self, module: str, name: str, inner: str) -> str:
        """``name(inner)`` with ``name`` imported from a module of the standard library."""
        self.imports.add((module, name.partition(".")[0]))
        return f"{name}({inner})"


def quoted(text: str) -> str:
    """A literal in double quotes where that takes no more escapes, as formatters write it."""
    plain = repr(text)
    if plain.startswith("'") and '"' not in plain:
        return f'"{plain[1:-1]}"'
    return plain


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return dataclasses.MISSING


def _index(value: Any, name: str) -> int:
    return [f.name for f in dataclasses.fields(value) if f.init and not f.kw_only].index(name)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:
        return False


def _set(r: Renderer, value: Any, depth: int) -> str:
    return "{" + ", ".join(sorted(r._of(v, depth) for v in value)) + "}" if value else "set()"


def _frozenset(r: Renderer, value: Any, depth: int) -> str:
    return f"frozenset({_set(r, value, depth)})" if value else "frozenset()"


def _tuple(r: Renderer, value: Any, depth: int) -> str:
    return f"({r.sequence(value, depth)}{',' if len(value) == 1 else ''})"


def _zoned(value: Any) -> None:
    if value.tzinfo is not None:
        raise Unrenderable("a time with a time zone")


def _datetime(r: Renderer, value: datetime.datetime, depth: int) -> str:
    _zoned(value)
    return r.standard("datetime", "datetime", repr(value).partition("(")[2][:-1])


def _time(r: Renderer, value: datetime.time, depth: int) -> str:
    _zoned(value)
    return r.standard("datetime", "time", repr(value).partition("(")[2][:-1])


def _pattern(r: Renderer, value: re.Pattern[Any]) -> str:
    flags = value.flags & ~re.UNICODE
    r.imports.add(("re", ""))
    return f"re.compile({value.pattern!r}" + (f", {int(flags)})" if flags else ")")


_Writer = Callable[[Renderer, Any, int], str]
_SIMPLE: dict[type, _Writer] = {
    list: lambda r, v, d: f"[{r.sequence(v, d)}]",
    tuple: _tuple,
    dict: lambda r, v, d: r.mapping(v, d),
    set: _set,
    frozenset: _frozenset,
    range: lambda r, v, d: repr(v),
    bytearray: lambda r, v, d: f"bytearray({bytes(v)!r})",
    decimal.Decimal: lambda r, v, d: r.standard("decimal", "Decimal", quoted(str(v))),
    fractions.Fraction: lambda r, v, d: r.standard("fractions", "Fraction", f"{v.numerator}, {v.denominator}"),
    uuid.UUID: lambda r, v, d: r.standard("uuid", "UUID", quoted(str(v))),
    datetime.date: lambda r, v, d: r.standard("datetime", "date", f"{v.year}, {v.month}, {v.day}"),
    datetime.datetime: _datetime,
    datetime.time: _time,
    datetime.timedelta: lambda r, v, d: r.standard("datetime", "timedelta", repr(v).partition("(")[2][:-1]),
    collections.Counter: lambda r, v, d: r.standard("collections", "Counter", r.mapping(v, d) if v else ""),
    collections.OrderedDict: lambda r, v, d: r.standard("collections", "OrderedDict", r.mapping(v, d) if v else ""),
    collections.deque: lambda r, v, d: r.standard("collections", "deque", f"[{r.sequence(v, d)}]"),
    re.Pattern: lambda r, v, d: _pattern(r, v),
}
_PUBLIC = {"_decimal": "decimal", "_datetime": "datetime", "pathlib._local": "pathlib", "_collections": "collections"}
