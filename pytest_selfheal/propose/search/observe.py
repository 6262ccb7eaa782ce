"""What the tests execute: project lines per test, and the calls that cross from test to project with their arguments.

For forked children only: it sets the interpreter's trace function.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

_Name = tuple[str, str]
"""File and qualified name of a function."""

MAX_CALLS = 400
MAX_DEPTH = 64
MAX_MEMBERS = 20_000


@dataclass
class Trace:
    """Lines that ran, as ``{path: {line}}``; how deep below the test each function was first called."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    depths: dict[tuple[str, int], int] = field(default_factory=dict)
    """``(path, first line of the function)`` → depth of its first call; 0: by the test itself."""


@contextmanager
def _following(on_call: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """With this trace function, in all threads; then with the one from before again."""
    before = sys.gettrace()
    threading.settrace(on_call)
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)


@contextmanager
def tracing(paths: Callable[[str], bool]) -> Iterator[Trace]:
    """Record lines of files that ``paths`` accepts (by ``co_filename``) while the block runs."""
    trace = Trace()
    watched: dict[CodeType, tuple[set[int], Callable[[FrameType, str, Any], Any]] | None] = {}

    def on_call(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        try:
            entry = watched[code]
        except KeyError:
            entry = watched[code] = watch(code, frame)
        if entry is None:
            return None
        entry[0].add(frame.f_lineno)
        return entry[1]

    def watch(code: CodeType, frame: FrameType) -> tuple[set[int], Callable[[FrameType, str, Any], Any]] | None:
        if not paths(code.co_filename):
            return None
        path = os.path.realpath(code.co_filename)
        depth, caller = 0, frame.f_back
        while caller is not None and depth < MAX_DEPTH:
            depth += watched.get(caller.f_code) is not None
            caller = caller.f_back
        trace.depths.setdefault((path, code.co_firstlineno), depth)
        seen = trace.lines.setdefault(path, set())
        add = seen.add

        # One for all calls of the function: this is what a test spends its time in.
        def on_line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                add(frame.f_lineno)
            return on_line

        return seen, on_line

    with _following(on_call):
        yield trace


@contextmanager
def membership(names_of: Mapping[CodeType, _Name]) -> Iterator[set[tuple[_Name, str, str]]]:
    """Record ``(function, variable, collection)``: at a call's end the variable's value, a text, was in a global collection.

    ``names_of`` says which code is followed, and by what name.
    """
    found: set[tuple[_Name, str, str]] = set()
    known: dict[int, list[tuple[str, frozenset[Any]]]] = {}

    def on_call(frame: FrameType, event: str, arg: Any) -> Any:
        return on_line if frame.f_code in names_of else None

    def on_line(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            names = frame.f_globals
            if id(names) not in known:
                known[id(names)] = list(collections_of(names))
            for variable, value in frame.f_locals.items():
                if type(value) is str and len(value) > 1:
                    held = (collection for collection, members in known[id(names)] if value in members)
                    found.update((names_of[frame.f_code], variable, collection) for collection in held)
        return on_line

    with _following(on_call):
        yield found


def collections_of(names: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[Any]]]:
    """Collections of texts among global names, with their members."""
    for name, value in list(names.items()):
        if type(value) in (tuple, list, set, frozenset, dict) and 2 <= len(value) <= MAX_MEMBERS:
            members = frozenset(member for member in value if type(member) is str)
            if len(members) >= 2 and not name.startswith("__"):
                yield name, members


@dataclass
class Call:
    """One call that was seen, with copies of its arguments as they were when it began."""

    key: tuple[str, int]
    """``(path, first line)`` of the function's code."""
    arguments: dict[str, Any]
    order: tuple[str, ...]
    """Names of the arguments as the function declares them; ``*`` and ``**`` mark the collecting ones."""


@contextmanager
def recording(paths: Callable[[str], bool], extra: Iterable[tuple[str, int]] = ()) -> Iterator[list[Call]]:
    """Record calls from outside the project's files into them, and every call of the functions in ``extra``.

    Calls whose arguments cannot be copied are left out; so is everything beyond :data:`MAX_CALLS`, fairly by function.
    """
    calls: list[Call] = []
    counts: dict[tuple[str, int], int] = {}
    also = frozenset(extra)
    ours: dict[CodeType, bool] = {}

    def is_ours(code: CodeType) -> bool:
        known = ours.get(code)
        if known is None:
            known = ours[code] = paths(code.co_filename)
        return known

    def on_call(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event != "call" or not is_ours(code) or code.co_name.startswith("<"):
            return
        key = (os.path.realpath(code.co_filename), code.co_firstlineno)
        entry = frame.f_back is None or not is_ours(frame.f_back.f_code)
        if (not entry and key not in also) or counts.get(key, 0) >= MAX_CALLS // 4 or len(calls) >= MAX_CALLS:
            return
        counts[key] = counts.get(key, 0) + 1
        sys.settrace(None)
        try:
            calls.append(_call(key, code, frame))
        except Exception:  # a value that refuses to be copied
            pass
        finally:
            sys.settrace(on_call)

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield calls
    finally:
        sys.settrace(before)


def _call(key: tuple[str, int], code: CodeType, frame: FrameType) -> Call:
    plain = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:plain])
    order = list(names)
    position = plain
    if code.co_flags & 0x04:
        names.append(code.co_varnames[position])
        order.insert(code.co_argcount, "*" + code.co_varnames[position])
        position += 1
    if code.co_flags & 0x08:
        names.append(code.co_varnames[position])
        order.append("**" + code.co_varnames[position])
    values = frame.f_locals
    return Call(key, copy.deepcopy({name: values[name] for name in names}), tuple(order))
