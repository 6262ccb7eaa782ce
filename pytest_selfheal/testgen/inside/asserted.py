"""What docstrings and existing tests promise of a function, as far as they say so with literals: call → value."""

from __future__ import annotations

import ast
import doctest
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_selfheal.propose.search.examples import of_function
from pytest_selfheal.propose.search.fork import Timer
from pytest_selfheal.testgen.inside.purity import Purity
from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.inside.subject import Subject
from pytest_selfheal.testgen.job import Argument, Input

MAX_EXAMPLES = 40
EXAMPLE_SECONDS = 0.2
"""CPU seconds."""


def by_docstring(subject: Subject) -> Iterator[tuple[Input, Any]]:
    """Examples in the docstring."""
    for example in of_function(subject.function):
        call = ast.parse(example.expression, mode="eval").body
        given = bound(subject, call)
        if given is not None:
            yield given, example.expected


def follow_docstring(subject: Subject) -> None:
    """Run the examples in the function's docstring as far as they run; whoever watches sees its calls."""
    text = subject.function.__doc__ or ""
    if ">>>" not in text:
        return
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return
    space = dict(subject.function.__globals__)
    timer, purity = Timer(), Purity()
    for example in examples[:MAX_EXAMPLES]:
        try:
            with purity.guarded():
                timer.start(EXAMPLE_SECONDS)
                try:
                    exec(compile(example.source, "<docstring>", "single"), space)
                finally:
                    timer.stop()
        except BaseException:
            continue


def by_tests(subject: Subject, texts: Iterable[str]) -> Iterator[tuple[Input, Any]]:
    """Assertions ``f(…) == value`` in the tests' sources."""
    for text in texts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.Is)):
                given = bound(subject, node.left)
                if given is None:
                    continue
                try:
                    yield given, ast.literal_eval(node.comparators[0])
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue


def bound(subject: Subject, call: ast.AST) -> Input | None:
    """A call of the subject with literal arguments as an input; ``None`` for anything else."""
    if not isinstance(call, ast.Call) or subject.has_self or subject.kind == "init":
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != subject.name:
        return None
    try:
        positional = [ast.literal_eval(a) for a in call.args]
        named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        parameters = [p for p in inspect.signature(subject.function).parameters.values() if p.name != "cls"]
        arguments = list(_arguments(parameters, positional, named))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, Unrenderable):
        return None
    return Input(tuple(arguments), observed=True)


def _arguments(parameters: list[inspect.Parameter], positional: list[Any], named: dict[str, Any]) -> Iterator[Argument]:
    render = Renderer().render
    rest = list(positional)
    skipped = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (Argument(f"*{parameter.name}", render(v)) for v in rest)
            rest = []
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield from (Argument(k, render(v), True) for k, v in named.items())
            named = {}
        elif rest and parameter.kind is not parameter.KEYWORD_ONLY:
            yield Argument(parameter.name, render(rest.pop(0)))
        elif parameter.name in named:
            keyword = skipped or parameter.kind is parameter.KEYWORD_ONLY
            yield Argument(parameter.name, render(named.pop(parameter.name)), keyword)
        else:
            skipped = True
    if rest or named:
        raise ValueError("arguments that the function does not take")
