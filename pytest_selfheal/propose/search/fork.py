"""Forked children of the engine: silent, limited, and never able to become a second engine."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

GROWTH = 256 * 1024 * 1024
"""Bytes of address space that a forked child may add to what the engine has."""


FINE = 0.015
"""CPU seconds below which a limit needs a finer clock."""


class CpuTimeout(BaseException):
    """The code under test used up its time. Not an :class:`Exception`, so that ``except Exception`` lets it pass."""


class Timer:
    """Raises :class:`CpuTimeout` in the running code after so many CPU (or wall) seconds, and again until it ends."""

    def __init__(self) -> None:
        self._armed = False
        self._until = self._latest = 0.0
        self._kinds: tuple[int, ...] = ()
        signal.signal(signal.SIGPROF, self._fire)

    def start(self, seconds: float, wall: float = math.inf) -> None:
        """No clock is read where that is not needed: somebody may watch who reads clocks."""
        self._armed = True
        self._until = self._latest = math.inf
        self._kinds, tick = (), wall
        # The repetitions are for code that swallows the first one.
        if seconds >= FINE:
            self._kinds = (signal.ITIMER_PROF,)
            signal.setitimer(signal.ITIMER_PROF, seconds, max(seconds / 4, 0.02))
        else:
            # The kernel counts ITIMER_PROF in ticks of up to 10 ms. Below that, look at the clock now and then.
            self._until, tick = time.process_time() + seconds, seconds
        if wall < math.inf:
            self._latest = time.monotonic() + wall
        if tick < math.inf:
            self._kinds = (*self._kinds, signal.ITIMER_REAL)
            signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, tick, tick / 2)

    def stop(self) -> None:
        self._armed = False
        for kind in self._kinds:
            signal.setitimer(kind, 0)

    def _look(self, signum: int, frame: FrameType | None) -> None:
        if self._armed and (time.process_time() >= self._until or time.monotonic() >= self._latest):
            raise CpuTimeout

    def _fire(self, signum: int, frame: FrameType | None) -> None:
        if self._armed:
            raise CpuTimeout


def fork() -> int:
    """``os.fork`` without the warning about threads: the child runs tests only, never those threads' work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def prepare_child(close: tuple[int, ...] = ()) -> None:
    """First thing in a forked child: no output, no private channel, bounded memory."""
    for fd in close:
        with contextlib.suppress(OSError):
            os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = _address_space() + GROWTH
        if soft == resource.RLIM_INFINITY or limit < soft:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()


def peak_memory() -> tuple[float, float]:
    """MiB that this process, and the largest of its children, have had in memory at most (both count shared pages)."""
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    own, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own / unit, child / unit


class Usage:
    """CPU seconds of the forked children so far, added up as each one is reaped."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def reap(self, pid: int, block: bool = True) -> bool:
        """Wait for a child (or look, without ``block``); whether it has ended."""
        try:
            done, _, used = os.wait4(pid, 0 if block else os.WNOHANG)
        except ChildProcessError:
            return True
        if done:
            self.seconds += used.ru_utime + used.ru_stime
        return bool(done)


def call(function: Callable[[], T], timeout: float, usage: Usage, close: tuple[int, ...] = ()) -> T | None:
    """``function()`` in a forked child; ``None`` when the child died, raised or took longer than ``timeout`` (wall).

    The result must pickle.
    """
    read_end, write_end = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.close(read_end)
            # In a child of a child, the number of what was closed before may be that of the new pipe.
            prepare_child(tuple(fd for fd in close if fd != write_end))
            _RESULT_FD.append(write_end)
            finish(function())
        except BaseException:
            pass
        finally:
            os._exit(0)
    os.close(write_end)
    data, ended = _collect(read_end, pid, time.monotonic() + timeout, usage)
    os.close(read_end)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        usage.reap(pid)
    try:
        result: T | None = pickle.loads(data) if data else None
    except Exception:  # cut off in the middle
        return None
    return result


_RESULT_FD: list[int] = []


def finish(result: object) -> None:
    """End this child of :func:`call` at once with a result, from however deep inside its function."""
    data = pickle.dumps(result)
    while data:
        data = data[os.write(_RESULT_FD[-1], data) :]
    os._exit(0)


def _collect(fd: int, pid: int, deadline: float, usage: Usage) -> tuple[bytes, bool]:
    chunks: list[Any] = []
    ended = False
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0 and not ended:
            return b"".join(chunks), False
        ready, _, _ = select.select([fd], [], [], 0.0 if ended else min(remaining, 0.1))
        if ready:
            data = os.read(fd, 1 << 16)
            if not data:
                return b"".join(chunks), ended or usage.reap(pid)
            chunks.append(data)
        elif ended:  # something it started holds the pipe open
            return b"".join(chunks), True
        else:
            ended = usage.reap(pid, block=False)  # what it wrote since the last look is still to be read
