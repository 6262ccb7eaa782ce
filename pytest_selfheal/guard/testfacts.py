"""What the failing tests say: the literals that they pass in and expect. Read from their source, never run."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_selfheal import parsing
from pytest_selfheal.types import Diagnosis

Pair = tuple[str, str]


class TestFacts:
    """Literals are compared as :func:`literal` writes them."""

    __test__ = False  # not a test class, whatever its name

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.names = tuple(
            dict.fromkeys(
                nodeid.partition("[")[0].rpartition("::")[2] for nodeid in diagnosis.nodeids if "::" in nodeid
            )
        )
        self.expected_exceptions = frozenset(
            name.rpartition(".")[2] for failure in diagnosis.failures for name in failure.expected_exception
        )
        self.messages = tuple(failure.message for failure in diagnosis.failures)
        base = Path(diagnosis.rootdir or diagnosis.root) if (diagnosis.rootdir or diagnosis.root) else None
        self._trees = []
        self.text = ""
        for name in dict.fromkeys(failure.path for failure in diagnosis.failures if failure.path):
            if base is None or not name.endswith(".py"):
                continue
            try:
                source = (base / name).read_bytes()
                self._trees.append(parsing.parse(source))
            except (OSError, SyntaxError, ValueError):
                continue
            self.text += source.decode("utf-8", "replace")

    def mentions(self, *words: str) -> bool:
        """Whether the failing tests' files speak of one of ``words``."""
        return any(word in self.text for word in words)

    @functools.cached_property
    def inputs(self) -> frozenset[str]:
        """Literals handed to the code under test, whole values and the elements of nested ones that are telling."""
        return frozenset(value for node in self._relevant() for value in _inputs(node)) | {
            given for given, _ in self.pairs
        }

    @functools.cached_property
    def expected(self) -> frozenset[str]:
        """Literals that assertions compare with."""
        return frozenset(value for node in self._relevant() for value in _expected(node))

    @functools.cached_property
    def pairs(self) -> frozenset[Pair]:
        """Input and expected value of one assertion or one parametrised case."""
        return frozenset(pair for node in self._relevant() for pair in _pairs(node))

    @functools.cached_property
    def answer_groups(self) -> tuple[frozenset[str], ...]:
        """Telling results that the failing tests themselves expect (their whole files where they name none): those that
        they compare with, and those in rows of cases, which may also be rows of an input."""
        own = [
            node
            for tree in self._trees
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in self.names
        ]
        found = [{result for node in own for _, result in find(node)} for find in (_compared, _rows)]
        if not any(found):
            found = [{result for _, result in self.pairs}]
        return tuple(frozenset(filter(is_telling, results)) for results in found)

    @functools.cached_property
    def answers(self) -> frozenset[str]:
        """All of :attr:`answer_groups`."""
        return frozenset().union(*self.answer_groups)

    @functools.cached_property
    def input_parts(self) -> frozenset[str]:
        """Elements of the collections that tests pass in."""
        return frozenset(part for value in self.inputs for part in _parts(value))

    @functools.cached_property
    def expected_parts(self) -> frozenset[str]:
        """Elements of the collections that assertions compare with, where they are telling."""
        return frozenset(part for value in self.expected for part in _parts(value) if is_telling(part))

    def derived(self, function: str) -> frozenset[str]:
        """What ``len``, ``sum``, ``min``, ``max``, ``sorted``, ``str``, … give for the tests' inputs."""
        if function not in _DERIVING:
            return frozenset()
        return self._derived(function)

    @functools.lru_cache(maxsize=16)  # noqa: B019 - lives as long as one review
    def _derived(self, function: str) -> frozenset[str]:
        results = set()
        for text in self.inputs:
            try:
                results.add(canonical(_DERIVING[function](ast.literal_eval(text))))
            except Exception:
                continue  # not for this type
        return frozenset(results)

    def _relevant(self) -> Iterator[ast.AST]:
        """The failing tests, and what else their files hold: helpers, data, fixtures."""
        yield from self._trees


_DERIVING: dict[str, Callable[[Any], object]] = {
    "len": len, "sum": sum, "min": min, "max": max, "sorted": sorted, "str": str, "repr": repr, "tuple": tuple,
    "list": list, "set": set, "abs": abs, "int": int, "float": float,
}  # fmt: skip


def _parts(text: str) -> Iterator[str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        for part in value:
            yield canonical(part)
            yield from _parts(canonical(part))


def literal(node: ast.AST) -> str | None:
    """Canonical text of a literal expression; lists and tuples look alike, as do ``1`` and ``1.0``, ``3 + 4`` and ``7``."""
    try:
        inverted = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
        value = _arithmetic(node) if inverted or isinstance(node, ast.BinOp) else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return canonical(value)


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_MOST_DIGITS = 10**9
_HIGHEST = 30
"""Exponents and widths of shifts beyond this are not followed."""


def _arithmetic(node: ast.AST) -> int | float | complex:
    """A number that is written as a sum, a product, … of numbers. Raises ``ValueError`` for anything else."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _arithmetic(node.left), _arithmetic(node.right)
        if isinstance(node.op, ast.Pow | ast.LShift | ast.RShift) and not (type(right) is int and right <= _HIGHEST):
            raise ValueError
        try:
            value = _OPERATORS[type(node.op)](left, right)
        except ArithmeticError as error:
            raise ValueError from error
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        value = _arithmetic(node.operand)
        value = ~value if isinstance(value, int) else value
    else:
        value = ast.literal_eval(node)
    if not isinstance(value, int | float | complex) or abs(value) > _MOST_DIGITS:
        raise ValueError
    return value


def canonical(value: object) -> str:
    """Text of a plain value such that values a test would call equal have equal texts (as far as that goes)."""
    if isinstance(value, bool | None):
        return repr(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return repr(int(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{canonical(k)}: {canonical(v)}" for k, v in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(canonical, value))) + "}"
    return repr(value)


_TRIVIAL = frozenset(("None", "True", "False", "''", "b''", "[]", "{}", "0", "1", "-1", "2", "10", "' '"))


def is_telling(text: str) -> bool:
    """Whether a literal is special enough that meeting it in a patch is no coincidence."""
    return text not in _TRIVIAL


def _inputs(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _is_assertion(node):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _values(argument)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from _values(node.value)
        elif isinstance(node, ast.For):
            yield from _values(node.iter)


def _values(node: ast.AST, depth: int = 0) -> Iterator[str]:
    """A literal and, for the rows of tables, its parts; literals inside a longer expression as well."""
    text = literal(node)
    if text is not None:
        yield text
    if depth < 4:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.Call):
                yield from _values(child, depth + 1)


def _expected(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from _values(side)
        elif isinstance(node, ast.Call):
            if _is_assertion(node):
                for argument in node.args:
                    yield from _values(argument)
            elif _called(node) in ("parametrize", "param", "approx"):
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    yield from _values(argument)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from _values(node.value)  # ``expected = [1, 2]``, a table of cases
        elif isinstance(node, ast.For):
            yield from _values(node.iter)


def _pairs(tree: ast.AST) -> Iterator[Pair]:
    yield from _compared(tree)
    yield from _rows(tree)


def _compared(tree: ast.AST) -> Iterator[Pair]:
    """Arguments of a call and what its value is compared with."""
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            sides = [node.left, node.comparators[0]]
        elif isinstance(node, ast.Call) and _is_assertion(node) and len(node.args) >= 2:
            sides = node.args[:2]
        if sides:
            for given, wanted in (sides, sides[::-1]):
                result = literal(wanted)
                if result is None:
                    continue
                for call in ast.walk(given):
                    if isinstance(call, ast.Call):
                        arguments = [literal(argument) for argument in call.args]
                        yield from ((argument, result) for argument in arguments if argument is not None)
                        if len(arguments) > 1 and None not in arguments:
                            yield "[" + ", ".join(str(argument) for argument in arguments) + "]", result


def _rows(tree: ast.AST) -> Iterator[Pair]:
    """First and last cells of the rows of a table of cases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            for row in node.elts:
                if isinstance(row, ast.Tuple | ast.List | ast.Call):
                    cells = [literal(cell) for cell in (row.args if isinstance(row, ast.Call) else row.elts)]
                    if len(cells) >= 2 and cells[-1] is not None:
                        yield from ((cell, cells[-1]) for cell in cells[:-1] if cell is not None)
                        if len(cells) > 2 and None not in cells:
                            yield "[" + ", ".join(str(cell) for cell in cells[:-1]) + "]", cells[-1]
        elif isinstance(node, ast.Dict):  # a table of cases by input
            for key, value in zip(node.keys, node.values, strict=True):
                left, right = (literal(key) if key is not None else None), literal(value)
                if left is not None and right is not None:
                    yield left, right


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_assertion(node: ast.Call) -> bool:
    return _called(node).startswith(("assert", "fail"))
