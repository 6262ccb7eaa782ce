"""Exchange the code of live functions: every reference to a function follows, through decorators, closures and imports.

Only for use in a forked child: what is swapped there ends with the process.
"""

from __future__ import annotations

import copy
import functools
import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

Key = tuple[Any, ...]


class LiveFunctions:
    """The function objects that run a file's code, by qualified name as the file defines them.

    A decorated function, a method, a closure that was made while modules were imported: all are found, because the
    garbage collector knows them all. Build it before ``gc.freeze()``.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        wanted = {os.path.realpath(path) for path in paths}
        real: dict[str, str] = {}
        self._by_file: dict[str, list[FunctionType]] = {path: [] for path in wanted}
        self._caches: list[Any] = []
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is FunctionType:
                name = thing.__code__.co_filename
                path = real.get(name)
                if path is None:
                    path = real[name] = os.path.realpath(name)
                if path in wanted:
                    self._by_file[path].append(thing)
            elif kind is functools._lru_cache_wrapper:
                self._caches.append(thing)
        self._named: dict[str, dict[str, list[FunctionType]]] = {}

    def of(self, path: str, text: str) -> Mapping[str, list[FunctionType]]:
        """Live functions of a file by qualified name; ``text`` is what the file was imported from."""
        path = os.path.realpath(path)
        if path not in self._named:
            names: dict[tuple[str, int], str | None] = {}
            for qualname, code in _walk(compile(text, path, "exec", dont_inherit=True), ""):
                key = (code.co_name, code.co_firstlineno)
                names[key] = None if key in names else qualname  # two lambdas on one line cannot be told apart
            found: dict[str, list[FunctionType]] = {}
            for function in self._by_file.get(path, ()):
                qualname = names.get((function.__code__.co_name, function.__code__.co_firstlineno)) or ""
                if qualname:
                    found.setdefault(qualname, []).append(function)
            self._named[path] = found
        return self._named[path]

    def by_line(self) -> dict[tuple[str, int], list[FunctionType]]:
        """All of them by real path and first line."""
        found: dict[tuple[str, int], list[FunctionType]] = {}
        for path, functions in self._by_file.items():
            for function in functions:
                found.setdefault((path, function.__code__.co_firstlineno), []).append(function)
        return found

    def clear_caches(self) -> None:
        """Forget what ``functools.lru_cache`` remembers of the code that ran before."""
        for cache in self._caches:
            cache.cache_clear()


def _walk(code: CodeType, prefix: str) -> Iterator[tuple[str, CodeType]]:
    """Functions below a code object with their qualified names; class bodies only lend their names."""
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            continue
        qualname = f"{prefix}{constant.co_name}"
        optimized = bool(constant.co_flags & 0x1)  # CO_OPTIMIZED: a function; a class body is not
        if optimized:
            yield qualname, constant
        yield from _walk(constant, f"{qualname}.<locals>." if optimized else f"{qualname}.")


def swap(live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType]) -> bool:
    """Give the live functions the new code; ``False`` when a function has no place for it.

    That is so when the edit changed which variables of an enclosing scope are used: then only a fresh import tells.
    """
    done = False
    for qualname, code in codes.items():
        for function in live.get(qualname, ()):
            try:
                function.__code__ = code
            except ValueError:
                return False
            done = True
    return done


def code_key(code: CodeType) -> Key:
    """What decides the behaviour of a code object: equal keys, equal behaviour, whatever the line numbers."""
    constants = tuple(
        code_key(c)
        if isinstance(c, CodeType)
        else (type(c).__name__, repr(c) if isinstance(c, (float, complex, tuple, frozenset)) else c)
        for c in code.co_consts
    )
    handlers = getattr(code, "co_exceptiontable", b"")
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, handlers)


class State:
    """What a candidate may change for the next one in the same process: names of modules and classes, and containers there.

    The copies are shallow: enough for lazily made singletons, registries, counters and caches, and cheap.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._owners: list[ModuleType | type] = []
        for module in modules:
            self._owners.append(module)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    self._owners.append(value)
        self._saved: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._before = 0

    def save(self) -> None:
        """Remember the state as it is now."""
        self._saved = []
        for owner in self._owners:
            names = dict(vars(owner))
            contents = {n: copy.copy(v) for n, v in names.items() if type(v) in _CONTAINERS}
            self._saved.append((names, contents))
        self._before = self._fingerprint()

    def is_changed(self) -> bool:
        """Whether anything is not as it was at :meth:`save`."""
        return self._fingerprint() != self._before

    def restored(self) -> bool:
        """Put back what changed since :meth:`save`; ``False`` where that is not possible."""
        if not self.is_changed():
            return True
        try:
            for owner, (names, contents) in zip(self._owners, self._saved, strict=True):
                self._restore(owner, names, contents)
        except (AttributeError, TypeError, RuntimeError):
            return False
        return self._fingerprint() == self._before

    @staticmethod
    def _restore(owner: ModuleType | type, names: dict[str, Any], contents: dict[str, Any]) -> None:
        now = vars(owner)
        for name in [n for n in now if n not in names]:
            delattr(owner, name)
        for name, value in names.items():
            if now.get(name) is not value:
                setattr(owner, name, value)
        for name, content in contents.items():
            value = names[name]
            if len(value) != len(content):
                value.clear()
                (value.extend if isinstance(value, (list, bytearray)) else value.update)(content)

    def _fingerprint(self) -> int:
        total = 0
        for owner in self._owners:
            space = vars(owner)
            for value in space.values():
                total = total * 31 + id(value)
                if type(value) in _CONTAINERS:
                    total += len(value)
            total &= 0xFFFFFFFFFFFFFFFF
        return total


_CONTAINERS = frozenset({list, dict, set, bytearray})
