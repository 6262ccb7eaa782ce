"""Limits that a child process puts on itself before it imports any code of the project.

They hold in both sandboxes. A started thread in the parent makes ``preexec_fn`` unsafe, hence the child applies them.
"""

from __future__ import annotations

import contextlib
import sys

MIB = 1024 * 1024


def apply_limits(
    memory_mib: float | None, file_mib: float | None, cpu_seconds: float | None, processes: int | None
) -> None:
    """Lower this process's own limits; children inherit them and cannot raise them again.

    ``memory_mib`` bounds the address space, ``file_mib`` one written file (a larger write fails with ``EFBIG``),
    ``cpu_seconds`` the process's CPU time, ``processes`` the user's processes and threads. ``None`` leaves a limit as
    it is; one that the platform does not know, or that is already lower, stays.
    """
    if sys.platform == "win32":
        return
    import resource
    import signal

    with contextlib.suppress(ValueError):  # not the main thread: the default action, death, limits as well
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    wanted: list[tuple[str, float | None]] = [
        ("RLIMIT_CORE", 0),
        ("RLIMIT_FSIZE", None if file_mib is None else file_mib * MIB),
        ("RLIMIT_CPU", cpu_seconds),
        ("RLIMIT_NPROC", processes),
        ("RLIMIT_AS", None if memory_mib is None else memory_mib * MIB),
    ]
    for name, value in wanted:
        kind = getattr(resource, name, None)
        if kind is None or value is None:
            continue
        _, hard = resource.getrlimit(kind)
        limit = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))


def die_with_parent() -> None:
    """Let the kernel kill this process when the one that started it dies, however that dies. Linux only; elsewhere a
    child outlives a parent that was killed, until its own limits end it."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes
    import os
    import signal

    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it died in between
        os.kill(os.getpid(), signal.SIGKILL)
