"""What proposed code can do to the machine: under bwrap nothing, without it no more than is said.

Each attack runs as a test of a project in the sandbox, and passes there when it was stopped; what counts is looked at
from outside as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.errors import SandboxError
from pytest_selfheal.judge.process import launch
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.sandbox import BwrapSandbox, ProcessSandbox, View, choose, find_bwrap
from pytest_selfheal.settings import Settings

needs_bwrap = pytest.mark.skipif(find_bwrap()[0] is None, reason=f"bubblewrap: {find_bwrap()[1]}")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits differ elsewhere")

ATTACKS = '''
import ctypes, os, signal, socket, subprocess, sys, time
from pathlib import Path
import pytest

OUTER = {outer}
OUTSIDE = Path({outside!r})
HERE = Path(__file__).parent


def blocked(*errors):
    return pytest.raises(errors or (OSError,))


def test_write_beside_the_project():
    try:
        OUTSIDE.joinpath("written.txt").write_text("escaped")
    except OSError:
        pass  # or it went into a private folder: looked at from outside


def test_write_into_the_system():
    for folder in ("/usr", "/etc", "/var", sys.prefix, os.path.dirname(pytest.__file__)):
        with blocked():
            Path(folder, "selfheal-escape").write_text("escaped")


def test_change_the_project():
    (HERE / "calc.py").write_text("escaped")
    assert (HERE / "calc.py").read_text() == "escaped"


def test_read_keys():
    assert not Path.home().joinpath(".ssh", "id_ed25519").exists()
    assert Path.home().joinpath("mine").write_text("a private home") and os.listdir(Path.home().parent) is not None
    with blocked():
        if Path("/etc/shadow").read_text() == "":
            raise OSError


def test_no_other_copies_of_the_run():
    assert [name for name in os.listdir({tmp!r}) if name.startswith("pytest-selfheal-")] in ([], [{run!r}])
    assert not Path({pristine!r}).exists()


def test_network():
    for address in (("127.0.0.1", {port}), ("192.0.2.1", 80), ("8.8.8.8", 53)):
        with blocked(), socket.create_connection(address, timeout=2):
            pass


def test_own_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_host_sockets():
    for address in {sockets!r}:
        with blocked(), socket.socket(socket.AF_UNIX) as sock:
            sock.connect(address)
    assert os.listdir("/run") == [] or not any(p.is_socket() for p in Path("/run").rglob("*"))


def test_kill_the_parent():
    with blocked(ProcessLookupError, PermissionError):
        os.kill(OUTER, signal.SIGKILL)
    with blocked(ProcessLookupError, PermissionError):
        os.killpg(OUTER, signal.SIGKILL)
    try:
        os.kill(1, signal.SIGKILL)  # the first process of the namespace does not take it
    except PermissionError:
        pass


def test_trace_the_parent():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(16, OUTER, 0, 0) == -1
    assert not Path(f"/proc/{{OUTER}}").exists() or b"pytest" not in Path(f"/proc/{{OUTER}}/cmdline").read_bytes()


def test_daemonise():
    script = "import os, sys, time\\nos.setsid()\\nif os.fork(): os._exit(0)\\ntime.sleep(60)"
    subprocess.Popen([sys.executable, "-c", script, "selfheal-daemon-{marker}"], start_new_session=True)


def test_no_privileges():
    status = Path("/proc/self/status").read_text()
    assert "CapEff:\\t0000000000000000" in status and "CapBnd:\\t0000000000000000" in status
    for name in ("kernel/core_pattern", "kernel/pid_max", "vm/overcommit_memory"):
        with blocked():
            Path("/proc/sys", name).write_text("1")


def test_remount():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"none", b"/", None, 32 | 4096, None) == -1
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", "mount -o remount,rw,bind / && echo x > /usr/selfheal-escape"])
    assert done.returncode != 0


def test_devices():
    assert not [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "kvm", "mem", "kmsg"))]


def test_shared_memory():
    Path("/dev/shm/selfheal-{marker}").write_text("x")


def test_private_temp_folder_is_bounded():
    with blocked():
        with open("/var/tmp/bomb", "wb") as handle:
            for _ in range(64):
                handle.write(bytes(1024 * 1024))


def test_one_file_is_bounded():
    with blocked():
        with open(HERE / "bomb", "wb") as handle:
            handle.truncate(3 * 2**30)


def test_memory_is_bounded():
    with pytest.raises(MemoryError):
        bytearray(2 * 2**30)


def test_processes_are_bounded():
    script = """
import os, sys, time
children = 0
try:
    while children < 4200:
        if os.fork() == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
        children += 1
except OSError:
    pass
print(children)
"""
    out = subprocess.run([sys.executable, "-S", "-c", script, "selfheal-fork-{marker}"], stdout=subprocess.PIPE).stdout
    assert int(out) < {processes}
'''


def processes_with(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and marker.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def gone(marker: str) -> bool:
    """The kernel clears a PID namespace away in its own time, a moment after its first process."""
    deadline = time.monotonic() + 30
    while (left := processes_with(marker)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left


@contextlib.contextmanager
def listening(address: str) -> Iterator[list[object]]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        server.settimeout(0.01)
        met: list[object] = []
        yield met
        with contextlib.suppress(OSError):
            met.append(server.accept())


@needs_bwrap
def test_nothing_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    marker = f"{os.getpid()}-{time.time_ns()}"
    home, outside, top = tmp_path / "home", tmp_path / "outside", tmp_path / "project"
    for folder in (home / ".ssh", outside, top):
        folder.mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("a key")
    monkeypatch.setenv("HOME", str(home))
    (top / "calc.py").write_text("mine")
    # A socket where nothing hides it by its folder, and one that has no place in the file system at all.
    place = Path(__file__).parent / f".{marker}.sock"
    abstract = f"\0selfheal-{marker}"
    settings = Settings(selfheal=True, sandbox="bwrap", memory=1024.0)
    sandbox = find_bwrap()[0]
    assert sandbox is not None
    try:
        with (
            listening(str(place)) as met_file,
            listening(abstract) as met_abstract,
            socket.create_server(("127.0.0.1", 0)) as server,
            workshop_at(top, settings) as workshop,
        ):
            workshop.sandbox = dataclasses.replace(
                workshop.sandbox, scratch_mib=32, processes=sandbox.processes and 320
            )
            workshop.pristine  # noqa: B018 - made before the attack, which must not see it
            text = ATTACKS.format(
                outer=os.getpid(),
                outside=str(outside),
                port=server.getsockname()[1],
                sockets=[str(place), abstract],
                marker=marker,
                processes=320 if sandbox.processes else 4096,
                tmp=str(workshop.folder.parent),
                run=workshop.folder.name,
                pristine=str(workshop.pristine.top),
            )
            (workshop.pristine.top / "test_attack.py").write_text(text)
            with workshop.fresh() as workspace:
                run = run_tests(workshop, workspace, None, timeout=110)
                assert (workspace.top / "calc.py").read_text() == "escaped"
            assert gone(f"selfheal-daemon-{marker}")
            assert gone(f"selfheal-fork-{marker}")
            assert (workshop.pristine.top / "calc.py").read_text() == "mine"
        assert met_file == met_abstract == []
    finally:
        place.unlink(missing_ok=True)
    said = {failure.nodeid: f"{failure.exception}: {failure.message}" for failure in run.failures}
    if sandbox.processes is None and os.geteuid() == 0:
        said.pop("test_attack.py::test_processes_are_bounded", None)  # the kernel cannot bound root's processes
    assert said == {}, run.output
    assert run.finished and len(run.outcomes) >= 18
    assert (top / "calc.py").read_text() == "mine"
    assert not (outside / "written.txt").exists()
    assert not (home / "mine").exists()
    assert not Path(f"/dev/shm/selfheal-{marker}").exists()


def attack(tmp_path: Path, sandbox: str, body: str, timeout: float) -> ChildRun:
    (tmp_path / "test_attack.py").write_text(body)
    settings = Settings(selfheal=True, sandbox=sandbox, memory=2048.0)  # type: ignore[arg-type]
    with workshop_at(tmp_path, settings) as workshop, workshop.fresh() as workspace:
        return run_tests(workshop, workspace, None, timeout=timeout)


BOTH = [pytest.param("bwrap", marks=needs_bwrap), pytest.param("process", marks=linux_only)]


@pytest.mark.parametrize("sandbox", BOTH)
def test_endless_output_is_kept_as_a_short_tail(sandbox: str, tmp_path: Path):
    body = "import os\ndef test_it(capfd):\n    with capfd.disabled():\n        while True:\n            os.write(1, b'x' * 100000)\n"
    run = attack(tmp_path, sandbox, body, timeout=12)
    assert run.timed_out and not run.outcomes
    assert len(run.output) <= 70_000


@pytest.mark.parametrize("sandbox", BOTH)
def test_a_hanging_test_and_its_children_end_with_the_time_limit(sandbox: str, tmp_path: Path):
    marker = f"selfheal-hang-{time.time_ns()}"
    body = f"""
import signal, subprocess, sys, time
def test_it():
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(name, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", {marker!r}])
    while True:
        try:
            time.sleep(300)
        except BaseException:
            pass
"""
    run = attack(tmp_path, sandbox, body, timeout=8)
    assert run.timed_out and not run.finished
    assert gone(marker)


@pytest.mark.parametrize("sandbox", BOTH)
def test_memory_one_file_and_core_are_limited(sandbox: str, tmp_path: Path):
    body = """
import resource
import pytest
def test_memory():
    with pytest.raises(MemoryError):
        bytearray(4 * 2**30)
def test_file(tmp_path):
    with pytest.raises(OSError):
        with open(tmp_path / "bomb", "wb") as handle:
            handle.truncate(3 * 2**30)
def test_limits_stay():
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
    assert resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY
"""
    run = attack(tmp_path, sandbox, body, timeout=60)
    assert set(run.outcomes.values()) == {"passed"}, run.output
    assert len(run.outcomes) == 3


@linux_only
def test_a_child_that_fills_the_disk_is_stopped(tmp_path: Path):
    script = (
        "import time\n"
        "for n in range(40):\n"
        f"    open({str(tmp_path)!r} + f'/bomb{{n}}', 'wb').write(bytes(2**20))\n"
        "    time.sleep(0.05)\n"
        "time.sleep(60)\n"
    )
    ended = launch(
        [sys.executable, "-c", script], cwd=tmp_path, env=dict(os.environ), timeout=50, disk=tmp_path, disk_mib=8
    )
    assert ended.filled and not ended.timed_out


@linux_only
@pytest.mark.parametrize("sandbox", BOTH)
def test_children_die_with_a_killed_parent(sandbox: str, tmp_path: Path):
    marker = f"selfheal-orphan-{time.time_ns()}"
    top = tmp_path / "project"
    top.mkdir()
    (top / f"test_{marker.replace('-', '_')}.py").write_text("import time\ndef test_it():\n    time.sleep(300)\n")
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from project_helpers import workshop_at
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.settings import Settings
with workshop_at(Path({str(top)!r}), Settings(selfheal=True, sandbox={sandbox!r})) as workshop:
    run_tests(workshop, workshop.pristine, None)
"""
    temporary = tmp_path / marker
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment)
    try:
        deadline = time.monotonic() + 60
        while not processes_with(f"{marker}/pytest-selfheal") and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(2)  # until the child has come to its first hook
        assert processes_with(f"{marker}/pytest-selfheal")
    finally:
        parent.kill()
        parent.wait()
    assert gone(f"{marker}/pytest-selfheal")


def test_choice_says_what_is_not_isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert choose(Settings(sandbox="process"))[0] == ProcessSandbox()
    find_bwrap.cache_clear()
    try:
        fake = tmp_path / "bwrap"
        fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        sandbox, notes = choose(Settings(sandbox="auto"))
        assert sandbox.name == "process" and len(notes) == 1
        assert "without isolation" in notes[0]
        with pytest.raises(SandboxError, match=r"--selfheal-sandbox bwrap: .*--selfheal-sandbox auto"):
            choose(Settings(sandbox="bwrap"))
    finally:
        find_bwrap.cache_clear()


@needs_bwrap
def test_settings_open_the_sandbox_where_tests_need_it(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    top = tmp_path / "project"
    top.mkdir()
    sandbox, _ = choose(Settings(sandbox="bwrap", binds=(str(data),), network="host"), top)
    assert isinstance(sandbox, BwrapSandbox)
    with socket.create_server(("127.0.0.1", 0)) as server:
        # Accepted by the kernel's queue; nobody needs to answer.
        script = (
            f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=5)\n"
            f"open({str(data / 'written')!r}, 'w').write('yes')"
        )
        command = sandbox.wrap([sys.executable, "-c", script], View(top, top), os.environ)
        subprocess.run(command, check=True, timeout=60)
    assert (data / "written").read_text() == "yes"
    with pytest.raises(SandboxError, match="selfheal_binds"):
        choose(Settings(sandbox="bwrap", binds=("no/such/path",)), top)
