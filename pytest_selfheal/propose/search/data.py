"""Values bound by modules, classes and defaults, exchanged in a live process: a quick look before the fresh import.

A :class:`Place` stands where :func:`~pytest_selfheal.propose.search.swap.swap` expects a live function: giving it a code
object computes the new value and puts it where the old one is. What was derived from the old value while modules were
imported does not follow, so that a failure here says little; a pass is worth the fresh import that decides.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply
from pytest_selfheal.propose.search.source import FunctionNode, Source

KEY = "<data>"
"""The name under which a place stands among live functions."""
_SCALARS = (int, float, str, bytes, bool, type(None))


class Place:
    """One value that can be exchanged; ``__code__`` is the expression that computes it."""

    def __init__(
        self, old: Any, put: Callable[[Any], None], names: dict[str, Any], own: Mapping[str, Any] | None = None
    ) -> None:
        """``names`` and ``own`` are the global and the class's names that expressions may use."""
        self._old = old
        self._put = put
        self._names = names
        self._own = own
        self._kept = self._code = compile("None", "<kept>", "eval")

    @property
    def __code__(self) -> CodeType:
        return self._code

    @__code__.setter
    def __code__(self, code: CodeType) -> None:
        """Raises :class:`ValueError` where the value cannot be computed or put."""
        try:
            value = self._old if code is self._kept else eval(code, self._names, dict(self._own or {}))
            self._put(value)
        except Exception as error:
            raise ValueError(f"no place for the value: {error}") from error
        self._code = code


@dataclass(frozen=True)
class _Spot:
    start: int
    end: int
    place: Callable[[], Place | None]


class LiveData:
    """The exchangeable values of one imported file."""

    def __init__(self, source: Source, module: ModuleType, live: Mapping[str, list[FunctionType]]) -> None:
        self._source = source
        self._module = module
        self._live = live
        self._spots = tuple(self._find())
        self._places: dict[int, Place | None] = {}

    @classmethod
    def of(cls, source: Source, path: str, live: Mapping[str, list[FunctionType]]) -> LiveData | None:
        """That of the module that was imported from ``path``; ``None`` where there is none, or more than one."""
        found = [
            module
            for module in list(sys.modules.values())
            if isinstance(module, ModuleType) and os.path.realpath(getattr(module, "__file__", None) or "") == path
        ]
        return cls(source, found[0], live) if len(found) == 1 else None

    def change(self, candidate: Candidate) -> tuple[dict[str, list[FunctionType]], dict[str, CodeType]] | None:
        """Live "functions" and their code for ``swap``; ``None`` when the candidate changes more than one such value.

        Raises :class:`SyntaxError` (or :class:`ValueError`) when the new value is no Python.
        """
        first, last = candidate.edits[0].start, candidate.edits[-1].end
        spot = next((s for s in self._spots if s.start <= first and last <= s.end), None)
        if spot is None:
            return None
        if spot.start not in self._places:
            self._places[spot.start] = spot.place()
        place = self._places[spot.start]
        if place is None:
            return None
        edits = [Edit(e.start - spot.start, e.end - spot.start, e.text) for e in candidate.edits]
        text = apply(self._source.text[spot.start : spot.end], edits)
        code = compile(f"({text}\n)", self._source.path, "eval", dont_inherit=True)
        return {KEY: cast("list[FunctionType]", [place])}, {KEY: code}

    # ------------------------------------------------------------------ where values are

    def _find(self) -> Iterator[_Spot]:
        for node in self._source.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                owner = self._owner(node)
                if owner is not None and len(targets) == 1 and isinstance(targets[0], ast.Name):
                    yield self._bound(node.value, owner, targets[0].id)
        for qualname, function in self._source.functions.items():
            if ".<locals>." not in qualname:
                yield from self._defaults(qualname, function)

    def _owner(self, node: ast.AST) -> list[str] | None:
        """Names of the classes around a statement, outermost first; ``None`` inside a function."""
        names: list[str] = []
        for up in self._source.ancestors(node):
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                return None
            if isinstance(up, ast.ClassDef):
                names.insert(0, up.name)
        return names

    def _bound(self, value: ast.expr, owner: list[str], name: str) -> _Spot:
        def place() -> Place | None:
            holder: Any = self._module
            for part in owner:
                holder = vars(holder).get(part)
                if not isinstance(holder, type):
                    return None
            if name not in vars(holder):
                return None
            old = vars(holder)[name]
            holders = [(holder, name)]
            if not owner:  # other modules that imported it by name
                for module in list(sys.modules.values()):
                    if isinstance(module, ModuleType) and module is not holder:
                        holders += [
                            (module, n) for n, v in list(vars(module).items()) if v is old and _same(n, name, old)
                        ]

            def put(new: Any) -> None:
                for where, called in holders:
                    setattr(where, called, new)

            return Place(old, put, vars(self._module), vars(holder) if owner else None)

        return _Spot(*self._source.span(value), place)

    def _defaults(self, qualname: str, node: FunctionNode) -> Iterator[_Spot]:
        for index, default in enumerate(node.args.defaults):
            yield _Spot(*self._source.span(default), lambda i=index: self._default(qualname, i, ""))  # type: ignore[misc]
        for arg, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if keyword is not None:
                yield _Spot(*self._source.span(keyword), lambda n=arg.arg: self._default(qualname, 0, n))  # type: ignore[misc]

    def _default(self, qualname: str, index: int, keyword: str) -> Place | None:
        functions = self._live.get(qualname, [])
        if len(functions) != 1:
            return None
        function = functions[0]
        positional, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        if keyword not in named if keyword else index >= len(positional):
            return None

        def put(new: Any) -> None:
            if keyword:
                function.__kwdefaults__ = {**named, keyword: new}
            else:
                function.__defaults__ = (*positional[:index], new, *positional[index + 1 :])

        return Place(named[keyword] if keyword else positional[index], put, function.__globals__)


def _same(name: str, original: str, value: Any) -> bool:
    """Whether an identical object elsewhere is the same thing: small values are shared by chance."""
    return name == original or not isinstance(value, _SCALARS)
