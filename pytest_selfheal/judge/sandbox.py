"""How a process that runs a proposer's code is walled off: ``bwrap`` on Linux where it really works, else ``process``.

What the walls stop and what they do not is written down in ``docs/security.md``; the limits that hold in both modes are
in :mod:`pytest_selfheal.judge.limits`.
"""

from __future__ import annotations

# os.path asks quietly where pathlib raises: other people's folders may not be looked into.
# ruff: noqa: PTH110, PTH112
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from pytest_selfheal.errors import SandboxError
from pytest_selfheal.settings import Settings

MIB: Final = 1024 * 1024

PROCESS_NOTE: Final = (
    "Tests of proposed code run without isolation from files, network and your other processes ({why}); "
    "memory, file size, CPU time and wall-clock time are limited."
)


@dataclass(frozen=True)
class View:
    """What one child process may see and write. All paths are absolute paths of this machine."""

    copy: Path
    """Top of the workspace whose code is run."""
    original: Path
    """Top of the user's project; under ``bwrap`` the copy is seen here."""
    writable: tuple[Path, ...] = ()
    """Folders and files beyond the copy that the process may write, seen under the same path (its private temp folder)."""
    readable: tuple[Path, ...] = ()
    """Files and folders below hidden places (temp folders, home) that it must be able to read (its own configuration)."""


class Sandbox(Protocol):
    """One way to start a process."""

    @property
    def name(self) -> Literal["bwrap", "process"]: ...

    def seen_as(self, view: View) -> Path:
        """The path under which the process sees the workspace's top."""
        ...

    def wrap(self, argv: Sequence[str], view: View, env: Mapping[str, str]) -> list[str]:
        """The full command. Inherited file descriptors survive; start it in the folder it is to see as its own.

        The processes end with the *thread* that starts them: start a long-lived one from a thread that lives as long.
        """
        ...

    def fence(self, view: View) -> list[str]:
        """Folders outside of which :mod:`pytest_selfheal.judge.fence` refuses changes; empty where there are walls."""
        ...

    @property
    def apart(self) -> bool:
        """Whether two children cannot meet, at a port, in a file or otherwise: the same test may run in both at once."""
        ...


@dataclass(frozen=True)
class ProcessSandbox:
    """No walls; limits, and a fence for what goes through Python."""

    binds: tuple[Path, ...] = ()
    """Paths of the machine beyond the project that tests may write."""
    name: Literal["process"] = "process"

    def seen_as(self, view: View) -> Path:
        return view.copy

    def wrap(self, argv: Sequence[str], view: View, env: Mapping[str, str]) -> list[str]:
        return list(argv)

    def fence(self, view: View) -> list[str]:
        # Tests write to the usual temp folders by name; what lies there is meant to be lost.
        return [str(path) for path in (view.copy, *view.writable, *self.binds, Path(tempfile.gettempdir()), "/tmp")]

    @property
    def apart(self) -> bool:
        return False


@dataclass(frozen=True)
class BwrapSandbox:
    """Own mount, PID, IPC and network namespaces; only the copy, a private temp folder and a private home are writable."""

    program: str
    network: Literal["loopback", "host"] = "loopback"
    binds: tuple[Path, ...] = ()
    """Paths of the machine that tests need beyond the project, writable under the same path."""
    secret: tuple[Path, ...] = ()
    """Files and folders of the machine that must look empty: a benchmark's data, which holds the solutions."""
    scratch_mib: int = 1024
    """Size of a private temp folder, which is kept in memory, MiB; a private home gets a quarter."""
    processes: int | None = None
    """Limit of processes and threads inside, where the kernel counts process ids for each PID namespace."""
    name: Literal["bwrap"] = "bwrap"

    def seen_as(self, view: View) -> Path:
        return view.original

    def fence(self, view: View) -> list[str]:
        return []

    @property
    def apart(self) -> bool:
        return self.network == "loopback" and not self.binds

    def wrap(self, argv: Sequence[str], view: View, env: Mapping[str, str]) -> list[str]:
        hidden = _hidden_folders(env, view)
        command = [self.program, "--die-with-parent", "--new-session", "--ro-bind", "/", "/"]
        command += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        command += ["--dev", "/dev", "--proc", "/proc"]
        if self.network == "loopback":
            command.append("--unshare-net")
        for folder in hidden:
            # Temp folders get all, the others a quarter: what is written there is kept in memory.
            size = self.scratch_mib if folder.name == "tmp" else max(self.scratch_mib // 4, 1)
            command += ["--size", str(size * MIB), "--tmpfs", str(folder)]
        home = env.get("HOME", "")
        if home.startswith("/") and any(_below(Path(home), folder) for folder in hidden):
            command += ["--dir", home]  # it may lie in a hidden folder, and is expected to exist
        shown = _needed_below(hidden, env, view)
        for path in shown:
            command += ["--ro-bind", str(path), str(path)]
        # After the binds, which may show again what lies in a hidden folder.
        for path in _masked_files(hidden, shown, self.binds):
            command += ["--ro-bind", "/dev/null", str(path)]
        for path in self.secret:
            if _is_hidden(path, hidden, shown) or not path.exists() or _below(view.original, path):
                continue
            command += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
        command += ["--bind", str(view.copy), str(view.original)]
        # Interpreters inside the project (a ``.venv``) would be hidden by the copy.
        for path in _interpreters():
            if _below(path, view.original):
                command += ["--ro-bind", str(path), str(path)]
        for path in (*view.writable, *self.binds):
            command += ["--bind", str(path), str(path)]
        for path in view.readable:
            command += ["--ro-bind", str(path), str(path)]
        if os.geteuid() == 0:
            # Root needs no user namespace, hence keeps its capabilities until a step inside drops them.
            return [*command, "--", *_drop_privileges(self.processes), *argv]
        return [*command, "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--", *argv]


def choose(settings: Settings, original: Path | None = None) -> tuple[Sandbox, tuple[str, ...]]:
    """The sandbox for this run, and sentences about it for the user.

    ``original`` is the user's top. Raises :class:`SandboxError` when ``bwrap`` was asked for and does not work here;
    ``auto`` then falls back to ``process`` with a sentence that says what is not isolated.
    """
    binds = _binds(settings, original or Path.cwd())
    if settings.sandbox == "process":
        return ProcessSandbox(binds), (PROCESS_NOTE.format(why="--selfheal-sandbox process"),)
    sandbox, why = find_bwrap()
    if sandbox is None:
        if settings.sandbox == "bwrap":
            raise SandboxError(
                f"--selfheal-sandbox bwrap: {why}. Install or allow bubblewrap, or use --selfheal-sandbox auto."
            )
        return ProcessSandbox(binds), (PROCESS_NOTE.format(why=why),)
    return (
        BwrapSandbox(
            sandbox.program,
            network=settings.network,
            binds=binds,
            processes=sandbox.processes,
            secret=_secret(settings),
        ),
        (),
    )


@functools.lru_cache(maxsize=1)
def find_bwrap() -> tuple[BwrapSandbox | None, str]:
    """A sandbox that was seen to work on this machine, or ``None`` and the reason. Runs ``bwrap`` once per process."""
    if not sys.platform.startswith("linux"):
        return None, "bubblewrap exists on Linux only"
    program = shutil.which("bwrap")
    if program is None:
        return None, "bubblewrap (bwrap) is not installed"
    why = ""
    # Ordinary users are bound by RLIMIT_NPROC, which counts for each user namespace.
    counted = os.geteuid() == 0 and _pids_are_counted_per_namespace()
    for processes in (DEFAULT_PROCESSES, None) if counted else (None,):
        sandbox = BwrapSandbox(program, processes=processes)
        why = _try(sandbox)
        if not why:
            return sandbox, ""
    return None, f"bwrap does not work here ({why})"


DEFAULT_PROCESSES: Final = 1024
"""Processes and threads that may exist at once inside."""


def _try(sandbox: BwrapSandbox) -> str:
    """Run the real thing with a command that does nothing; empty, or what went wrong."""
    here = Path(os.path.realpath(sys.prefix))
    view = View(copy=here, original=here)
    try:
        done = subprocess.run(
            sandbox.wrap([sys.executable, "-I", "-S", "-c", "print('works')"], view, os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0 and done.stdout.strip() == "works":
        return ""
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def _pids_are_counted_per_namespace() -> bool:
    """Whether ``kernel.pid_max`` belongs to the PID namespace (Linux 6.14); before, writing it would change the machine."""
    release = os.uname().release.split("-")[0].split(".")
    try:
        return (int(release[0]), int(release[1])) >= (6, 14)
    except (IndexError, ValueError):
        return False


def _drop_privileges(processes: int | None) -> list[str]:
    """Commands run first inside by root: limit process ids, make ``/proc/sys`` read-only, give up all capabilities."""
    script = 'mount -o bind,ro /proc/sys /proc/sys && exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs -- "$@"'
    if processes is not None:
        # RLIMIT_NPROC does not bind root, not even inside.
        script = f"echo {processes} > /proc/sys/kernel/pid_max && {script}"
    return ["/bin/sh", "-c", script, "sh"]


def _below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _existing_folder(path: Path) -> Path | None:
    real = Path(os.path.realpath(path))
    return real if os.path.isdir(real) and real != Path("/") else None


def _hidden_folders(env: Mapping[str, str], view: View) -> tuple[Path, ...]:
    """Folders replaced by empty ones in memory: temp folders, homes, and where services keep their sockets.

    A folder that holds system directories (a home of ``/``) stays; one inside another is covered by that one.
    """
    wanted = [
        "/tmp",
        "/var/tmp",
        "/run",
        "/var/run",
        str(Path.home()),
        env.get("HOME", ""),
        env.get("TMPDIR", ""),
    ]
    wanted += [os.environ.get("TMPDIR", ""), "/root", "/home"]
    real = {folder for text in wanted if text and (folder := _existing_folder(Path(text)))}
    real = {
        folder
        for folder in real
        if not any(_below(Path(system), folder) for system in ("/usr", "/bin", "/lib", "/etc", "/proc", "/dev"))
        and not _below(folder, view.original)
        and not any(_below(folder, path) for path in view.writable)
    }
    return tuple(sorted(folder for folder in real if not any(other in folder.parents for other in real)))


def _interpreters() -> tuple[Path, ...]:
    """Prefixes of the running interpreter and its virtual environment, as named and as they really are."""
    names = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    real = [os.path.realpath(name) for name in names]
    program = Path(os.path.realpath(sys.executable)).parent.parent
    return tuple(dict.fromkeys(path for path in (*map(Path, names), *map(Path, real), program) if os.path.isdir(path)))


def _needed_below(hidden: Sequence[Path], env: Mapping[str, str], view: View) -> tuple[Path, ...]:
    """What must stay readable although it lies in a hidden folder: interpreters, import paths, this package, programs."""
    package = Path(__file__).resolve().parent.parent
    names: list[Path] = [*_interpreters(), package.parent if package.parent in map(Path, sys.path) else package]
    names += [Path(entry) for entry in sys.path if entry]
    names += [Path(entry) for entry in env.get("PATH", "").split(os.pathsep) if entry]
    if env.get("PYENV_ROOT"):
        names.append(Path(env["PYENV_ROOT"]))
    needed = []
    for path in dict.fromkeys(names):
        if not path.is_absolute() or not os.path.exists(path) or _below(path, view.original):
            continue
        inside = any(_below(path, folder) for folder in hidden)
        swallows = any(_below(folder, path) for folder in hidden)
        if inside and not swallows:
            needed.append(path)
    return tuple(sorted(needed, key=lambda path: len(path.parts)))


def _is_hidden(path: Path, hidden: Sequence[Path], shown: Sequence[Path]) -> bool:
    return any(_below(path, folder) for folder in hidden) and not any(_below(path, folder) for folder in shown)


def _masked_files(hidden: Sequence[Path], shown: Sequence[Path], allowed: Sequence[Path]) -> tuple[Path, ...]:
    """Single files that are replaced by nothing: password hashes, and sockets of services that could be seen inside."""
    found = [Path(name) for name in ("/etc/shadow", "/etc/gshadow") if os.access(name, os.R_OK)]
    found += _sockets()
    return tuple(
        dict.fromkeys(
            path
            for path in found
            if not _is_hidden(path, hidden, shown)
            and not any(_below(path, folder) for folder in allowed)
            and not _below(path, Path("/dev"))
            and os.path.exists(path)
        )
    )


def _sockets() -> Iterator[Path]:
    """Paths of the unix sockets that are open on this machine: a read-only mount does not stop connections to them."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines[1:]:
        name = line.split(maxsplit=7)[-1]
        if name.startswith("/"):
            yield Path(os.path.realpath(name))


def _secret(settings: Settings) -> tuple[Path, ...]:
    if settings.bench_data is None:
        return ()
    own_samples = Path(__file__).resolve().parent.parent / "bench" / "data"
    return (Path(os.path.realpath(settings.bench_data)), own_samples)


def _binds(settings: Settings, top: Path) -> tuple[Path, ...]:
    paths = []
    for text in settings.binds:
        path = Path(os.path.normpath(top / Path(text).expanduser()))
        if not path.exists():
            raise SandboxError(f"selfheal_binds: {text!r} does not exist; name existing files, folders or sockets.")
        paths.append(path)
    return tuple(paths)
