"""Other versions of the code, tried in forked processes: the old one, and mutants."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import TypeVar

from pytest_selfheal.propose.search import fork
from pytest_selfheal.propose.search.swap import swap
from pytest_selfheal.testgen.inside.candidate import Surroundings

T = TypeVar("T")
Codes = Mapping[str, CodeType]
PER_FORK = 12


class Versions:
    """``live`` maps qualified names to the functions whose code is exchanged."""

    def __init__(self, around: Surroundings, live: Mapping[str, list[FunctionType]]) -> None:
        self._around = around
        self._live = live
        self.deadline = math.inf
        """On the monotonic clock: no process is started any more after it."""

    def each(self, versions: Sequence[Codes | None], look: Callable[[], T], patience: float = 2.0) -> list[T | None]:
        """``look()`` under each version (``None``: the code as it is), several to a process.

        ``None`` where a version has no place in the running program, ended its process, took too long (``patience``: wall
        seconds for each), or was not reached in time.
        """
        found: list[T | None] = [None] * len(versions)
        for start in range(0, len(versions), PER_FORK):
            if time.monotonic() > self.deadline:
                break
            numbers = range(start, min(start + PER_FORK, len(versions)))
            batch = self._forked([versions[n] for n in numbers], look, patience)
            if batch is None and len(numbers) > 1:  # one of them took the process with it: which?
                batch = []
                for n in numbers:
                    alone = None if time.monotonic() > self.deadline else self._forked([versions[n]], look, patience)
                    batch.append(alone[0] if alone else None)
            for n, answer in zip(numbers, batch or (), strict=False):
                found[n] = answer
        return found

    def _forked(
        self, versions: Sequence[Codes | None], look: Callable[[], T], patience: float
    ) -> list[T | None] | None:
        def run() -> list[T | None]:
            answers: list[T | None] = []
            for version in versions:
                with self._swapped(version) as fits:
                    answers.append(look() if fits else None)
            return answers

        return fork.call(run, 2.0 + patience * len(versions), self._around.usage, self._around.close)

    @contextmanager
    def _swapped(self, version: Codes | None) -> Iterator[bool]:
        before = {name: [f.__code__ for f in self._live.get(name, ())] for name in version or ()}
        try:
            fits = version is None or swap(self._live, version)
            self._around.live.clear_caches()
            yield fits
        finally:
            for name, codes in before.items():
                for function, code in zip(self._live.get(name, ()), codes, strict=True):
                    function.__code__ = code
