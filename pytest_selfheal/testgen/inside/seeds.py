"""First inputs for a function: type hints, defaults, and what its body does with its parameters."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_selfheal.testgen.inside import duck, results
from pytest_selfheal.testgen.inside.clues import Clues
from pytest_selfheal.testgen.inside.hints import ByHint, fits, hints_of, namespace
from pytest_selfheal.testgen.inside.mutants import find_function
from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.inside.subject import Subject
from pytest_selfheal.testgen.inside.values import FUNCTIONS, LAZY, NO_NUMBERS, NOTHING, OTHER_KINDS, PLAIN, Option
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_SEEDS = 160
MAX_OPTIONS = 16
_Column = list[tuple[Argument, frozenset[Name]]]


class Seeds:
    """Makes inputs for one subject, whose file's source is ``text``."""

    def __init__(self, subject: Subject, text: str, renderer: Renderer) -> None:
        self._subject = subject
        tree = ast.parse(text)
        self._node = node = find_function(tree, subject.target.qualname)
        space = namespace(subject.function, tree, node)
        self.clues = Clues(node, space)
        self._by_hint = ByHint(renderer)
        self._hints = hints_of(subject.function, space)

    def inputs(self) -> Iterator[Input]:
        """Inputs, likely ones first, at most :data:`MAX_SEEDS`."""
        columns, optional = self._columns()
        if columns is not None:
            yield from itertools.islice(self._combined(columns, optional), MAX_SEEDS)

    def spares(self) -> list[tuple[Argument, frozenset[Name]]]:
        """Optional arguments, by keyword, to add to inputs that do not have them."""
        return [option for column in self._columns()[1] for option in column]

    def calls_of(self, given: Input, result: Any) -> Iterator[Input]:
        """``given`` with a call of the function that came back."""
        return results.calls(given, result, self._node, self._by_hint)

    def _columns(self) -> tuple[list[_Column] | None, list[_Column]]:
        """Options for each parameter that has to be given (``None``: there is none for one of them), and for each other one."""
        try:
            signature = inspect.signature(self._subject.function)
        except (TypeError, ValueError):
            return None, []
        columns: list[_Column] = []
        optional: list[_Column] = []
        complete = True
        for i, parameter in enumerate(signature.parameters.values()):
            if i == 0 and (self._subject.kind == "init" or (self._subject.kind == "class" and parameter.name == "cls")):
                continue
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            own = i == 0 and self._subject.has_self
            name = "self" if own else parameter.name
            keyword = parameter.kind is parameter.KEYWORD_ONLY
            may_be_left_out = parameter.default is not parameter.empty
            if may_be_left_out and parameter.kind is parameter.POSITIONAL_ONLY:
                continue
            options = self._receivers() if own else self._options(parameter)
            column = [(Argument(name, source, keyword or may_be_left_out), imports) for source, imports in options]
            if may_be_left_out:
                optional.append(column)
            elif column:
                columns.append(column)
            else:
                complete = False
        return columns if complete else None, optional

    def _combined(self, columns: Sequence[_Column], optional: Sequence[_Column]) -> Iterator[Input]:
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
        for options in optional:
            for option in options[:8]:
                for row in rows[:3]:
                    yield made((*row, option))

    def _receivers(self) -> list[Option]:
        return list(dict.fromkeys(self._by_hint.constructed(self._subject.owner, 3)))

    def _options(self, parameter: inspect.Parameter) -> list[Option]:
        """Values for a parameter, of every kind that it may be; likely ones first."""
        name, clues, hint = parameter.name, self.clues, self._hints.get(parameter.name)
        groups: list[list[Option]] = [self._rendered(clues.constants(name))]
        if hint is not None:
            groups = [[option for option in groups[0] if fits(option[0], hint)], list(self._by_hint.options(hint, 3))]
        groups += [list(self._by_hint.options(kind, 3)) for kind in clues.kinds(name)]
        if parameter.default is not parameter.empty:
            groups.insert(1, self._rendered([parameter.default]))
            kind = type(parameter.default)
            if kind in PLAIN and parameter.default is not None:
                groups.append(_plain(kind))
        if hint is None and (clues.is_called(name) or clues.is_asked_whether_callable(name)):
            groups.append(list(FUNCTIONS))
        if hint is None and (not clues.is_called(name) or clues.is_asked_whether_callable(name)):
            groups += [_plain(kind) for kind in clues.guesses(name)]
        if str in (hint, *typing.get_args(hint)) or (hint is None and str in clues.guesses(name)):
            groups.insert(1, self._rendered(clues.examples()))
        groups.insert(0, list(duck.options(name, hint, clues)))
        if clues.is_lazy(name):
            groups.append(list(LAZY))
        if clues.knows_no_numbers():
            groups.append(list(NO_NUMBERS))
        if clues.may_be_of_another_type(name):
            groups.append(list(OTHER_KINDS))
        return _interleaved(groups)[:MAX_OPTIONS]

    def _rendered(self, values: Sequence[Any]) -> list[Option]:
        found = []
        for value in values:
            with contextlib.suppress(Unrenderable):
                found.append(self._by_hint.rendered(value))
        return found


def _plain(kind: Any) -> list[Option]:
    return [(source, NOTHING) for source in PLAIN[kind]]


def _interleaved(groups: Sequence[Sequence[Option]]) -> list[Option]:
    """The first of each group, then the second of each, …; each option once."""
    rows = itertools.zip_longest(*(group for group in groups if group))
    return list(dict.fromkeys(option for row in rows for option in row if option is not None))
