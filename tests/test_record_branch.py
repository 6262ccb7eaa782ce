"""A commit on a branch of its own, beside whatever the user is doing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from record_samples import AFTER, BEFORE, Tree, healed_outcome

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.record.branch import commit_on_branch
from pytest_selfheal.record.journal import apply_patches
from pytest_selfheal.record.patch import find_top, list_files
from pytest_selfheal.types import FileChange


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "repo", {"calc.py": BEFORE, "other.py": b"x = 1\n"})


def test_the_branch_has_the_change_and_nothing_else_moved(tree: Tree) -> None:
    (tree.top / "calc.py").chmod(0o755)
    head = tree.commit()
    new = FileChange("tests/test_ü.py", None, b"def test(): pass\n")
    tree.write("other.py", b"x = 'half done'\n")
    tree.git("add", "other.py")
    tree.write("other.py", b"x = 'and more'\n")
    run = tree.record(healed_outcome(changes=(FileChange("calc.py", BEFORE, AFTER), new)))
    index, before = (tree.top / ".git/index").read_bytes(), tree.bytes()
    commit = commit_on_branch(run, run.select([]), "fix/calc", author="Ada Löve <ada@example.org>", signoff=True)
    assert (tree.top / ".git/index").read_bytes() == index
    assert tree.bytes() == before
    assert tree.git("rev-parse", "HEAD").strip() == head
    assert tree.git("rev-parse", "fix/calc", "fix/calc^").split() == [commit, head]
    assert tree.git("-c", "core.quotePath=false", "diff", "--name-only", head, commit).split() == [
        "calc.py",
        "tests/test_ü.py",
    ]
    assert tree.git("show", f"{commit}:calc.py").encode() == AFTER
    assert tree.git("ls-tree", commit, "calc.py").startswith("100755")
    assert tree.git("log", "-1", "--format=%an <%ae>", commit).strip() == "Ada Löve <ada@example.org>"
    message = tree.git("log", "-1", "--format=%B", commit)
    assert message.startswith("replace - with + in add()\n")
    assert "tests/test_calc.py::test_add" in message
    assert message.rstrip().endswith("Selfheal-Id: 0001\nSigned-off-by: Ada Löve <ada@example.org>")


def test_the_message_is_the_users_if_given_and_lists_several_patches_if_not(tree: Tree) -> None:
    other = healed_outcome(
        "0002", changes=(FileChange("other.py", b"x = 1\n", b"x = 2\n"),), description="replace 1 with 2"
    )
    run = tree.record(healed_outcome(), other)
    commit_on_branch(run, run.select([]), "both")
    assert "- replace 1 with 2 (0002)" in tree.git("log", "-1", "--format=%B", "both")
    commit_on_branch(run, run.select(["1"]), "one", message="Mend addition")
    assert tree.git("log", "-1", "--format=%B", "one").strip() == "Mend addition"
    assert tree.git("show", "one:other.py") == "x = 1\n"


@pytest.mark.parametrize("name", ["main", "main/sub", "-d", "two words", "a..b", "", "x.lock"])
def test_a_taken_or_impossible_name_is_refused(tree: Tree, name: str) -> None:
    run = tree.record(healed_outcome())
    with pytest.raises(GitError):
        commit_on_branch(run, run.select([]), name)
    assert tree.git("branch", "--format=%(refname:short)").split() == ["main"]


def test_edits_that_were_never_committed_do_not_get_into_the_commit(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    tree.write("calc.py", BEFORE + b"\n\nprint('mine')\n")
    commit_on_branch(run, run.select([]), "fix")
    assert tree.git("show", "fix:calc.py").encode() == AFTER


def test_a_patch_that_does_not_fit_the_last_commit_is_refused(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    tree.write("calc.py", b"def add(a, b):\n    return a * b\n")
    tree.commit()
    with pytest.raises(RecordError, match="not every patch fits"):
        commit_on_branch(run, run.select([]), "fix")


def test_line_ends_are_stored_as_git_wants_them(tmp_path: Path) -> None:
    crlf = [text.replace(b"\n", b"\r\n") for text in (BEFORE, AFTER)]
    tree = Tree(tmp_path / "repo", {".gitattributes": b"*.py text eol=crlf\n", "calc.py": crlf[0]})
    run = tree.record(healed_outcome(changes=(FileChange("calc.py", *crlf),)))
    commit_on_branch(run, run.select([]), "fix")
    assert tree.git("cat-file", "blob", "fix:calc.py").encode() == AFTER


def test_without_commits_or_repository_there_is_no_branch(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo")
    tree.write("calc.py", BEFORE)
    run = tree.record(healed_outcome())
    with pytest.raises(GitError, match="no commit yet"):
        commit_on_branch(run, run.select([]), "fix")


def test_a_linked_worktree_and_a_hook_s_environment_are_understood(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "linked"))
    linked = Tree.__new__(Tree)
    linked.top = linked.rootdir = tmp_path / "linked"
    # As git sets them for a hook that runs in the main work tree.
    monkeypatch.setenv("GIT_DIR", str(tree.top / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tree.top / ".git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tree.top))
    assert find_top(linked.top) == (linked.top, True)
    assert list_files(linked.top) == ("calc.py", "other.py")
    run = linked.record(healed_outcome())
    apply_patches(run, run.select([]))
    assert (linked.read("calc.py"), tree.read("calc.py")) == (AFTER, BEFORE)
    commit = commit_on_branch(run, run.select([]), "fix")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name)
    assert tree.git("rev-parse", "fix", "fix^").split() == [commit, tree.git("rev-parse", "topic").strip()]


def test_a_repository_of_another_user_is_no_obstacle(tree: Tree) -> None:
    run = tree.record(healed_outcome())
    if not hasattr(os, "chown") or os.geteuid() != 0:
        pytest.skip("giving files away needs root")
    for path in (tree.top, tree.top / ".git", tree.top / "calc.py"):
        os.chown(path, 12345, 12345)
    assert "calc.py" in list_files(tree.top)
    commit_on_branch(run, run.select([]), "fix")
    apply_patches(run, run.select([]))
    owner = (tree.top / "calc.py").stat()
    assert (owner.st_uid, owner.st_gid) == (12345, 12345)
