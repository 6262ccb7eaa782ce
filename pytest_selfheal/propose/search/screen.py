"""Judge many candidates a second: forked children of a collected session swap code and run the failing tests.

One fork judges a whole batch; results come back through shared memory, so that a child that dies, hangs or is killed
costs one candidate, and the next child goes on behind it. What passes here is *plausible*, never healed.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import select
import signal
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

from pytest_selfheal.propose.search import fork
from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.fork import CpuTimeout, Timer, Usage
from pytest_selfheal.propose.search.swap import State, swap

UNTOUCHED, RUNNING, FAILED, PLAUSIBLE, TIMEOUT, NO_PLACE = range(6)

_ROW = struct.Struct("<ddq")
MAX_BATCH = 400
_CHANGED = _ROW.size * MAX_BATCH
"""Where the children note that a run of the tests has changed the state."""


@dataclass
class Task:
    """A compiled candidate on its way through the screen."""

    candidate: Candidate
    live: Mapping[str, list[FunctionType]]
    codes: Mapping[str, CodeType]
    status: int = UNTOUCHED
    fitness: float = 0.0
    cpu: float = 0.0
    retried: bool = False


Evaluate = Callable[[], tuple[bool | None, float]]
"""Runs the tests on the code as it is now: whether all pass (``None``: no time left), and how close they came (0..1)."""


class Screener:
    """Sends batches of tasks through forked children."""

    def __init__(
        self,
        evaluate: Evaluate,
        endings: Callable[[], object],
        prepare: Callable[[], None],
        between: Callable[[], None],
        state: State,
        usage: Usage,
        close: tuple[int, ...],
        enough: Callable[[], bool],
    ) -> None:
        """``endings`` runs the tests and says all that can be told of how they end; ``prepare`` runs once in each child,
        ``between`` before each candidate; ``enough`` ends a batch early."""
        self._evaluate = evaluate
        self._endings = endings
        self._prepare = prepare
        self._between = between
        self._state = state
        self._usage = usage
        self._close = close
        self._enough = enough
        self._shared = mmap.mmap(-1, _ROW.size * MAX_BATCH + 1)
        self._puts_back: bool | None = None
        """Whether the tests do twice the same where state that they change is put back; ``None``: nobody had to know."""
        self.may_ask = True
        """Whether that may be tried out; an endless test would never end."""
        self.cpu_limit = 0.1
        """CPU seconds for one candidate."""
        self.waiting = math.inf
        """Wall seconds for one candidate, where the tests wait for what never comes."""
        self.wall_limit = 2.0
        """Seconds without progress after which a child is killed."""
        self.sturdy = False
        """The tests are bare calls: one that was interrupted leaves nothing half done."""
        self.forks = 0

    def screen(self, tasks: Sequence[Task]) -> None:
        """Fill in ``status``, ``fitness`` and ``cpu`` of each task; at most :data:`MAX_BATCH` of them."""
        position = 0
        while position < len(tasks) and not (position and self._enough()):
            position = self._run(tasks, position)
            if self.may_ask and self._puts_back is None and self._shared[_CHANGED]:
                self._puts_back = self._is_the_same_again()
                if not self._puts_back:
                    position = 0  # of these, the first one alone found what it should
        for i, task in enumerate(tasks[:position]):
            task.fitness, task.cpu, task.status = _ROW.unpack_from(self._shared, i * _ROW.size)

    def alone(self, task: Task) -> Task:
        """Judge one task in a process of its own."""
        single = Task(task.candidate, task.live, task.codes)
        self.screen([single])
        return single

    def _run(self, tasks: Sequence[Task], start: int) -> int:
        """One child from ``start`` on; returns where the next one has to begin."""
        for i in range(start, len(tasks)):
            _ROW.pack_into(self._shared, i * _ROW.size, 0.0, 0.0, UNTOUCHED)
        self.forks += 1
        read_end, write_end = os.pipe()
        pid = fork.fork()
        if pid == 0:
            try:
                os.close(read_end)
                fork.prepare_child(self._close)
                self._child(tasks, start)
            except BaseException:
                pass
            finally:
                os._exit(0)
        os.close(write_end)
        self._watch(pid, read_end, start, len(tasks))
        os.close(read_end)
        position = start
        while position < len(tasks) and self._status(position) > RUNNING:
            position += 1
        if position < len(tasks) and self._status(position) == RUNNING:
            _ROW.pack_into(self._shared, position * _ROW.size, 0.0, self.cpu_limit, TIMEOUT)
            position += 1
        elif position == start:  # died before its first candidate: no use in trying for ever
            _ROW.pack_into(self._shared, position * _ROW.size, 0.0, 0.0, NO_PLACE)
            position += 1
        return position

    def _status(self, i: int) -> int:
        return int(_ROW.unpack_from(self._shared, i * _ROW.size)[2])

    def _child(self, tasks: Sequence[Task], start: int) -> None:
        timer = Timer()
        self._prepare()
        threads = threading.active_count()
        self._state.save()
        shared, size = self._shared, _ROW.size
        for i in range(start, len(tasks)):
            task = tasks[i]
            _ROW.pack_into(shared, i * size, 0.0, 0.0, RUNNING)
            originals = {name: [f.__code__ for f in task.live.get(name, ())] for name in task.codes}
            status, fitness = FAILED, 0.0
            began = time.process_time()
            try:
                self._between()
                if swap(task.live, task.codes):
                    timer.start(self.cpu_limit, self.waiting)
                    try:
                        passed, fitness = self._evaluate()
                    finally:
                        timer.stop()
                    status = PLAUSIBLE if passed else TIMEOUT if passed is None else FAILED
                else:
                    status = NO_PLACE
            except CpuTimeout:
                status = TIMEOUT
            except BaseException:
                status = FAILED
            for name, codes in originals.items():
                for function, code in zip(task.live.get(name, ()), codes, strict=True):
                    with contextlib.suppress(ValueError):
                        function.__code__ = code
            _ROW.pack_into(shared, i * size, fitness, time.process_time() - began, status)
            if (
                (status == TIMEOUT and not self.sturdy)
                or threading.active_count() != threads
                or not self._is_restored()
            ):
                return  # it may have left something behind: the next candidate gets a clean process

    def _is_restored(self) -> bool:
        if not self._state.is_changed():
            return True
        self._shared[_CHANGED] = 1
        return self._puts_back is not False and self._state.restored()

    def _is_the_same_again(self) -> bool:
        """Run the tests unpatched, put back what they changed, and run them again, in a child.

        What is made on first use may be remembered by something that is not put back, which then misses it.
        """

        def twice() -> bool:
            timer, seen = Timer(), []
            self._prepare()
            self._state.save()
            for _ in range(2):
                self._between()
                timer.start(2 * self.cpu_limit)
                try:
                    seen.append(self._endings())
                finally:
                    timer.stop()
                if not self._state.restored():
                    return False
            return seen[0] == seen[1]

        return fork.call(twice, self.wall_limit, self._usage, self._close) is True

    def _watch(self, pid: int, fd: int, start: int, stop: int) -> None:
        """Until the child has ended; kill it when one candidate takes too long in wall time."""
        current, since = start, time.monotonic()
        watched = [fd]
        while True:
            ready, _, _ = select.select(watched, [], [], 0.05 if watched else 0.001)
            if ready:  # closed: the child ends, or the code under test closed it
                watched = []
            if self._usage.reap(pid, block=False):
                return
            position = current
            while position < stop and self._status(position) > RUNNING:
                position += 1
            if position != current:
                current, since = position, time.monotonic()
            elif time.monotonic() - since > self.wall_limit:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._usage.reap(pid)
                return
