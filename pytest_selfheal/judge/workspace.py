"""Plain copies of the user's project to run tests in. The user's own tree and ``.git`` are only ever read.

A run's copies, temporary folders and caches live in one folder below the system's temporary folder. A lock file in it is
held while the run lives, so that the next run can tell, and remove, what a killed one left behind.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

from pytest_selfheal.errors import WorkspaceError
from pytest_selfheal.judge.environment import child_environment
from pytest_selfheal.judge.sandbox import View, choose
from pytest_selfheal.judge.unused import unused_plugins
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import FileChange

try:
    import fcntl
except ImportError:  # Windows: stale folders are then told by their age alone
    fcntl = None  # type: ignore[assignment]

PREFIX = "pytest-selfheal-"
LOCK = "lock"
NEEDED_SUFFIXES = frozenset((".py", ".so", ".pyd", ".dylib", ".dll", ".json", ".toml", ".txt", ".cfg", ".ini"))
"""Ignored files of these kinds that lie beside tracked ones are copied: generated modules (``_version.py``), built
extensions, small data."""
NOTICED = 12
"""Tests that are kept for having noticed a bad patch: they are asked first of the next one."""
NEEDED_MAX_BYTES = 20 * 1024 * 1024


class Workspace:
    """One copy of the project's top. Use as a context manager; leaving it removes the copy."""

    def __init__(self, workshop: Workshop, top: Path) -> None:
        self.workshop = workshop
        self.top = top
        project = workshop.project
        self.rootdir = top / project.prefix if project.prefix else top
        self.seen_top = workshop.sandbox.seen_as(View(copy=top, original=project.top))
        self.seen_rootdir = self.seen_top / project.prefix if project.prefix else self.seen_top

    def seen(self, path: Path) -> Path:
        """A path of the user's tree as a child in this workspace sees it; others are returned as they are."""
        if not path.is_relative_to(self.workshop.project.top):
            return path
        return self.seen_top / path.relative_to(self.workshop.project.top)

    def write(self, changes: Iterable[FileChange]) -> None:
        """Write the ``after`` bytes of changes. Raises :class:`WorkspaceError` when a path leaves the copy."""
        for change in changes:
            path = self.top / change.path
            if not path.resolve().is_relative_to(self.top.resolve()):
                raise WorkspaceError(f"{change.path} is not inside the project, so nothing was written.")
            if change.after is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(change.after)

    def close(self) -> None:
        _remove(self.top)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Workshop:
    """What one run needs to judge code: its temporary folder, the sandbox, and the copies. Close it at the run's end."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self.sandbox, self.notes = choose(settings, project.top)
        clean_stale()
        self.folder, self._lock_file = _claim()
        self._lock = threading.RLock()
        self._pristine: Workspace | None = None
        self.deadline = math.inf
        """On the monotonic clock: no child runs past it (``--selfheal-total-time``)."""
        self.usual: set[str] = set()
        """:attr:`.run.ChildRun.altered` of the runs without any patch."""
        self._unused: tuple[str, ...] | None = None
        self._unpatched: dict[str, str] = {}
        self.assertions: dict[str, int] = {}
        """Assertions that each test executes unpatched, as far as they were counted; of a failing test, up to its failure."""
        self.noticed: tuple[str, ...] = ()
        """Passing tests that broke under a patch of this run, the last ones first."""
        self.shared_tmp = self.folder / "tmp"
        """A temporary folder that outlives a single child: a test that alternates through a file flickers here as well."""
        self.shared_tmp.mkdir()

    # ------------------------------------------------------------------ copies

    @property
    def pristine(self) -> Workspace:
        """The project as it was when the tests failed. Made on first use; nobody writes in it."""
        with self._lock:
            if self._pristine is None:
                self._pristine = Workspace(self, self._copy_project())
            return self._pristine

    def fresh(self, changes: Iterable[FileChange] = ()) -> Workspace:
        """A new copy with ``changes`` written into it."""
        top = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder)) / self.project.top.name
        try:
            _copy_tree(self.pristine.top, top)
            workspace = Workspace(self, top)
            workspace.write(changes)
        except (OSError, shutil.Error) as error:
            _remove(top.parent)
            raise WorkspaceError(_cannot_copy(self.project.top, error)) from error
        return workspace

    def rebased(self, changes: Iterable[FileChange]) -> Workshop:
        """A workshop whose pristine copy already has ``changes``: for failures that only appear once these are made."""
        other = Workshop(self.project, self.settings)
        other.deadline = self.deadline
        other._unused = self._unused
        other._pristine = self._moved(other, changes)
        return other

    def _moved(self, other: Workshop, changes: Iterable[FileChange]) -> Workspace:
        top = other.folder / "pristine" / self.project.top.name
        _copy_tree(self.pristine.top, top)
        workspace = Workspace(other, top)
        workspace.write(changes)
        return workspace

    def _copy_project(self) -> Path:
        from pytest_selfheal.record.patch import list_files

        top = self.folder / "pristine" / self.project.top.name
        top.mkdir(parents=True)
        try:
            names = dict.fromkeys(list_files(self.project.top))
            if self.project.git:
                names.update(dict.fromkeys(_needed_although_ignored(self.project.top)))
            for name in names:
                _copy_one(self.project.top, top, name)
            for folder in (self.project.rootdir, self.project.invocation_dir):
                (top / folder.relative_to(self.project.top)).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(_cannot_copy(self.project.top, error)) from error
        return top

    # ------------------------------------------------------------------ children

    def child_folder(self) -> Path:
        """A private folder for one child: its configuration, cache and temporary files."""
        try:
            box = Path(tempfile.mkdtemp(prefix="child-", dir=self.folder))
            (box / "tmp").mkdir()
        except OSError as error:
            raise WorkspaceError(_cannot_copy(self.project.top, error)) from error
        return box

    def release(self, box: Path) -> None:
        _remove(box)

    def environment(self, workspace: Workspace, box: Path, tmp: Path | None = None) -> dict[str, str]:
        """The environment of a child: no credentials, the copy's import roots first, its own temporary folder."""
        env = child_environment(self.settings)
        roots = [str(workspace.seen(root)) for root in self.project.import_roots]
        inherited = [
            str(workspace.seen(Path(entry).absolute()))
            for entry in env.get("PYTHONPATH", "").split(os.pathsep)
            if entry
        ]
        path = list(dict.fromkeys(roots + inherited))
        if path:
            env["PYTHONPATH"] = os.pathsep.join(path)
        else:
            env.pop("PYTHONPATH", None)
        for name in ("TMPDIR", "TEMP", "TMP"):
            env[name] = str(tmp or box / "tmp")
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["PWD"] = str(self.sandbox_cwd(workspace))
        return env

    @property
    def unused(self) -> tuple[str, ...]:
        """Plugins that children do without, see :mod:`.unused`."""
        with self._lock:
            if self._unused is None:
                self._unused = unused_plugins(self.project, self.pristine.top)
            return self._unused

    def view(self, workspace: Workspace, box: Path, tmp: Path | None = None) -> View:
        return View(
            copy=workspace.top,
            original=self.project.top,
            writable=(box, tmp) if tmp is not None else (box,),
        )

    def sandbox_cwd(self, workspace: Workspace) -> Path:
        """The folder in which pytest was started, as the child sees it."""
        return workspace.seen(self.project.invocation_dir)

    def unpatched(self, nodeids: Iterable[str]) -> dict[str, str]:
        """Outcomes of tests in the pristine copy; each is run once per run of ours and then remembered."""
        from pytest_selfheal.judge.run import run_tests

        asked = tuple(dict.fromkeys(nodeids))
        with self._lock:
            missing = [nodeid for nodeid in asked if nodeid not in self._unpatched]
        if missing:
            outcomes = run_tests(self, self.pristine, missing).outcomes
            with self._lock:
                self._unpatched.update({nodeid: outcomes.get(nodeid, "missing") for nodeid in missing})
        with self._lock:
            return {nodeid: self._unpatched[nodeid] for nodeid in asked}

    def known_unpatched(self, nodeid: str) -> str | None:
        """What :meth:`unpatched` found already."""
        with self._lock:
            return self._unpatched.get(nodeid)

    def notice(self, nodeids: Iterable[str]) -> None:
        """Remember passing tests that a bad patch broke, the last ones first."""
        with self._lock:
            self.noticed = tuple(dict.fromkeys((*nodeids, *self.noticed)))[:NOTICED]

    # ------------------------------------------------------------------ end

    def close(self) -> None:
        """Remove everything this run made outside ``.selfheal``."""
        self._lock_file.close()
        _discard(self.folder)

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def clean_stale() -> None:
    """Remove the folders of runs that were killed: those whose lock nobody holds."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError), (folder / LOCK).open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _discard(folder)


def _claim() -> tuple[Path, IO[bytes]]:
    """A new folder and its lock, held. Made under another name first: a folder without a held lock counts as stale."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        lock = (folder / LOCK).open("wb")
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Resolved: pytest resolves its rootdir, and nodeids must agree (a temp folder may be a symlink).
        final = folder.resolve().with_name(folder.name[1:])
        folder.rename(final)
    except OSError as error:
        raise WorkspaceError(
            f"Cannot make a temporary folder in {tempfile.gettempdir()} ({error.strerror or error}): "
            "free some space there or point TMPDIR elsewhere."
        ) from error
    return final, lock


def _needed_although_ignored(top: Path) -> Iterable[str]:
    """Ignored single files that tests may need. Wholly ignored folders (environments, builds) stay behind."""
    from pytest_selfheal.record import git

    repo = git.find_repo(top)
    if repo is None:
        return
    listed = git.in_repo(
        repo, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory"
    )
    for name in os.fsdecode(listed.out).split("\0"):
        path = top / name
        if name and not name.endswith("/") and path.suffix in NEEDED_SUFFIXES and not path.name.startswith("."):
            with contextlib.suppress(OSError):
                if path.is_file() and path.stat().st_size <= NEEDED_MAX_BYTES:
                    yield name


def _copy_one(source_top: Path, top: Path, name: str) -> None:
    source, target = source_top / name, top / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        link = str(source.readlink())
        if Path(link).is_absolute() and Path(link).is_relative_to(source_top):
            # Would lead a test's writes back into the user's tree.
            link = os.path.relpath(link, source.parent)
        target.symlink_to(link)
        return
    with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
        shutil.copy2(source, target, follow_symlinks=False)


def _copy_tree(source: Path, target: Path) -> None:
    """Tests may be running in ``source``: what they remove while it is copied is not missed."""
    try:
        shutil.copytree(source, target, symlinks=True)
    except shutil.Error as error:
        if any(os.path.lexists(name) for name, _, _ in error.args[0]):
            raise


def _cannot_copy(top: Path, error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
    return (
        f"Cannot make a working copy of {top} in {tempfile.gettempdir()} ({reason}): "
        "free some space there or point TMPDIR elsewhere."
    )


def _discard(folder: Path) -> None:
    """Remove a run's folder, its lock last: what cannot be removed now, the next run can tell, and removes."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name != LOCK:
                _remove(path)
        if [path.name for path in folder.iterdir()] == [LOCK]:
            _remove(folder)


def _remove(folder: Path) -> None:
    def writable(function: object, path: str, _info: object) -> None:
        with contextlib.suppress(OSError):
            if Path(path) != folder:  # never the folder that ours lies in
                os.chmod(Path(path).parent, 0o700)  # noqa: PTH101
            if not Path(path).is_symlink():  # proposed code may have left one to a file of the user's
                os.chmod(path, 0o700)  # noqa: PTH101
            function(path)  # type: ignore[operator]

    with contextlib.suppress(OSError):
        shutil.rmtree(folder, onerror=writable)
