"""Where no walls can be had: what a child process changes through Python lies below given folders, or it is refused.

A search tries thousands of small changes, and ``os.unlink(f.name)`` is one name away from ``os.unlink(program)``. The
fence is an audit hook: it keeps such accidents from the user's files and processes. It is no wall: code that goes around
Python, as other programs and C extensions do, goes around it.
"""

from __future__ import annotations

# os.path asks quietly where pathlib raises, and is what an audit hook can afford.
# ruff: noqa: PTH100, PTH118, PTH119, PTH120
import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

# Audit events (docs.python.org/3/library/audit_events.html) with the arguments that name what is changed.
_CHANGED: dict[str, tuple[int, ...]] = {
    "os.chflags": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (1,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.removexattr": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.setxattr": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "shutil.chown": (0,),
    "shutil.copyfile": (1,),
    "shutil.copymode": (1,),
    "shutil.copystat": (1,),
    "shutil.copytree": (1,),
    "shutil.move": (0, 1),
    "shutil.rmtree": (0,),
    "shutil.unpack_archive": (1,),
}
_FOLLOWED = frozenset({"os.chmod", "os.chown", "os.truncate", "os.utime", "shutil.copyfile"})
"""What follows a link in the last part of a path."""
_FOLDERS = {"os.mkdir": 2, "os.remove": 1, "os.rmdir": 1}
"""The argument with the folder's descriptor to which a path is relative."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = ("/dev/", "/proc/self/")


def build(folders: Iterable[str]) -> None:
    """Put up the fence for the rest of this process and for its forks."""
    sys.addaudithook(hook(folders))


def hook(folders: Iterable[str]) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that raises :class:`PermissionError` when something outside of the folders would be changed."""
    inside = tuple(os.path.realpath(folder) for folder in folders)
    below = tuple(folder.rstrip(os.sep) + os.sep for folder in inside)

    def refuse(path: Any, follow: bool) -> None:
        if path is None or isinstance(path, int):
            return  # a descriptor: it was looked at when it was opened
        text = os.path.abspath(os.fsdecode(path))
        if text.startswith(_DEVICES):
            return  # by its own name: /dev/stdout leads to wherever the output goes
        real = (
            os.path.realpath(text)
            if follow
            else os.path.join(os.path.realpath(os.path.dirname(text)), os.path.basename(text))
        )
        if real not in inside and not real.startswith(below):
            raise PermissionError(errno.EACCES, "outside of what proposed code may change", real)

    def on_audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if (flags or 0) & _WRITING or (isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode)):
                refuse(path, True)
        elif event in _CHANGED:
            folder = _FOLDERS.get(event)
            if folder is not None and len(arguments) > folder and arguments[folder] not in (None, -1):
                return  # relative to a folder that was looked at, as when a tree is removed
            for position in _CHANGED[event]:
                refuse(arguments[position], event in _FOLLOWED)
        elif event in ("os.kill", "os.killpg") and arguments[1]:  # signal 0 only asks
            _own_process(abs(arguments[0]) if event == "os.kill" else arguments[0], arguments[0] == -1)

    return on_audit


def _own_process(pid: int, everybody: bool) -> None:
    """Signals go to processes of this session only."""
    with contextlib.suppress(ProcessLookupError, AttributeError):
        if everybody or (pid and os.getsid(pid) != os.getsid(0)):
            raise PermissionError(errno.EPERM, f"process {pid} is outside of what proposed code may change")
