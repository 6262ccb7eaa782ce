"""The one place that starts processes which run a project's code.

A child gets its own session, so that it and all it started can be killed together; it writes JSON lines into a private
channel (an inherited pipe) and its printed output is kept only as a bounded tail.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_selfheal.errors import SandboxError

MAX_TAIL = 64 * 1024
MAX_MESSAGE = 64 * 1024 * 1024
MAX_DISK_MIB = 4096.0
"""What a child may take from the disk before it is stopped."""
CHANNEL_VARIABLE = "SELFHEAL_CHANNEL"

OnMessage = Callable[[dict[str, Any]], None]

_running: set[int] = set()
_running_lock = threading.Lock()
_stop_all = threading.Event()


@dataclass(frozen=True)
class Finished:
    """How a child ended."""

    status: int
    """Exit status; negative: killed by that signal."""
    timed_out: bool
    output: str
    """The last 64 KiB of stdout and stderr together."""
    seconds: float
    filled: bool = False
    """It was killed because the disk was filling up while it ran."""
    flooded: bool = False
    """The channel carried a line too long to be one of ours."""


def launch(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    on_message: OnMessage | None = None,
    stop: threading.Event | None = None,
    disk: Path | None = None,
    disk_mib: float = MAX_DISK_MIB,
) -> Finished:
    """Run ``argv`` to its end or for ``timeout`` seconds of wall time, handing every channel message to ``on_message``.

    ``stop`` ends it early; so does a disk (the one of ``disk``) that loses more than ``disk_mib`` meanwhile. Raises :class:`SandboxError` when the program cannot be started.
    """
    started = time.monotonic()
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**env, CHANNEL_VARIABLE: str(write_end)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(write_end,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(read_end)
        raise SandboxError(f"Cannot start a test process ({argv[0]}): {error.strerror or error}.") from error
    finally:
        os.close(write_end)
    with _running_lock:
        _running.add(process.pid)
    pump = _Pump(process, read_end, on_message, None if disk is None else _DiskWatch(disk, disk_mib))
    try:
        timed_out = pump.run(started + timeout, stop)
    finally:
        _kill_group(process)
        with _running_lock:
            _running.discard(process.pid)
        pump.drain()
        pump.close()
    return Finished(process.returncode, timed_out, pump.tail(), time.monotonic() - started, pump.filled, pump.flooded)


def stop_everything() -> None:
    """Kill every child (Ctrl-C, a signal): no process of ours outlives us. Later launches end at once."""
    _stop_all.set()
    with _running_lock:
        pids = list(_running)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def allow_starting() -> None:
    """Undo :func:`stop_everything` for a new run in the same interpreter."""
    _stop_all.clear()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _DiskWatch:
    """Looks now and then how much room a disk has lost: many files below the limit of one file fill it as well."""

    def __init__(self, path: Path, mib: float) -> None:
        self.path = path
        self.floor = self._free() - mib * 1024 * 1024
        self.next = time.monotonic() + 0.25

    def is_filling(self) -> bool:
        if time.monotonic() < self.next:
            return False
        self.next = time.monotonic() + 0.25
        return self._free() < self.floor

    def _free(self) -> float:
        try:
            return float(shutil.disk_usage(self.path).free)
        except OSError:
            return math.inf


class _Pump:
    """Reads a child's two pipes until it ends."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        channel: int,
        on_message: OnMessage | None,
        disk: _DiskWatch | None = None,
    ) -> None:
        assert process.stdout is not None
        self.process = process
        self.channel = channel
        self.on_message = on_message
        self.stdout = process.stdout.fileno()
        self.chunks: list[bytes] = []
        self.size = 0
        self.pending = b""
        self.flooded = False
        self.filled = False
        self.disk = disk
        self.open = {self.stdout, channel}
        self.selector = selectors.DefaultSelector()
        for fd in self.open:
            os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ)

    def run(self, deadline: float, stop: threading.Event | None) -> bool:
        """Pump until the child has ended; True when the deadline or ``stop`` came first."""
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or _stop_all.is_set() or (stop is not None and stop.is_set()):
                return True
            if self.process.poll() is not None:
                return False
            if self.disk is not None and self.disk.is_filling():
                self.filled = True
                return False
            if not self.open:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(min(remaining, 0.05))
                continue
            # Short, so that an ended child whose grandchildren hold the pipes open is noticed.
            for key, _ in self.selector.select(min(remaining, 0.1)):
                self._read(int(key.fd))

    def drain(self) -> None:
        """What is still in the pipes of the dead child; never waits for what keeps them open."""
        for fd in list(self.open):
            while fd in self.open and self._read(fd):
                pass

    def _read(self, fd: int) -> bool:
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(fd)
            self.open.discard(fd)
            return False
        if fd == self.stdout:
            self.chunks.append(data)
            self.size += len(data)
            while self.size - len(self.chunks[0]) > MAX_TAIL:
                self.size -= len(self.chunks.pop(0))
        else:
            self._messages(data)
        return True

    def _messages(self, data: bytes) -> None:
        *lines, self.pending = (self.pending + data).split(b"\n")
        if len(self.pending) > MAX_MESSAGE:
            self.flooded, self.pending = True, b""
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                self.flooded = True
                continue
            if not isinstance(message, dict):
                self.flooded = True
            elif self.on_message is not None:
                self.on_message(message)

    def tail(self) -> str:
        return b"".join(self.chunks)[-MAX_TAIL:].decode("utf-8", "replace")

    def close(self) -> None:
        self.selector.close()
        os.close(self.channel)
        assert self.process.stdout is not None
        self.process.stdout.close()
