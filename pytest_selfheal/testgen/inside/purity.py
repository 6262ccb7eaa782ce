"""Keeps explored calls from doing harm, and tells those whose answer depends on more than their arguments.

For forked children only: an audit hook cannot be removed again.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_FILES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.listdir",
)
_FORBIDDEN = {
    **dict.fromkeys((*_FILES, "os.scandir", "os.utime", "os.chdir", "shutil.rmtree", "glob.glob"), "works with files"),
    **dict.fromkeys(
        ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"), "uses the network"
    ),
    **dict.fromkeys(
        (
            "subprocess.Popen",
            "os.system",
            "os.exec",
            "os.fork",
            "os.forkpty",
            "os.posix_spawn",
            "os.spawn",
            "pty.spawn",
        ),
        "starts processes",
    ),
    **dict.fromkeys(("os.putenv", "os.unsetenv"), "changes the environment"),
    **dict.fromkeys(("os.kill", "signal.pthread_kill"), "sends signals"),
    **dict.fromkeys(
        ("sqlite3.connect", "ctypes.dlopen", "webbrowser.open", "builtins.input"), "needs the world outside"
    ),
}
_LIBRARY = tuple(os.path.realpath(p) for p in {sys.prefix, sys.base_prefix, str(Path(os.__file__).parent)})
_CODE = (".py", ".pyc", ".so", ".pyd", ".pth")
_CLOCKS = frozenset(
    ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "localtime", "gmtime", "ctime",
     "asctime", "strftime", "process_time", "sleep")
)  # fmt: skip
_OF_THE_MOMENT = {
    "getcwd": "the current folder",
    "getpid": "the process",
    "urandom": "chance",
    "getlogin": "the user",
    "uname": "the machine",
    "gethostname": "the machine",
    "id": "addresses in memory",
}


_BOOKKEEPING = ("/asyncio/", "/logging/", "/threading.py", "/selectors.py", "/concurrent/", "/queue.py")
"""Parts of the standard library that read the clock without it reaching their caller."""


class Forbidden(BaseException):
    """The code under test reached for the world outside. Not an :class:`Exception`, so that few handlers swallow it."""


class Purity:
    """Watches calls. Install once in a process; only what happens inside :meth:`guarded` is looked at."""

    def __init__(self) -> None:
        self.reason = ""
        self._active = False
        self._hidden: Any = getattr(random, "_inst", None)
        sys.addaudithook(self._on_audit)

    @contextmanager
    def guarded(self, moments: bool = False) -> Iterator[None]:
        """Refuse I/O in the block; :attr:`reason` tells afterwards what was tried. ``moments``: clock and chance as well."""
        self.reason, self._active = "", True
        if moments:
            sys.setprofile(self._on_profile)
        try:
            yield
        finally:
            self._active = False
            if moments:
                sys.setprofile(None)

    def _on_audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._active:
            return
        reason = _FORBIDDEN.get(event, "")
        if event == "open" and args and _is_foreign(args):
            reason = "works with files"
        if reason:
            self.reason = self.reason or reason
            raise Forbidden(reason)

    def _on_profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call" and not _is_bookkeeping(frame, depth=1):
            owner, name = getattr(arg, "__self__", None), getattr(arg, "__name__", "")
            module = getattr(arg, "__module__", None) or getattr(owner, "__name__", "")
            if (module == "time" and name in _CLOCKS) or (
                name in ("now", "today", "utcnow") and isinstance(owner, type) and owner.__module__ == "datetime"
            ):
                self.reason = self.reason or "depends on the clock"
            elif name == "id" and os.path.realpath(frame.f_code.co_filename).startswith(_LIBRARY):
                pass  # how libraries recognise objects, deepcopy for one
            elif name in _OF_THE_MOMENT and module in ("posix", "nt", "builtins", "_socket"):
                self.reason = self.reason or f"depends on {_OF_THE_MOMENT[name]}"
            elif owner is not None and owner is self._hidden:
                self.reason = self.reason or "depends on chance"
        elif (
            event == "call"
            and frame.f_code.co_name in ("__getitem__", "encodekey")
            and frame.f_code.co_filename == os.__file__
            and not _is_bookkeeping(frame)
        ):
            self.reason = self.reason or "depends on the environment"


def _is_bookkeeping(frame: FrameType, depth: int = 4) -> bool:
    """Whether one of the innermost frames belongs to such a part of the library."""
    place: FrameType | None = frame
    for _ in range(depth):
        if place is None:
            return False
        if any(part in place.f_code.co_filename for part in _BOOKKEEPING):
            return True
        place = place.f_back
    return False


def _is_foreign(args: tuple[Any, ...]) -> bool:
    """Whether an opened file is more than the interpreter reading code."""
    path, mode, flags = (*args, None, None, None)[:3]
    if isinstance(path, int):
        return False
    writes = isinstance(mode, str) and any(c in mode for c in "wax+")
    writes = writes or (isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR)))
    if writes:
        return True
    name = os.fsdecode(path) if isinstance(path, (str, bytes)) else str(path)
    return not (name.endswith(_CODE) or os.path.realpath(name).startswith(_LIBRARY))
