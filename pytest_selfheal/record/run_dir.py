"""The folder of one run: ``.selfheal/runs/<UTC time>-<short id>/``, and how anything is written into it.

Every run has a folder of its own, so that concurrent runs cannot disturb each other; it holds a lock for as long as it
lives, so that ``selfheal clean`` leaves it alone. Files appear whole, by rename; ``trace.jsonl`` grows as things happen,
so that a run that was killed still has a record.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pytest_selfheal.errors import RecordError

Hide = Callable[[str], str]
"""Redacts secrets; see ``redact.py``."""


def _as_is(text: str) -> str:
    return text


@dataclass
class Run:
    """An open run. Safe to use from several threads."""

    folder: Path
    base: Path
    """The folder of all runs (``.selfheal``)."""
    hide: Hide = _as_is
    author: str | None = None
    """``Name <address>`` for patches; ``None``: the user's git identity."""
    signoff: bool = False
    _trace: IO[str] | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _lock: Any = None
    _zero: float = field(default_factory=time.monotonic)

    @property
    def id(self) -> str:
        return self.folder.name

    def event(self, name: str, /, **data: Any) -> None:
        """Append one event to ``trace.jsonl``: seconds since the start, its name, redacted data.

        A trace that cannot be written (disk full) never stops the work that it describes.
        """
        line = json.dumps(
            {"t": round(time.monotonic() - self._zero, 3), "event": name, **redacted(data, self.hide)},
            ensure_ascii=True,
            default=str,
        )
        with self._mutex, contextlib.suppress(OSError, ValueError):
            if self._trace is not None:
                self._trace.write(line + "\n")
                self._trace.flush()

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file of the run, whole or not at all. ``name`` is relative, POSIX."""
        path = self.folder / name
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content if isinstance(content, bytes) else to_utf8(content))
        return path

    def close(self) -> None:
        """End the run: the trace is closed and the lock released. May be called twice."""
        with self._mutex:
            if self._trace is not None:
                with contextlib.suppress(OSError):
                    self._trace.close()
                self._trace = None
            if self._lock is not None:
                self._lock.close()
                self._lock = None
                with contextlib.suppress(OSError):
                    (self.folder / ".lock").unlink()


def open_run(
    base: Path,
    *,
    top: Path,
    rootdir: Path,
    hide: Hide = _as_is,
    author: str | None = None,
    signoff: bool = False,
) -> Run:
    """Make the folder of a new run below ``base``. Raises :class:`RecordError` where it cannot be written."""
    base = base.absolute()
    with writing(base):
        runs = base / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        ignore = base / ".gitignore"
        if not ignore.exists():
            replace_file(ignore, b"# made by pytest-selfheal: runs stay out of git\n*\n")
        while True:
            folder = runs / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(2)}"
            try:
                folder.mkdir()
                break
            except FileExistsError:
                continue
        run = Run(folder, base, hide, author, signoff)
        run._lock = _hold(folder / ".lock")
        run._trace = (folder / "trace.jsonl").open("a", encoding="utf-8", newline="\n")
    # Relative places, so that a folder that was copied elsewhere (a CI artifact) still fits its checkout.
    run.event(
        "start",
        run=run.id,
        top=os.path.relpath(top, base),
        rootdir=os.path.relpath(rootdir, base),
        author=author,
        signoff=signoff,
        pid=os.getpid(),
    )
    return run


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Events of a run's ``trace.jsonl``; a line that was cut off is skipped."""
    try:
        with (folder / "trace.jsonl").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    yield event
    except OSError:
        return


def point_latest(run: Run) -> None:
    """Let ``.selfheal/latest`` point to the run: a symlink, replaced at once, or a copy where links do not work."""
    latest = run.base / "latest"
    with writing(latest):
        fresh = run.base / f".latest-{run.id}"
        try:
            fresh.symlink_to(Path("runs") / run.id, target_is_directory=True)
        except (OSError, NotImplementedError):
            shutil.copytree(run.folder, fresh, ignore=shutil.ignore_patterns(".lock"))
        if latest.is_dir() and not latest.is_symlink():
            old = run.base / f".old-{run.id}"
            latest.rename(old)
            fresh.rename(latest)
            shutil.rmtree(old, ignore_errors=True)
        else:
            fresh.replace(latest)


def is_active(folder: Path) -> bool:
    """Whether the process that writes this run is still alive."""
    lock = folder / ".lock"
    if not lock.exists():
        return False
    held = _hold(lock)
    if held is None:
        return True
    held.close()
    return False


@contextlib.contextmanager
def exclusive(base: Path, what: str) -> Iterator[None]:
    """Hold ``base`` for one writer at a time; a second one gets a sentence instead of a wait."""
    with writing(base):
        base.mkdir(parents=True, exist_ok=True)
        held = _hold(base / ".apply.lock")
    if held is None:
        raise RecordError(
            f"another process is applying or undoing patches in {base.parent}: {what} again when it has ended."
        )
    try:
        yield
    finally:
        held.close()


def _hold(path: Path) -> IO[bytes] | None:
    """The locked file, or ``None`` when somebody else holds it. The lock dies with its process."""
    handle = path.open("a+b")
    try:
        if os.name == "nt":  # pragma: no cover - Windows
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    except OSError:  # a file system without locks: every run still has its own folder
        pass
    return handle


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says of ``path`` into a sentence for the user."""
    try:
        yield
    except OSError as error:
        raise RecordError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; "
            "free or unlock that place, or give --selfheal-dir another folder."
        ) from None


def replace_file(path: Path, content: bytes, mode: int | None = None, scratch: Path | None = None) -> None:
    """Write ``content`` to ``path`` by rename: a crash leaves the old bytes or the new ones.

    ``mode`` defaults to the old file's; its owner stays too where that is allowed. ``scratch`` is the folder in which the
    new file grows, so that a crash leaves nothing beside ``path``; on another disk than ``path`` it is not used.
    """
    try:
        old: os.stat_result | None = path.stat()
    except OSError:
        old = None
    if mode is None:
        mode = stat.S_IMODE(old.st_mode) if old else 0o666 & ~_umask()
    folder = scratch if scratch is not None and _same_disk(scratch, path.parent) else path.parent
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name[:40]}.", suffix=TEMPORARY)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        if old is not None and hasattr(os, "chown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(OSError):
                os.chown(name, old.st_uid, old.st_gid)
        Path(name).chmod(mode)
        os.replace(name, path)  # noqa: PTH105 - names may be undecodable
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


TEMPORARY = ".selfheal-tmp"


def _same_disk(first: Path, second: Path) -> bool:
    try:
        return first.stat().st_dev == second.stat().st_dev
    except OSError:
        return False


def _umask() -> int:
    # The only portable way to read it; the run's folder is made before worker threads start.
    global _UMASK
    if _UMASK is None:
        _UMASK = os.umask(0o022)
        os.umask(_UMASK)
    return _UMASK


_UMASK: int | None = None


def to_utf8(text: str) -> bytes:
    """UTF-8 bytes of any text; lone surrogates (undecodable names) become ``\\udcXX`` escapes."""
    return text.encode("utf-8", "backslashreplace")


def redacted(value: Any, hide: Hide) -> Any:
    """``value`` with every text in it redacted, for JSON."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {key: redacted(item, hide) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redacted(item, hide) for item in value]
    return value
