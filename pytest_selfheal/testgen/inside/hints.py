"""Values for a type hint, as source."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import inspect
import itertools
import types
import typing
from collections.abc import Iterator
from typing import Any

from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.inside.values import ABSTRACT, FUNCTIONS, LAZY, PLAIN, STANDARD, Option
from pytest_selfheal.testgen.job import Name


def namespace(function: Any, tree: ast.Module, node: ast.AST | None) -> dict[str, Any]:
    """What the function's module knows, with what is imported for type checkers only and inside the function."""
    space = dict(function.__globals__)
    guarded = [n for n in tree.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    for place in [*guarded, *([node] if node is not None else [])]:
        for statement in ast.walk(place):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                with contextlib.suppress(Exception):
                    exec(compile(ast.Module([statement], []), "<imports>", "exec"), space)
    return space


def hints_of(function: Any, space: dict[str, Any]) -> dict[str, Any]:
    """Type hints by parameter, as far as they can be evaluated."""
    try:
        return typing.get_type_hints(function, space)
    except Exception:
        found = {}
        for name, hint in getattr(function, "__annotations__", {}).items():
            with contextlib.suppress(Exception):
                found[name] = eval(hint, space) if isinstance(hint, str) else hint
        return found


def fits(source: str, hint: Any) -> bool:
    """Whether a literal may be an argument of this type, as far as its type is a plain one."""
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError):
        return True
    kinds = [hint, *typing.get_args(hint)]
    plain = [kind for kind in kinds if kind in PLAIN and kind is not object]
    return not plain or type(value) in plain


class ByHint:
    """Options for type hints."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def rendered(self, value: Any) -> Option:
        """Raises :class:`~pytest_selfheal.testgen.inside.render.Unrenderable`."""
        self._renderer.imports.clear()
        return self._renderer.render(value), frozenset(self._renderer.imports)

    def options(self, hint: Any, depth: int) -> Iterator[Option]:
        """Values of that type, likely ones first; ``depth`` bounds how deeply they are nested."""
        nothing: frozenset[Name] = frozenset()
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            yield from self.options(args[0], depth)
        elif origin in (typing.Union, types.UnionType):
            each = [list(self.options(a, depth)) for a in args]
            yield from (o for row in itertools.zip_longest(*each) for o in row if o is not None)
        elif origin is typing.Literal:
            yield from (self.rendered(a) for a in args)
        elif isinstance(hint, typing.TypeVar):
            yield from self.options(hint.__bound__ or (hint.__constraints__ or (object,))[0], depth)
        elif hint in PLAIN:
            yield from ((s, nothing) for s in PLAIN[hint])
        elif hint is Any:
            yield from ((s, nothing) for s in PLAIN[object])
        elif origin is not None and depth:
            yield from self._container(origin, args, depth)
        elif isinstance(hint, type):
            yield from self._of_class(hint, depth)

    def _container(self, origin: Any, args: tuple[Any, ...], depth: int) -> Iterator[Option]:
        name = getattr(origin, "__name__", "")
        inner = [list(itertools.islice(self.options(a, depth - 1), 4)) for a in args if a is not ...]
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
            yield from FUNCTIONS
        elif name in ("Iterator", "Generator"):
            yield from LAZY
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
        if kind in STANDARD:
            yield from STANDARD[kind]
            return
        if issubclass(kind, enum.Enum):
            with contextlib.suppress(Unrenderable):
                yield from [self.rendered(member) for member in list(kind)[:5]]
            return
        for plain, sources in PLAIN.items():
            if plain is not object and kind.__name__ in ABSTRACT.get(plain, ()):
                yield from ((s, frozenset()) for s in sources)
                return
        if depth and kind.__module__ != "builtins":
            yield from self.constructed(kind, depth)

    def constructed(self, kind: type, depth: int) -> Iterator[Option]:
        """Calls of a class, with options for what its constructor wants."""
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
            options = list(itertools.islice(self.options(hints.get(parameter.name, object), depth - 1), 4))
            if not options:
                return
            columns.append(
                [(f"{parameter.name}={s}" if parameter.kind is parameter.KEYWORD_ONLY else s, n) for s, n in options]
            )
        for i in range(3 if columns else 1):
            row = [c[min(i, len(c) - 1)] for c in columns]
            names: frozenset[Name] = frozenset().union(own, *(n for _, n in row))
            yield f"{name}({', '.join(s for s, _ in row)})", names
