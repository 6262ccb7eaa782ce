"""Full and read-only disks, as real mounts (root ignores permission bits, so nothing less would do)."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from record_samples import BEFORE, Tree, healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record.journal import apply_patches, undo_patches
from pytest_selfheal.record.report import finish, write_outcome
from pytest_selfheal.record.run_dir import open_run


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def test_a_run_on_a_full_disk_is_a_sentence_not_a_crash(disk: Path) -> None:
    tree = Tree(disk / "repo", {"calc.py": BEFORE})
    run = open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)
    fill(disk)
    run.event("much", data="x" * 100_000)  # a trace that cannot grow stops nothing
    with pytest.raises(RecordError, match=r"cannot write .*: no space left on device; free"):
        write_outcome(run, healed_outcome(), tree)
    with pytest.raises(RecordError, match="no space left"):
        finish(run, run_report([unhealed_outcome()]))
    (disk / "filler").unlink()
    finish(run, run_report([write_outcome(run, healed_outcome(), tree)]))
    run.close()
    leftovers = [path for path in (tree.top / ".selfheal").rglob("*") if path.name.endswith("selfheal-tmp")]
    assert leftovers == []


def test_applying_on_a_full_disk_changes_nothing(disk: Path) -> None:
    tree = Tree(disk / "repo", {"calc.py": BEFORE})
    run = tree.record(healed_outcome())
    before = tree.bytes()
    fill(disk)
    with pytest.raises(RecordError, match="no space left on device"):
        apply_patches(run, run.select([]))
    (disk / "filler").unlink()
    assert tree.bytes() == before
    apply_patches(run, run.select([]))
    fill(disk)
    with pytest.raises(RecordError, match="no space left on device"):
        undo_patches(run.base, run.top)
    (disk / "filler").unlink()
    undo_patches(run.base, run.top)
    assert tree.bytes() == before


def test_a_read_only_project_can_be_healed_into_another_folder(disk: Path, tmp_path: Path) -> None:
    tree = Tree(disk / "repo", {"calc.py": BEFORE})
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(RecordError, match=r"cannot write .*: read-only file system; .*--selfheal-dir"):
        open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)
    run = open_run(tmp_path / "runs", top=tree.top, rootdir=tree.top)
    finish(run, run_report([write_outcome(run, healed_outcome(), tree)]))
    run.close()
    from pytest_selfheal.record.stored import load_run

    stored = load_run(run.folder)
    assert stored.top == tree.top
    with pytest.raises(RecordError, match=r"cannot write calc\.py: read-only file system"):
        apply_patches(stored, stored.select([]))
