"""Removing what proposed code left behind touches nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge import workspace
from pytest_selfheal.judge.workspace import _remove


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes_outside_stay(tmp_path: Path, monkeypatch):
    holder, mine = tmp_path / "holder", tmp_path / "mine"
    folder = holder / "copy"
    folder.mkdir(parents=True)
    mine.write_text("mine")
    holder.chmod(0o755)
    mine.chmod(0o640)
    (folder / "link").symlink_to(mine)
    (folder / "file").write_text("x")

    def refuse(path, *args, **kwargs):
        raise PermissionError(13, "refused", str(path))

    # As on a folder that may not be changed: every removal is refused at first.
    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(os, "rmdir", refuse)
    _remove(folder)
    assert mode(holder) == 0o755
    assert mode(mine) == 0o640


def test_read_only_folders_are_removed(tmp_path: Path):
    folder = tmp_path / "copy"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    (folder / "deep").chmod(0o500)
    _remove(folder)
    assert not folder.exists()


def test_what_cannot_be_removed_now_is_removed_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    with workshop_at(project) as made:
        folder = made.folder
        (folder / "copy-x").mkdir()
        monkeypatch.setattr(workspace, "_remove", lambda path: None if path.name == "copy-x" else _remove(path))
    assert sorted(path.name for path in folder.iterdir()) == ["copy-x", "lock"]
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    workspace.clean_stale()
    assert not folder.exists()
