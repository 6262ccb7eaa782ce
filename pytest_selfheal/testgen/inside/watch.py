"""What the existing tests do with the targets: the arguments of every call, the lines and branches that run.

Objects of the project's plain classes are followed from their construction, so that a call on one can be written as the
constructor's call and the method calls that tests made on it since.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_INPUTS = 80
MAX_CALLS = 400
MAX_OBJECTS = 3000
MAX_STEPS = 12
_RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Branch = tuple[int, int]


@dataclass
class Seen:
    """What the tests did with one target."""

    inputs: dict[Any, Input] = field(default_factory=dict)
    unrenderable: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    tests: dict[str, None] = field(default_factory=dict)
    """Nodeids of the tests that call it, in order."""
    lines: set[int] = field(default_factory=set)
    branches: set[Branch] = field(default_factory=set)


@dataclass
class _Recipe:
    """How an object was made and what was done with it since."""

    thing: Any
    made: str
    imports: set[Name]
    steps: list[str] = field(default_factory=list)
    name: str = ""
    broken: bool = False


class Watcher:
    """Follows the interpreter's calls while tests run.

    ``targets`` maps ``(real path, name, first line)`` of code to the target's number, and to whether this is the target
    itself rather than a function inside it.
    """

    def __init__(
        self,
        targets: Mapping[tuple[str, str, int], tuple[int, bool]],
        is_code: Callable[[str], bool],
        is_test: Callable[[str], bool],
        places: tuple[str, ...],
    ) -> None:
        self.seen: dict[int, Seen] = {number: Seen() for number, _ in targets.values()}
        self._targets = targets
        self._is_code = is_code
        self._is_test = is_test
        self._places = places
        self._roles: dict[CodeType, tuple[int, bool] | None] = {}
        self._objects: dict[int, _Recipe] = {}
        self._frames: list[FrameType] = []
        self._nodeid = ""

    @contextmanager
    def watching(self, nodeid: str) -> Iterator[None]:
        """Watch while the block runs, which belongs to the test ``nodeid``."""
        before = sys.gettrace()
        self._nodeid = nodeid
        sys.settrace(self._on_call)
        try:
            yield
        finally:
            sys.settrace(before)

    def forget(self) -> None:
        """A test has ended: what it made is of no more use."""
        self._objects.clear()
        self._frames.clear()

    # ------------------------------------------------------------------ tracing

    def _role(self, code: CodeType) -> tuple[int, bool] | None:
        """A target's number; -1 for other code of the project; ``None`` for the rest."""
        if not self._is_code(code.co_filename):
            return None
        key = (os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno)
        return self._targets.get(key, (-1, False))

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        try:
            role = self._roles[code]
        except KeyError:
            role = self._roles[code] = self._role(code)
        if role is None:
            return None
        number, itself = role
        sys.settrace(None)
        try:
            if not self._resumed(frame):
                if itself:
                    self._note_call(number, frame)
                self._follow(frame)
        except Exception:  # values of the code under test may do anything
            pass
        finally:
            sys.settrace(self._on_call)
        return line_tracer(self.seen[number].lines, self.seen[number].branches) if number >= 0 else None

    def _resumed(self, frame: FrameType) -> bool:
        if not frame.f_code.co_flags & _RESUMABLE:
            return False
        if any(known is frame for known in self._frames):
            return True
        if len(self._frames) < MAX_CALLS:
            self._frames.append(frame)
        return False

    # ------------------------------------------------------------------ arguments

    def _note_call(self, number: int, frame: FrameType) -> None:
        seen = self.seen[number]
        seen.calls += 1
        seen.tests.setdefault(self._nodeid)
        if seen.calls > MAX_CALLS or len(seen.inputs) >= MAX_INPUTS:
            return
        renderer = self._renderer()
        try:
            arguments = tuple(self._arguments(frame, renderer))
        except Unrenderable as reason:
            seen.unrenderable[str(reason)] = seen.unrenderable.get(str(reason), 0) + 1
            return
        made = Input(arguments, tuple(renderer.setup), frozenset(renderer.imports), True)
        seen.inputs.setdefault(made.key, made)

    def _renderer(self) -> Renderer:
        return Renderer(self._is_test, self._places, self._rebuilt)

    def _arguments(self, frame: FrameType, renderer: Renderer) -> Iterator[Argument]:
        code, values = frame.f_code, frame.f_locals
        # Objects with a history first, so that their names are bound before they are used.
        for i, name in enumerate(plain_parameters(code)):
            value = values[name]
            if i == 0 and name == "cls" and isinstance(value, type):
                continue
            shown = "self" if i == 0 and name == "self" else name
            yield Argument(shown, renderer.render(value), keyword=i >= code.co_argcount)
        rest, named = collecting_parameters(code)
        for value in values[rest] if rest else ():
            yield Argument(f"*{rest}", renderer.render(value))
        for key, value in values[named].items() if named else ():
            yield Argument(key, renderer.render(value), keyword=True)

    # ------------------------------------------------------------------ objects

    def _follow(self, frame: FrameType) -> None:
        code = frame.f_code
        names = code.co_varnames
        if not code.co_argcount or names[0] != "self":
            return
        thing = frame.f_locals["self"]
        known = self._objects.get(id(thing))
        if code.co_name == "__init__" and known is None:
            if len(self._objects) < MAX_OBJECTS:
                self._objects[id(thing)] = self._construction(thing, frame)
            return
        caller = frame.f_back
        from_test = caller is None or self._roles.get(caller.f_code, None) is None
        if known is None or known.thing is not thing or not from_test or code.co_name == "__init__":
            return
        self._step(known, frame)

    def _construction(self, thing: Any, frame: FrameType) -> _Recipe:
        renderer = self._renderer()
        try:
            made = f"{renderer.name_of(type(thing))}({self._written(frame, renderer)})"
        except Unrenderable:
            return _Recipe(thing, "", set(), broken=True)
        return _Recipe(thing, made, renderer.imports, list(renderer.setup))

    def _step(self, known: _Recipe, frame: FrameType) -> None:
        if known.broken or frame.f_code.co_name.startswith("__"):
            return
        known.name = known.name or _variable(type(known.thing).__name__)
        if len(known.steps) >= MAX_STEPS:
            known.broken = True
            return
        renderer = self._renderer()
        try:
            renderer.bound[id(known.thing)] = known.name
            written = self._written(frame, renderer)
        except Unrenderable:
            known.broken = True
            return
        known.imports |= renderer.imports
        known.steps += [*renderer.setup, f"{known.name}.{frame.f_code.co_name}({written})"]

    def _written(self, frame: FrameType, renderer: Renderer) -> str:
        values = frame.f_locals
        defaults = _defaults(frame)
        parts = []
        skipped = False
        for i, name in enumerate(plain_parameters(frame.f_code)[1:], 1):
            if name in defaults and defaults[name] is values[name]:
                skipped = True
                continue
            keyword = skipped or i >= frame.f_code.co_argcount
            parts.append((f"{name}=" if keyword else "") + renderer.render(values[name]))
        rest, named = collecting_parameters(frame.f_code)
        parts += [renderer.render(v) for v in (values[rest] if rest else ())]
        parts += [f"{k}={renderer.render(v)}" for k, v in (values[named] if named else {}).items()]
        return ", ".join(parts)

    def _rebuilt(self, value: Any, renderer: Renderer) -> str | None:
        known = self._objects.get(id(value))
        if known is None or known.broken or known.thing is not value:
            return None
        renderer.imports |= known.imports
        if not known.steps:
            return known.made
        name = known.name or _variable(type(value).__name__)
        if any(line.startswith(f"{name} = ") for line in renderer.setup):
            raise Unrenderable(f"two objects of {type(value).__qualname__} with a history")
        renderer.setup += [f"{name} = {known.made}", *known.steps]
        renderer.bound[id(value)] = name
        return name


def line_tracer(lines: set[int], branches: set[Branch]) -> Callable[[FrameType, str, Any], Any]:
    """A local trace function that notes lines and the steps between them; a return is a step to line 0."""
    last = 0

    def on_event(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal last
        if event == "line":
            line = frame.f_lineno
            lines.add(line)
            if last:
                branches.add((last, line))
            last = line
        elif event == "return" and last:
            branches.add((last, 0))
        return on_event

    return on_event


def plain_parameters(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def collecting_parameters(code: CodeType) -> tuple[str, str]:
    """Names of ``*args`` and ``**kwargs``, empty where there are none."""
    position = code.co_argcount + code.co_kwonlyargcount
    rest = named = ""
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[position]
        position += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named = code.co_varnames[position]
    return rest, named


def _defaults(frame: FrameType) -> dict[str, Any]:
    owner = type(frame.f_locals["self"])
    function = inspect.unwrap(getattr(owner, frame.f_code.co_name, None) or (lambda: None))
    if getattr(function, "__code__", None) is not frame.f_code:
        return {}
    count = frame.f_code.co_argcount
    given = function.__defaults__ or ()
    names = frame.f_code.co_varnames[count - len(given) : count]
    return {**dict(zip(names, given, strict=True)), **(function.__kwdefaults__ or {})}


def _variable(name: str) -> str:
    """``ShoppingList`` → ``shopping_list``."""
    out = "".join(
        f"_{c.lower()}" if c.isupper() and i and not name[i - 1].isupper() else c.lower() for i, c in enumerate(name)
    )
    return out.strip("_") or "thing"
