"""Functions that were never written: their failing tests are a specification, and writing them is work for a model."""

from __future__ import annotations

import ast
import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_selfheal import parsing
from pytest_selfheal.types import Failure


def find_stub(failure: Failure, sources: Mapping[str, str], test_source: str) -> str | None:
    """``path: function()`` of the stub that the failure ran into; ``None`` when there is none.

    ``sources`` maps paths of the code under test to their text. A stub raises NotImplementedError, or its body is only
    a docstring, ``pass`` or ``...``.
    """
    called = _called_in(test_source)
    raised = any(link.exception == "NotImplementedError" for link in failure.chain)
    frames = {frame.function.rpartition(".")[2] for link in failure.chain for frame in link.frames}
    written = {name for source in sources.values() for name in _definitions(source).written} if not raised else set()
    for path, source in sources.items():
        for name, abstract in _definitions(source).stubs:
            # A name says little: another function may have it, or a type of the language.
            is_called = name in called.plainly or (name in called.as_methods and name not in _OF_THE_LANGUAGE)
            is_it = is_called and not abstract and name not in written
            if (raised and name in frames) or (not raised and is_it):
                return f"{path}: {name}()"
    return None


_OF_THE_LANGUAGE = {
    name
    for kind in (str, bytes, int, float, list, dict, set, frozenset, tuple, io.TextIOWrapper, io.BytesIO, Path)
    for name in dir(kind)
}


class _Definitions(NamedTuple):
    """Names of a module's functions."""

    stubs: tuple[tuple[str, bool], ...]
    """Each with whether it is meant to be one: abstract, an overload."""
    written: frozenset[str]


@functools.lru_cache(maxsize=4096)
def _definitions(source: str) -> _Definitions:
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return _Definitions((), frozenset())
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return _Definitions(
        tuple((node.name, _is_abstract(node)) for node in functions if is_stub(node)),
        frozenset(node.name for node in functions if not is_stub(node)),
    )


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function has no body worth the name."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return all(_says_nothing(statement) for statement in body)


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Raise) and statement.exc is not None:
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        "abstract" in ast.unparse(decorator) or "overload" in ast.unparse(decorator)
        for decorator in node.decorator_list
    )


class _Called(NamedTuple):
    plainly: frozenset[str]
    as_methods: frozenset[str]


def _called_in(source: str) -> _Called:
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return _Called(frozenset(), frozenset())
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return _Called(
        frozenset(function.id for function in functions if isinstance(function, ast.Name)),
        frozenset(function.attr for function in functions if isinstance(function, ast.Attribute)),
    )
