"""Without walls: what a search does to the machine by accident, through Python."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge import fence
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.settings import Settings

ACCIDENTS = """
import os, shutil, signal
from pathlib import Path
import pytest

OUTSIDE = Path({outside!r})
KEPT = OUTSIDE / "kept.txt"


def change(how):
    {{
        "unlink": lambda: os.unlink(KEPT),
        "bytes": lambda: os.remove(os.fsencode(KEPT)),
        "relative": lambda: os.remove(os.path.relpath(KEPT)),
        "rename": lambda: os.rename(KEPT, "here.txt"),
        "over": lambda: os.replace(__file__, KEPT),
        "write": lambda: open(KEPT, "w"),
        "append": lambda: KEPT.open("ab"),
        "descriptor": lambda: os.open(KEPT, os.O_RDWR),
        "through a link": lambda: (os.symlink(KEPT, "link"), open("link", "w")),
        "tree": lambda: shutil.rmtree(OUTSIDE),
        "ignored": lambda: shutil.rmtree(OUTSIDE, ignore_errors=True),
        "rmdir": lambda: os.rmdir(OUTSIDE / "folder"),
        "mkdir": lambda: os.mkdir(OUTSIDE / "new"),
        "mode": lambda: os.chmod(KEPT, 0),
        "cut": lambda: os.truncate(KEPT, 0),
        "move": lambda: shutil.move(KEPT, "here.txt"),
        "kill": lambda: os.kill({outer}, signal.SIGTERM),
        "everybody": lambda: os.kill(-1, signal.SIGCONT),
    }}[how]()


HOWS = {hows!r}


@pytest.mark.parametrize("how", HOWS)
def test_accident(how):
    with pytest.raises(PermissionError):
        change(how)


def test_own_files(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "x").write_text("1")
    (folder / "x").chmod(0o600)
    os.symlink(folder / "x", tmp_path / "link")
    os.unlink(tmp_path / "link")
    os.replace(folder / "x", tmp_path / "y")
    shutil.copyfile(tmp_path / "y", Path(__file__).parent / "copied")
    shutil.rmtree(tmp_path / "a")
    for name in (os.devnull, "/dev/stdout"):
        with open(name, "w") as sink:
            sink.write("nothing")
    assert KEPT.read_text() == "kept"


def test_own_processes():
    import subprocess, sys
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    child.send_signal(signal.SIGTERM)
    assert child.wait() == -signal.SIGTERM
    os.kill(os.getppid(), 0)
"""
HOWS = [
    *("unlink", "bytes", "relative", "rename", "over", "write", "append", "descriptor", "through a link", "tree"),
    *("rmdir", "mkdir", "mode", "cut", "move", "kill", "everybody"),
]


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder of the user that is no temporary one."""
    folder = Path.home() / f".selfheal-fence-{os.getpid()}"
    (folder / "folder").mkdir(parents=True)
    (folder / "kept.txt").write_text("kept")
    yield folder
    (folder / "kept.txt").chmod(0o600)
    shutil.rmtree(folder)


def test_no_accident_reaches_the_user_s_files_or_processes(tmp_path: Path, outside: Path) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        text = ACCIDENTS.format(outside=str(outside), outer=sleeper.pid, hows=HOWS)
        (tmp_path / "test_it.py").write_text(text)
        with workshop_at(tmp_path, Settings(sandbox="process")) as workshop:
            found = run_tests(workshop, workshop.pristine, None)
        bad = {nodeid: outcome for nodeid, outcome in found.outcomes.items() if outcome != "passed"}
        assert (bad, len(found.outcomes)) == ({}, len(HOWS) + 2), found.output
        assert sorted(path.name for path in outside.iterdir()) == ["folder", "kept.txt"]
        assert (outside / "kept.txt").read_text() == "kept"
        assert sleeper.poll() is None
    finally:
        sleeper.send_signal(signal.SIGKILL)
        sleeper.wait()


def test_what_is_opened_for_reading_or_by_descriptor_passes(tmp_path: Path) -> None:
    refuse = fence.hook([str(tmp_path)])
    refuse("open", ("/etc/hosts", "r", os.O_RDONLY))
    refuse("open", (3, "w", os.O_WRONLY))
    refuse("os.truncate", (3, 0))
    refuse("open", ("/dev/null", "w", os.O_WRONLY))
    with pytest.raises(PermissionError, match="outside of what proposed code may change"):
        refuse("open", (f"{tmp_path}x/file", "w", os.O_WRONLY | os.O_CREAT))
