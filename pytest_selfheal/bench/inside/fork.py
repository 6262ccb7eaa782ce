"""Run a function in a fork with limits and get its JSON result back."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]


def forked(function: Callable[[], Any], *, cpu: float, memory_mib: float) -> tuple[Any, str]:
    """``function()`` of a fork, and why there is none: ``""``, ``timeout`` or ``died``.

    ``cpu`` limits CPU seconds; wall time is limited to three times that and a second, for functions that sleep.
    """
    if not hasattr(os, "fork"):  # pragma: no cover - Windows: this whole process is the task's own
        return function(), ""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            os.setpgid(0, 0)
            _limit(cpu, memory_mib)
            _silence()
            data = json.dumps(function()).encode("ascii")
            while data:
                data = data[os.write(write_end, data) :]
        except BaseException:
            os._exit(3)
        finally:
            # Nothing of the foreign code may run on in this process: no atexit, no finalisers.
            os._exit(0)
    os.close(write_end)
    data, timed_out = _read(read_end, time.monotonic() + 3 * cpu + 1)
    os.close(read_end)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    try:
        return json.loads(data), ""
    except ValueError:
        return None, "timeout" if timed_out or killed else "died"


def reason_of(verdict: Any, trouble: str) -> str:
    """Why a judge's fork did not end with ``["passed", secret]``."""
    if trouble:
        return trouble
    if isinstance(verdict, list) and len(verdict) == 2 and verdict[0] == "failed":
        return str(verdict[1])
    return "something spoke in the tests' place"


def _read(fd: int, deadline: float) -> tuple[bytes, bool]:
    chunks: list[bytes] = []
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return b"".join(chunks), True
        if not select.select([fd], [], [], remaining)[0]:
            continue
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return b"".join(chunks), False
        chunks.append(chunk)


def _limit(cpu: float, memory_mib: float) -> None:
    if resource is None:  # pragma: no cover
        return
    for kind, value in (
        (resource.RLIMIT_CPU, max(1, round(cpu))),
        (resource.RLIMIT_AS, int(memory_mib * 2**20)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 64 * 2**20),
    ):
        _, hard = resource.getrlimit(kind)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, hard))


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - a descriptor
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
