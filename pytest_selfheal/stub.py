"""Functions that were never written: their failing tests are a specification, and writing them is work for a model."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from pytest_selfheal import parsing
from pytest_selfheal.types import Failure


def find_stub(failure: Failure, sources: Mapping[str, str], test_source: str) -> str | None:
    """``path: function()`` of the stub that the failure ran into; ``None`` when there is none.

    ``sources`` maps paths of the code under test to their text. A stub raises NotImplementedError, or its body is only
    a docstring, ``pass`` or ``...``.
    """
    called = _called_names(test_source)
    raised = any(link.exception == "NotImplementedError" for link in failure.chain)
    frames = {frame.function.rpartition(".")[2] for link in failure.chain for frame in link.frames}
    for path, source in sources.items():
        for name, abstract in _stubs(source):
            if (raised and name in frames) or (not raised and name in called and not abstract):
                return f"{path}: {name}()"
    return None


@functools.lru_cache(maxsize=4096)
def _stubs(source: str) -> tuple[tuple[str, bool], ...]:
    """Names of a module's stubs, and whether they are meant to be: abstract, an overload."""
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(
        (node.name, _is_abstract(node))
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_stub(node)
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


def _called_names(source: str) -> frozenset[str]:
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            names.add(function.id if isinstance(function, ast.Name) else getattr(function, "attr", ""))
    return frozenset(names)
