"""A target as the child finds it: the live function, what kind of thing it is, and how a call of it is written."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_selfheal.testgen.job import Argument, Input, Name, Target

Kind = Literal["function", "method", "class", "property", "init"]

_OPERATORS = {
    "__len__": "len({0})",
    "__str__": "str({0})",
    "__repr__": "repr({0})",
    "__bool__": "bool({0})",
    "__int__": "int({0})",
    "__float__": "float({0})",
    "__abs__": "abs({0})",
    "__neg__": "-{0}",
    "__hash__": "hash({0})",
    "__iter__": "list({0})",
    "__reversed__": "list(reversed({0}))",
    "__contains__": "{1} in {0}",
    "__getitem__": "{0}[{1}]",
    "__eq__": "{0} == {1}",
    "__ne__": "{0} != {1}",
    "__lt__": "{0} < {1}",
    "__le__": "{0} <= {1}",
    "__gt__": "{0} > {1}",
    "__ge__": "{0} >= {1}",
    "__add__": "{0} + {1}",
    "__sub__": "{0} - {1}",
    "__mul__": "{0} * {1}",
    "__truediv__": "{0} / {1}",
    "__floordiv__": "{0} // {1}",
    "__mod__": "{0} % {1}",
    "__pow__": "{0} ** {1}",
    "__and__": "{0} & {1}",
    "__or__": "{0} | {1}",
    "__xor__": "{0} ^ {1}",
}


class Unreachable(Exception):
    """The target cannot be called from a test; says why."""


@dataclass(frozen=True)
class Subject:
    """A target that can be called."""

    target: Target
    function: Any
    """The plain function below decorators and descriptors."""
    callable: Any
    """What a caller gets: decorated, unbound."""
    kind: Kind
    module: str
    owner: Any = None
    """The class of a method."""

    @property
    def name(self) -> str:
        return self.target.qualname.rpartition(".")[2]

    @property
    def import_name(self) -> Name:
        return self.module, self.target.qualname.partition(".")[0]

    @property
    def shown(self) -> str:
        """The function as people write it: ``f()``, ``Class.method()``, ``Class.attribute``."""
        return self.target.qualname + ("" if self.kind == "property" else "()")

    @property
    def has_self(self) -> bool:
        return self.kind in ("method", "property")

    def template(self, given: Input) -> str:
        """The call with ``{0}``, ``{1}``, … for the arguments; the calls of what it returns follow."""
        places = [f"{{{i}}}" for i in range(len(given.arguments))]
        written = [
            (a, (f"{a.name.lstrip('()')}=" if a.keyword else "") + place)
            for a, place in zip(given.arguments, places, strict=True)
        ]
        own = [text for argument, text in written if not argument.level]
        call = self._own_call(own)
        for level in range(1, given.levels + 1):
            call += f"({', '.join(text for argument, text in written if argument.level == level)})"
        return call

    def _own_call(self, arguments: Sequence[str]) -> str:
        if self.kind == "property":
            return f"{{0}}.{self.name}"
        if self.has_self and self.name in _OPERATORS:
            wanted = _OPERATORS[self.name]
            if wanted.count("{") == len(arguments):
                return wanted
        inside = ", ".join(arguments[1 if self.has_self else 0 :])
        if self.has_self:
            return f"{{0}}.{self.name}({inside})"
        if self.kind == "init":
            return f"vars({self.target.qualname.rpartition('.')[0]}({inside}))"
        return f"{self.target.qualname}({inside})"


def without_defaults(subject: Subject, given: Input) -> Input:
    """``given`` without arguments that say what the default says; what follows them is named."""
    try:
        signature = inspect.signature(subject.function)
    except (TypeError, ValueError):
        return given
    written: list[Argument] = []
    skipped = any(a.name.startswith("*") for a in given.arguments)
    if skipped:
        return given  # nothing may be left out before *args
    for argument in given.arguments:
        parameter = signature.parameters.get(argument.name)
        if (
            parameter is not None
            and parameter.default is not parameter.empty
            and _says(argument.source, parameter.default)
        ):
            skipped = True
            continue
        positional_only = parameter is not None and parameter.kind is parameter.POSITIONAL_ONLY
        if positional_only and skipped:
            return given
        written.append(Argument(argument.name, argument.source, argument.keyword or skipped))
    return replace(given, arguments=tuple(written))


def _says(source: str, default: Any) -> bool:
    try:
        return repr(default) == source or (
            isinstance(default, str) and repr(source)[1:-1] == source and eval(source) == default
        )
    except Exception:
        return False


def find(target: Target, top: str) -> Subject:
    """Raises :class:`Unreachable`."""
    path = os.path.realpath(Path(top, target.path))
    module = _module(path, top, target.path)
    owner: Any = None
    thing: Any = module
    parts = target.qualname.split(".")
    if "<locals>" in parts or not all(part.isidentifier() for part in parts):
        raise Unreachable("it is defined inside another function")
    for part in parts:
        owner = thing
        thing = inspect.getattr_static(owner, part, None)
        if thing is None:
            raise Unreachable("it is not there once its module is imported")
    kind: Kind = "function" if owner is module else "method"
    if isinstance(thing, (staticmethod, classmethod)):
        kind = "class"
    elif isinstance(thing, property) or type(thing).__name__ == "cached_property":
        kind = "property"
    elif kind == "method" and parts[-1] == "__init__":
        kind = "init"
    function = _plain(thing)
    if function is None or os.path.realpath(function.__code__.co_filename) != path:
        raise Unreachable("its decorator hides it")
    if inspect.isasyncgenfunction(function):
        raise Unreachable("it is an asynchronous generator")
    if kind == "method" and isinstance(owner, type) and inspect.isabstract(owner):
        raise Unreachable("its class is abstract")
    return Subject(target, function, thing, kind, module.__name__, None if owner is module else owner)


def _plain(thing: Any) -> Any:
    if isinstance(thing, (staticmethod, classmethod)):
        thing = thing.__func__
    elif isinstance(thing, property):
        thing = thing.fget
    elif type(thing).__name__ == "cached_property":
        thing = getattr(thing, "func", None)
    try:
        thing = inspect.unwrap(thing)
    except (TypeError, ValueError):
        return None
    return thing if inspect.isfunction(thing) else None


def _module(path: str, top: str, name: str) -> Any:
    for found in list(sys.modules.values()):
        place = getattr(found, "__file__", None)
        if isinstance(place, str) and os.path.realpath(place) == path and found.__name__ != "__main__":
            return found
    parts = name.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    roots = [os.path.realpath(entry or ".") for entry in sys.path]
    for start in range(len(parts)):
        root = os.path.realpath(Path(top, *parts[:start]))
        if root not in roots:
            continue
        try:
            found = importlib.import_module(".".join(parts[start:]))
        except BaseException as error:
            raise Unreachable(f"its module cannot be imported ({type(error).__name__})") from None
        if os.path.realpath(getattr(found, "__file__", None) or "") == path:
            return found
    raise Unreachable("its module cannot be imported from where the tests run")
