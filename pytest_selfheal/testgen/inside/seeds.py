"""First inputs for a function that no test calls: docstring examples, type hints, defaults, and what its body does with them."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import inspect
import itertools
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_selfheal.testgen.inside.mutants import find_function
from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.inside.subject import Subject
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_SEEDS = 120
Option = tuple[str, frozenset[Name]]

_PLAIN: dict[Any, tuple[str, ...]] = {
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
_NOTHING: frozenset[Name] = frozenset()
_FUNCTIONS: tuple[Option, ...] = (
    ("str", _NOTHING),
    ("abs", _NOTHING),
    ("len", _NOTHING),
    ("bool", _NOTHING),
    ("add", frozenset({("operator", "add")})),
    ("max", _NOTHING),
)


class Seeds:
    """Makes inputs for one subject."""

    def __init__(self, subject: Subject, text: str, renderer: Renderer) -> None:
        self._subject = subject
        self._node = find_function(ast.parse(text), subject.target.qualname)
        self._renderer = renderer
        try:
            self._hints = typing.get_type_hints(subject.function)
        except Exception:
            self._hints = {}

    def inputs(self) -> Iterator[Input]:
        """Inputs, likely ones first, at most :data:`MAX_SEEDS`."""
        try:
            signature = inspect.signature(self._subject.function)
        except (TypeError, ValueError):
            return
        columns: list[list[tuple[Argument, frozenset[Name]]]] = []
        optional: list[tuple[int, list[tuple[Argument, frozenset[Name]]]]] = []
        for i, parameter in enumerate(signature.parameters.values()):
            if i == 0 and self._subject.kind == "init":
                continue
            if i == 0 and self._subject.kind == "class" and parameter.name == "cls":
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            own = i == 0 and self._subject.has_self
            options = self._receivers() if own else self._options(parameter)
            name = (
                "self"
                if own
                else f"*{parameter.name}"
                if parameter.kind is parameter.VAR_POSITIONAL
                else parameter.name
            )
            keyword = parameter.kind is parameter.KEYWORD_ONLY
            column = [(Argument(name, source, keyword), imports) for source, imports in options]
            if not column:
                return
            if parameter.default is not parameter.empty:
                optional.append((len(columns), [(Argument(name, a.source, True), names) for a, names in column]))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                continue
            else:
                columns.append(column)
        yield from itertools.islice(self._combined(columns, optional), MAX_SEEDS)

    def _combined(self, columns: Sequence[Any], optional: Sequence[Any]) -> Iterator[Input]:
        def made(row: Sequence[tuple[Argument, frozenset[Name]]]) -> Input:
            names: frozenset[Name] = frozenset().union(*(n for _, n in row)) if row else frozenset()
            return Input(tuple(a for a, _ in row), (), names)

        rows: list[tuple[Any, ...]] = []
        widest = max((len(c) for c in columns), default=1)
        for i in range(widest):  # all first options, all second ones, …
            rows.append(tuple(c[i % len(c)] for c in columns))
        for i, column in enumerate(columns):  # each option once, the others at their first
            for option in column[1:]:
                rows.append(tuple(option if j == i else c[0] for j, c in enumerate(columns)))
        if len(columns) > 1:
            rows += itertools.islice(itertools.product(*(c[:4] for c in columns)), 40)
        seen = set()
        for row in rows:
            if (key := tuple(a.source for a, _ in row)) not in seen:
                seen.add(key)
                yield made(row)
        for _, options in optional:
            for option in options[:5]:
                for row in rows[:3]:
                    yield made((*row, option))

    # ------------------------------------------------------------------ options of one parameter

    def _options(self, parameter: inspect.Parameter) -> list[Option]:
        name = parameter.name
        found: list[Option] = []
        hint = self._hints.get(name)
        for value in self._constants(name):
            with contextlib.suppress(Unrenderable):
                found.append(self._rendered(value))
        if hint is not None:
            found = [o for o in found if _fits(o[0], hint)] + list(self._of_hint(hint, 3))
        if parameter.default is not parameter.empty:
            with contextlib.suppress(Unrenderable):
                found.append(self._rendered(parameter.default))
            kind = type(parameter.default)
            if kind in _PLAIN and kind is not type(None):
                found += [(s, frozenset()) for s in _PLAIN[kind]]
        if hint is None and self._is_called(name):
            found += _FUNCTIONS
        elif hint is None:
            found += [(s, frozenset()) for kind in self._guesses(name) for s in _PLAIN[kind]]
        return list(dict.fromkeys(found))[:12]

    def _rendered(self, value: Any) -> Option:
        self._renderer.imports.clear()
        return self._renderer.render(value), frozenset(self._renderer.imports)

    def _of_hint(self, hint: Any, depth: int) -> Iterator[Option]:
        nothing: frozenset[Name] = frozenset()
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            yield from self._of_hint(args[0], depth)
        elif origin in (typing.Union, types.UnionType):
            each = [list(self._of_hint(a, depth)) for a in args]
            yield from (o for row in itertools.zip_longest(*each) for o in row if o is not None)
        elif origin is typing.Literal:
            yield from (self._rendered(a) for a in args)
        elif isinstance(hint, typing.TypeVar):
            yield from self._of_hint(hint.__bound__ or (hint.__constraints__ or (object,))[0], depth)
        elif hint in _PLAIN:
            yield from ((s, nothing) for s in _PLAIN[hint])
        elif hint is Any:
            yield from ((s, nothing) for s in _PLAIN[object])
        elif origin is not None and depth:
            yield from self._container(origin, args, depth)
        elif isinstance(hint, type):
            yield from self._of_class(hint, depth)

    def _container(self, origin: Any, args: tuple[Any, ...], depth: int) -> Iterator[Option]:
        name = getattr(origin, "__name__", "")
        inner = [list(itertools.islice(self._of_hint(a, depth - 1), 4)) for a in args if a is not ...]
        if any(not options for options in inner):
            return
        names: frozenset[Name] = (
            frozenset().union(*(o[1] for options in inner for o in options)) if inner else frozenset()
        )
        if name in ("dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict") and len(inner) == 2:
            keys, values = ([o[0] for o in options] for options in inner)
            yield "{" + f"{keys[0]}: {values[0]}" + "}", names
            yield "{}", frozenset()
            if len(keys) > 1:
                yield "{" + f"{keys[1]}: {values[-1]}, {keys[0]}: {values[0]}" + "}", names
        elif name == "tuple" and args and ... not in args:
            for i in range(3):
                items = [options[min(i, len(options) - 1)][0] for options in inner]
                yield "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")", names
        elif name == "Callable":
            yield from _FUNCTIONS
        elif inner:
            brackets = {"tuple": "()", "set": "{}", "frozenset": "{}", "Set": "{}"}.get(name, "[]")
            left, right = brackets[0], brackets[1]
            items = [o[0] for o in inner[0]]
            empty = {"set": "set()", "tuple": "()"}.get(name, "set()" if left == "{" else f"{left}{right}")
            tail = "," if left == "(" else ""
            yield f"{left}{', '.join(items[:3])}{tail if len(items[:3]) == 1 else ''}{right}", names
            yield empty, frozenset()
            yield f"{left}{items[0]}{tail}{right}", names
            yield f"{left}{', '.join(reversed(items))}{tail if len(items) == 1 else ''}{right}", names

    def _of_class(self, kind: type, depth: int) -> Iterator[Option]:
        if issubclass(kind, enum.Enum):
            with contextlib.suppress(Unrenderable):
                yield from [self._rendered(member) for member in list(kind)[:5]]
            return
        for plain, sources in _PLAIN.items():
            if plain is not object and kind.__name__ in _ABSTRACT.get(plain, ()):
                yield from ((s, frozenset()) for s in sources)
                return
        if depth and kind.__module__ != "builtins":
            yield from self._constructed(kind, depth)

    def _constructed(self, kind: type, depth: int) -> Iterator[Option]:
        self._renderer.imports.clear()
        try:
            name = self._renderer.name_of(kind)
            own = frozenset(self._renderer.imports)
            hints = typing.get_type_hints(kind if dataclasses.is_dataclass(kind) else kind.__init__)  # type: ignore[misc]
            signature = inspect.signature(kind)
        except Exception:
            return
        columns = []
        for parameter in signature.parameters.values():
            if (
                parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
                or parameter.default is not parameter.empty
            ):
                continue
            options = list(itertools.islice(self._of_hint(hints.get(parameter.name, object), depth - 1), 4))
            if not options:
                return
            columns.append(
                [(f"{parameter.name}={s}" if parameter.kind is parameter.KEYWORD_ONLY else s, n) for s, n in options]
            )
        for i in range(3 if columns else 1):
            row = [c[min(i, len(c) - 1)] for c in columns]
            names: frozenset[Name] = frozenset().union(own, *(n for _, n in row))
            yield f"{name}({', '.join(s for s, _ in row)})", names

    def _receivers(self) -> list[Option]:
        return list(dict.fromkeys(self._constructed(self._subject.owner, 3)))

    # ------------------------------------------------------------------ what the body says

    def _constants(self, name: str) -> list[Any]:
        """Constants that the body compares the parameter with, and their neighbours."""
        found: list[Any] = []
        for node in ast.walk(self._node) if self._node else ():
            if isinstance(node, ast.Compare) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                for constant in ast.walk(node):
                    if isinstance(constant, ast.Constant) and constant.value is not None:
                        value: Any = constant.value
                        found.append(value)
                        if type(value) in (int, float):
                            found += [value + 1, value - 1]
        return found[:8]

    def _is_called(self, name: str) -> bool:
        """Whether the parameter is a function, by what is done with it or by its name."""
        words = ("func", "function", "fn", "f", "key", "predicate", "pred", "callback", "callable", "binop", "op")
        calls = (n for n in ast.walk(self._node) if isinstance(n, ast.Call)) if self._node else ()
        passed = ("map", "filter", "reduce", "sorted")
        return name in words or any(
            _is(call.func, name) or (getattr(call.func, "id", "") in passed and call.args and _is(call.args[0], name))
            for call in calls
        )

    def _guesses(self, name: str) -> list[Any]:
        """Likely types of a parameter without a hint, by what is done with it and by its name."""
        votes = dict.fromkeys((str, list, int, dict, float), 0)
        for node in ast.walk(self._node) if self._node else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                for kind in votes:
                    votes[kind] += 2 * hasattr(kind, node.attr)
            elif isinstance(node, (ast.For, ast.comprehension)) and _is(node.iter, name):
                votes[list] += 2
                votes[str] += 1
            elif isinstance(node, ast.BinOp) and (_is(node.left, name) or _is(node.right, name)):
                votes[int] += 2
            elif isinstance(node, ast.Subscript) and _is(node.value, name):
                votes[list] += 1
                votes[dict] += isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            elif (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and any(_is(a, name) for a in node.args)
            ):
                votes[list] += node.func.id in ("len", "sorted", "sum", "min", "max", "list", "set", "enumerate", "zip")
                votes[int] += node.func.id in ("range", "int", "abs", "round")
                votes[str] += node.func.id in ("str", "int", "ord", "len")
        for kind, words in _NAMES.items():
            votes[kind] += 2 * any(word == part for part in name.lower().split("_") for word in words)
        ranked = sorted(votes, key=lambda kind: -votes[kind])
        return ranked[:2] if votes[ranked[0]] else [int, str, list]


_NAMES: dict[Any, tuple[str, ...]] = {
    str: (
        "s",
        "text",
        "string",
        "str",
        "name",
        "word",
        "line",
        "key",
        "path",
        "sep",
        "prefix",
        "suffix",
        "char",
        "title",
    ),
    list: (
        "items",
        "values",
        "list",
        "lst",
        "seq",
        "iterable",
        "words",
        "lines",
        "args",
        "numbers",
        "nums",
        "xs",
        "array",
        "data",
    ),
    int: (
        "n",
        "i",
        "count",
        "size",
        "num",
        "number",
        "index",
        "width",
        "length",
        "x",
        "y",
        "k",
        "limit",
        "depth",
        "step",
    ),
    dict: ("mapping", "dict", "d", "options", "config", "kwargs"),
    float: ("ratio", "rate", "price", "amount", "seconds", "factor"),
}
_ABSTRACT: dict[Any, tuple[str, ...]] = {
    list: ("Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"),
    dict: ("Mapping", "MutableMapping"),
    set: ("Set", "MutableSet"),
    float: ("Number", "Real"),
    int: ("Integral",),
}


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _fits(source: str, hint: Any) -> bool:
    """Whether a literal may be an argument of this type, as far as its type is a plain one."""
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError):
        return True
    kinds = [hint, *typing.get_args(hint)]
    plain = [kind for kind in kinds if kind in _PLAIN and kind is not object]
    return not plain or type(value) in plain
