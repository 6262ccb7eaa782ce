"""What a function's body says of its parameters: constants, types, functions, iterators, and what it copes with."""

from __future__ import annotations

import ast
import doctest
import enum
import functools
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

_NO_NUMBER = frozenset(("isfinite", "isnan", "isinf", "inf", "nan"))
_OTHER_TYPES = frozenset(("TypeError", "ValueError", "AttributeError", "Exception"))
MAX_LOOKED_UP = 12
MAX_EXAMPLES = 4
MAX_EXAMPLE = 40
"""Characters of a text taken from another function's docstring."""


class Clues:
    """``space``: the names that the body can see."""

    def __init__(self, node: ast.AST | None, space: Mapping[str, Any]) -> None:
        self._node = node
        self._space = space
        self._nodes = list(ast.walk(node)) if node is not None else []

    # ------------------------------------------------------------------ of the function

    def knows_no_numbers(self) -> bool:
        """Whether it asks for infinity or for what is no number."""
        return any(_NO_NUMBER & {_named(n)} for n in self._nodes)

    def landmarks(self, codes: frozenset[CodeType], docstring: str | None) -> list[Any]:
        """Constants of the function: at these, its behaviour changes."""
        found = [c for code in codes for c in code.co_consts if type(c) in (int, float, str)]
        found = [c for c in found if c != docstring and not (isinstance(c, str) and len(c) > 20)]
        found += [value for value in self._looked_up("") if type(value) in (int, float, str)]
        found += self._characters()
        return found + ([float("inf"), float("nan")] if self.knows_no_numbers() else [])

    @functools.cached_property
    def _examples(self) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for node in self._nodes:
            if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
                continue
            docstring = getattr(_resolved(node, self._space), "__doc__", None)
            if isinstance(docstring, str) and ">>>" in docstring:
                found.update(dict.fromkeys(_texts_of_examples(docstring)))
        return tuple(found)[:MAX_EXAMPLES]

    def examples(self) -> tuple[str, ...]:
        """Texts that the functions and classes it uses are called with in the examples of their docstrings."""
        return self._examples

    def _characters(self) -> list[str]:
        """Characters whose code points the body compares with: ``ord(c) == 0x200D``."""
        if not any(isinstance(n, ast.Call) and _named(n.func) == "ord" for n in self._nodes):
            return []
        numbers = [
            part.value
            for node in self._nodes
            if isinstance(node, ast.Compare)
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and type(part.value) is int
        ]
        return [chr(number) for number in numbers if 32 <= number < 0xD800 or 0xE000 <= number < 0x110000]

    # ------------------------------------------------------------------ of a parameter

    def attributes(self, name: str) -> tuple[list[str], list[str]]:
        """Attributes of the parameter that are read, and those of them that are called."""
        attributes = [n for n in self._nodes if isinstance(n, ast.Attribute) and _is(n.value, name)]
        attributes.sort(key=lambda n: (n.lineno, n.col_offset))
        read = list(dict.fromkeys(n.attr for n in attributes if isinstance(n.ctx, ast.Load)))
        called = {n.func for n in self._nodes if isinstance(n, ast.Call)}
        return read, [n.attr for n in attributes if n in called]

    def has_telling_name(self, name: str) -> bool:
        """Whether the name alone says what the parameter is."""
        return any(part in words for part in name.lower().split("_") for words in _NAMES.values())

    def constants(self, name: str) -> list[Any]:
        """Constants that the body compares the parameter with, their neighbours, and keys that it looks up with it."""
        found: list[Any] = list(self._looked_up(name))[:4]
        for node in self._nodes:
            if isinstance(node, ast.Compare) and _mentions(node, name):
                for constant in ast.walk(node):
                    if isinstance(constant, ast.Constant) and constant.value is not None:
                        value: Any = constant.value
                        found.append(value)
                        if type(value) in (int, float):
                            found += [value + 1, value - 1]
        return found[:8]

    def _looked_up(self, name: str) -> Iterator[Any]:
        """Keys of tables, names of enumerations and members of collections of the module that are asked for with ``name``;
        with any name where it is empty."""
        for node in self._nodes:
            place: ast.expr | None = None
            if isinstance(node, ast.Subscript) and (_mentions(node.slice, name) or not name):
                place = node.value
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                place = node.comparators[0] if _mentions(node.left, name) or not name else None
            if not isinstance(place, ast.Name):
                continue
            table = self._space.get(place.id)
            if isinstance(table, type) and issubclass(table, enum.Enum):
                yield from list(table.__members__)[:MAX_LOOKED_UP]
            elif isinstance(table, (dict, set, frozenset, list, tuple)):
                keys = list(table) if not isinstance(table, (list, tuple)) or isinstance(node, ast.Compare) else []
                yield from sorted((k for k in keys if isinstance(k, (int, str))), key=str)[:MAX_LOOKED_UP]

    def kinds(self, name: str) -> list[Any]:
        """Types that ``isinstance`` is asked about."""
        found: list[Any] = []
        for node in self._nodes:
            if isinstance(node, ast.Call) and _named(node.func) == "isinstance" and len(node.args) == 2:
                if not _is(node.args[0], name):
                    continue
                try:
                    kinds = eval(compile(ast.Expression(node.args[1]), "<kinds>", "eval"), dict(self._space))
                except Exception:
                    continue
                found += kinds if isinstance(kinds, tuple) else [kinds]
        return [kind for kind in found if isinstance(kind, type)]

    def is_lazy(self, name: str) -> bool:
        """Whether it may make a difference that the argument is an iterator."""
        calls = [n for n in self._nodes if isinstance(n, ast.Call) and n.args and _is(n.args[0], name)]
        tried = [n for t in self._nodes if isinstance(t, ast.Try) for part in t.body for n in ast.walk(part)]
        return any(
            _named(call.func) in ("iter", "next") or (_named(call.func) == "len" and call in tried) for call in calls
        ) or name in ("it", "iterator", "iterable", "seq")

    def may_be_of_another_type(self, name: str) -> bool:
        """Whether the body handles the exceptions that this argument leads to when it is of a wrong type."""
        return any(
            any(_mentions(part, name) for part in node.body)
            and any(h.type is None or _OTHER_TYPES & _names(h.type) for h in node.handlers)
            for node in self._nodes
            if isinstance(node, ast.Try)
        )

    def is_asked_whether_callable(self, name: str) -> bool:
        return any(
            isinstance(n, ast.Call) and _named(n.func) == "callable" and _is(n.args[0], name)
            for n in self._nodes
            if getattr(n, "args", None)
        )

    def is_called(self, name: str) -> bool:
        """Whether the parameter is a function, by what is done with it or by its name."""
        words = ("func", "function", "fn", "f", "key", "predicate", "pred", "callback", "callable", "binop", "op")
        calls = (n for n in self._nodes if isinstance(n, ast.Call))
        passed = ("map", "filter", "reduce", "sorted")
        return name in words or any(
            _is(call.func, name) or (getattr(call.func, "id", "") in passed and call.args and _is(call.args[0], name))
            for call in calls
        )

    def guesses(self, name: str) -> list[Any]:
        """Likely types of a parameter without a hint, by what is done with it and by its name."""
        votes = dict.fromkeys((str, list, int, dict, float), 0)
        for node in self._nodes:
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


def _named(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    return {_named(n) for n in ast.walk(node)}


def _mentions(node: ast.AST, name: str) -> bool:
    return bool(name) and any(_is(n, name) for n in ast.walk(node))


def _is(node: ast.AST, name: str) -> bool:
    """Whether the node is that name; ``a.b`` is one as well."""
    if isinstance(node, ast.Attribute):
        before, _, last = name.rpartition(".")
        return bool(before) and node.attr == last and _is(node.value, before)
    return isinstance(node, ast.Name) and node.id == name


def _resolved(node: ast.AST, space: Mapping[str, Any]) -> Any:
    """The function or class of the project or of a library that the node names; not one of the language."""
    if isinstance(node, ast.Attribute):
        try:
            return getattr(_resolved(node.value, space), node.attr, None)
        except Exception:  # a property or a lazy module that cannot give it now
            return None
    return space.get(node.id) if isinstance(node, ast.Name) else None


def _texts_of_examples(docstring: str) -> Iterator[str]:
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    for example in examples:
        try:
            tree = ast.parse(example.source)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= MAX_EXAMPLE:
                yield node.value


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
