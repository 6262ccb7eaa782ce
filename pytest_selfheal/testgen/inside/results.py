"""What a function that came back as a result can be called with."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pytest_selfheal.testgen.inside.clues import Clues
from pytest_selfheal.testgen.inside.hints import ByHint, hints_of
from pytest_selfheal.testgen.inside.values import FUNCTIONS, NOTHING, PLAIN, Option
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_LEVELS = 2
MAX_CALLS = 8
"""Of one result."""
MAX_OPTIONS = 4
_ANYTHING: tuple[Option, ...] = tuple((source, NOTHING) for source in ("1", '"abc"', "[3, 1, 2]", "0"))


def is_function(value: Any) -> bool:
    """Whether a result is there to be called. Classes are results like any other."""
    return callable(value) and not isinstance(value, type)


def calls(given: Input, result: Callable[..., Any], body: ast.AST | None, by_hint: ByHint) -> Iterator[Input]:
    """``given`` with a call of its result, at most :data:`MAX_CALLS`; ``body`` is the target's syntax tree."""
    if given.levels >= MAX_LEVELS:
        return
    level = given.levels + 1
    for row in itertools.islice(_rows(_columns(result, body, by_hint)), MAX_CALLS):
        more = tuple(Argument("()" * level + name, source) for name, (source, _) in row)
        names: frozenset[Name] = frozenset().union(*(option[1] for _, option in row)) if row else NOTHING
        yield replace(
            given, arguments=given.arguments + more, imports=given.imports | names, levels=level, observed=False
        )


_Column = tuple[str, Sequence[Option]]


def _columns(result: Callable[..., Any], body: ast.AST | None, by_hint: ByHint) -> list[_Column]:
    """Names and options of the parameters that have to be given; one of any kind where nobody can say."""
    try:
        parameters = list(inspect.signature(result).parameters.values())
    except (TypeError, ValueError):
        return [("value", _ANYTHING)]
    function = inspect.unwrap(result) if inspect.isfunction(result) else result
    hints = hints_of(function, dict(getattr(function, "__globals__", {})))
    clues = Clues(_inner(body, getattr(function, "__name__", "")), {})
    columns: list[_Column] = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.default is parameter.empty:
                columns.append((parameter.name, _options(parameter.name, hints, clues, by_hint)))
        elif parameter.kind is parameter.VAR_POSITIONAL and not columns:
            # Most such functions hand on to another one that takes one or two.
            columns.append((parameter.name, _ANYTHING))
    return columns


def _options(name: str, hints: dict[str, Any], clues: Clues, by_hint: ByHint) -> Sequence[Option]:
    if name in hints and (found := list(itertools.islice(by_hint.options(hints[name], 2), MAX_OPTIONS))):
        return found
    if clues.is_called(name):
        return FUNCTIONS
    guesses = clues.guesses(name)
    each = [[(source, NOTHING) for source in PLAIN[kind][:MAX_OPTIONS]] for kind in guesses]
    return [option for row in itertools.zip_longest(*each) for option in row if option is not None]


def _inner(body: ast.AST | None, name: str) -> ast.AST | None:
    """The function of that name inside the target."""
    nodes = ast.walk(body) if body is not None else ()
    return next(
        (
            n
            for n in nodes
            if n is not body and isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == name
        ),
        None,
    )


def _rows(columns: Sequence[_Column]) -> Iterator[list[tuple[str, Option]]]:
    widest = max((len(options) for _, options in columns), default=1)
    for i in range(widest):
        yield [(name, options[i % len(options)]) for name, options in columns]
