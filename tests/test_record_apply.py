"""Applying and undoing: the very bytes, merged, or refused in words; whatever happens in between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from record_samples import AFTER, BEFORE, CHANGE, Tree, healed_outcome, unhealed_outcome

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record import journal
from pytest_selfheal.record.apply import check_path
from pytest_selfheal.record.clean import clean
from pytest_selfheal.record.journal import apply_patches, entries, undo_patches
from pytest_selfheal.record.run_dir import exclusive
from pytest_selfheal.record.stored import StoredRun, load_run
from pytest_selfheal.types import FileChange

LINES = "".join(f"line {n}\n" for n in range(30)).encode()


def change(old: bytes, new: bytes, base: bytes = LINES, path: str = "text.py") -> FileChange:
    return FileChange(path, base, base.replace(old, new))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "repo", {"calc.py": BEFORE, "text.py": LINES, ".gitignore": b".selfheal/\n"})


def test_applying_writes_the_verified_bytes_and_undo_restores_the_old_ones(tree: Tree) -> None:
    (tree.top / "calc.py").chmod(0o755)
    before = tree.bytes()
    index = (tree.top / ".git/index").read_bytes()
    run = tree.record(healed_outcome(), unhealed_outcome())
    result = apply_patches(run, run.select([]))
    assert result.done == {"0001": ("calc.py",)}
    assert tree.read("calc.py") == AFTER
    assert stat.S_IMODE((tree.top / "calc.py").stat().st_mode) == 0o755
    undo_patches(run.base, run.top)
    assert tree.bytes() == before
    assert stat.S_IMODE((tree.top / "calc.py").stat().st_mode) == 0o755
    assert (tree.top / ".git/index").read_bytes() == index


@pytest.mark.parametrize(
    "before",
    [b"a = 1\r\nb = 2\r\n", b"a = 1\nb = 2", b"\xef\xbb\xbfa = 1\nb = 2\n", b"# coding: latin-1\na = '\xe9'\nb = 2\n"],
    ids=["crlf", "no final newline", "bom", "latin-1"],
)
def test_odd_bytes_survive_apply_and_undo(tmp_path: Path, before: bytes) -> None:
    tree = Tree(tmp_path / "repo", {"odd name ü.py": before})
    after = before.replace(b"b = 2", b"b = 3")
    run = tree.record(healed_outcome(changes=(FileChange("odd name ü.py", before, after),)))
    apply_patches(run, run.select([]))
    assert tree.read("odd name ü.py") == after
    undo_patches(run.base, run.top)
    assert tree.read("odd name ü.py") == before


def test_a_patch_that_is_applied_already_is_not_applied_twice(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    apply_patches(run, run.select([]))
    result = apply_patches(run, run.select([]))
    assert (result.done, result.already) == ({}, ["0001"])


def test_new_files_and_their_folders_come_and_go(tree: Tree) -> None:
    new = FileChange("deep/er/new.py", None, b"x = 1\n")
    before = tree.bytes()
    run = tree.record(healed_outcome(changes=(CHANGE, new)))
    apply_patches(run, run.select([]))
    assert tree.read("deep/er/new.py") == b"x = 1\n"
    undo_patches(run.base, run.top)
    assert tree.bytes() == before
    assert not (tree.top / "deep").exists()


def test_later_edits_elsewhere_in_the_file_are_merged(tree: Tree) -> None:
    run = tree.record(healed_outcome(changes=(change(b"line 5\n", b"five\n"),)))
    tree.write("text.py", LINES.replace(b"line 20\n", b"mine\n"))
    result = apply_patches(run, run.select([]))
    assert result.merged == ["0001"]
    assert tree.read("text.py") == LINES.replace(b"line 20\n", b"mine\n").replace(b"line 5\n", b"five\n")


def test_edits_of_a_file_that_was_never_committed_are_merged_by_context(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo")
    tree.write("text.py", LINES)
    run = tree.record(healed_outcome(changes=(change(b"line 15\n", b"fifteen\n"),)))
    tree.write("text.py", b"new first line\n" + LINES)
    apply_patches(run, run.select([]))
    assert tree.read("text.py") == b"new first line\n" + LINES.replace(b"line 15\n", b"fifteen\n")


def test_edits_of_the_same_lines_are_refused_in_words_and_leave_no_trace(tree: Tree) -> None:
    run = tree.record(healed_outcome(), healed_outcome("0002", changes=(change(b"line 5\n", b"five\n"),)))
    tree.write("text.py", LINES.replace(b"line 5\n", b"cinq\n"))
    result = apply_patches(run, run.select([]))
    assert list(result.done) == ["0001"]
    assert "text.py was changed since it was healed" in result.refused["0002"]
    assert tree.read("text.py") == LINES.replace(b"line 5\n", b"cinq\n")


def test_a_file_that_is_gone_or_there_already_is_refused(tree: Tree) -> None:
    run = tree.record(healed_outcome(), healed_outcome("0002", changes=(FileChange("new.py", None, b"theirs\n"),)))
    (tree.top / "calc.py").unlink()
    tree.write("new.py", b"mine\n")
    result = apply_patches(run, run.select([]))
    assert set(result.refused) == {"0001", "0002"}
    assert tree.read("new.py") == b"mine\n"


def test_undo_keeps_later_edits_or_refuses(tree: Tree) -> None:
    run = tree.record(healed_outcome(changes=(change(b"line 5\n", b"five\n"),)))
    apply_patches(run, run.select([]))
    tree.write("text.py", tree.read("text.py").replace(b"line 20\n", b"mine\n"))
    assert undo_patches(run.base, run.top).merged == ["0001"]
    assert tree.read("text.py") == LINES.replace(b"line 20\n", b"mine\n")
    tree.write("text.py", LINES)
    apply_patches(run, run.select([]))
    tree.write("text.py", LINES.replace(b"line 5\n", b"cinq\n"))
    result = undo_patches(run.base, run.top)
    assert "changed since it was patched" in result.refused["0001"]
    assert tree.read("text.py") == LINES.replace(b"line 5\n", b"cinq\n")


def test_two_patches_of_one_file_can_be_taken_back_in_any_order(tree: Tree) -> None:
    first, second = change(b"line 5\n", b"five\n"), change(b"line 20\n", b"twenty\n")
    run = tree.record(healed_outcome(changes=(first,)), healed_outcome("0002", changes=(second,)))
    apply_patches(run, run.select([]))
    both = LINES.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"twenty\n")
    assert tree.read("text.py") == both
    undo_patches(run.base, run.top, ["1"])
    assert tree.read("text.py") == second.after
    undo_patches(run.base, run.top)
    assert tree.read("text.py") == LINES


def test_a_second_wave_contains_the_first(tree: Tree) -> None:
    first = change(b"line 5\n", b"five\n")
    second = FileChange("text.py", LINES, LINES.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"twenty\n"))
    run = tree.record(healed_outcome(changes=(first,)), healed_outcome("0002", changes=(second,), includes=("0001",)))
    assert [patch.id for patch in run.select([])] == ["0002"]
    apply_patches(run, run.select(["1"]))
    apply_patches(run, run.select([]))
    assert tree.read("text.py") == second.after
    undo_patches(run.base, run.top)
    assert tree.read("text.py") == LINES


def test_ids_without_a_patch_are_named(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    with pytest.raises(RecordError, match=r"no patch 0007.*patches: 0001"):
        run.select(["7"])
    with pytest.raises(RecordError, match="nothing to undo"):
        undo_patches(run.base, run.top)
    with pytest.raises(RecordError, match="0001: not applied"):
        undo_patches(run.base, run.top, ["1"])


@pytest.mark.parametrize(
    "path", ["../x.py", "/etc/x.py", "a/../../x.py", ".git/hooks/x", "sub/.GIT/config", "..\\x", "C:/x"]
)
def test_a_path_out_of_the_project_is_refused(path: str) -> None:
    with pytest.raises(RecordError, match="outside the project"):
        check_path(path)


def test_a_symlink_is_not_followed_out_of_the_project(tree: Tree, tmp_path: Path) -> None:
    run = tree.record(healed_outcome())
    outside = tmp_path / "outside.py"
    outside.write_bytes(BEFORE)
    (tree.top / "calc.py").unlink()
    (tree.top / "calc.py").symlink_to(outside)
    result = apply_patches(run, run.select([]))
    assert "symbolic link" in result.refused["0001"]
    assert outside.read_bytes() == BEFORE


def test_a_second_process_gets_a_sentence_instead_of_a_wait(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    with exclusive(run.base, "apply"), pytest.raises(RecordError, match="another process"):
        apply_patches(run, run.select([]))


def test_a_run_that_was_moved_still_finds_its_project(tree: Tree, tmp_path: Path) -> None:
    run = tree.record(healed_outcome())
    moved = tmp_path / "elsewhere"
    tree.top.rename(moved)
    again = load_run(moved / ".selfheal/runs" / run.folder.name)
    assert again.top == moved
    apply_patches(again, again.select([]))
    assert (moved / "calc.py").read_bytes() == AFTER


CRASH = """
import os, signal, sys
from pathlib import Path
from pytest_selfheal.record import journal, run_dir
from pytest_selfheal.record.stored import load_run
real, calls = os.replace, 0
def replace(*a, **k):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(*a, **k)
os.replace = replace
run = load_run(Path(sys.argv[1]))
if sys.argv[3] == "apply":
    journal.apply_patches(run, run.select([]))
else:
    journal.undo_patches(run.base, run.top)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("command", ["apply", "undo"])
@pytest.mark.parametrize("moment", range(1, 7))
def test_a_crash_leaves_each_file_old_or_new_and_the_next_command_cleans_up(
    tree: Tree, command: str, moment: int
) -> None:
    changes = (CHANGE, change(b"line 5\n", b"five\n"))
    run = tree.record(healed_outcome(changes=changes))
    if command == "undo":
        apply_patches(run, run.select([]))
    subprocess.run([sys.executable, "-c", CRASH, str(run.folder), str(moment), command], check=False, timeout=60)
    for each in changes:
        assert tree.read(each.path) in (each.before, each.after)
    assert set(tree.bytes()) == {".gitignore", "calc.py", "text.py"}  # nothing lies beside them
    # Whatever was half done is done or undone as a whole by the next command.
    result = apply_patches(run, run.select([]))
    assert not result.refused
    assert {each.path: tree.read(each.path) for each in changes} == {each.path: each.after for each in changes}
    undo_patches(run.base, run.top)
    assert {each.path: tree.read(each.path) for each in changes} == {each.path: each.before for each in changes}
    assert {entry.state for entry in entries(run.base)} == {"undone"}
    assert not list((run.base / "journal").glob(".*"))


def test_a_file_that_cannot_be_written_takes_the_whole_patch_back(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tree.record(healed_outcome(changes=(CHANGE, change(b"line 5\n", b"five\n"))))
    before = tree.bytes()
    real = journal.replace_file

    def full_disk(path: Path, content: bytes, mode: int | None = None, scratch: Path | None = None) -> None:
        if path.name == "text.py":
            raise OSError(28, "No space left on device", str(path))
        real(path, content, mode, scratch)

    monkeypatch.setattr(journal, "replace_file", full_disk)
    with pytest.raises(RecordError, match=r"cannot write text\.py: no space left on device"):
        apply_patches(run, run.select([]))
    monkeypatch.undo()
    assert tree.bytes() == before


def test_clean_removes_old_runs_but_none_that_is_needed(tree: Tree) -> None:
    first = tree.record(healed_outcome())
    apply_patches(first, first.select([]))
    for _ in range(3):
        tree.record(unhealed_outcome("0001"))
    removed, kept = clean(first.base, keep=1)
    assert removed == 2
    assert kept == ["1 with patches that are applied", "the newest 1"]
    undo_patches(first.base, first.top)
    assert clean(first.base, keep=0)[0] == 2
    assert not os.path.lexists(first.base / "latest")
    assert list((first.base / "runs").iterdir()) == []


def test_without_git_patches_apply_and_undo_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE})
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    run: StoredRun = tree.record(healed_outcome())
    apply_patches(run, run.select([]))
    assert tree.read("calc.py") == AFTER
    undo_patches(run.base, run.top)
    assert tree.read("calc.py") == BEFORE
