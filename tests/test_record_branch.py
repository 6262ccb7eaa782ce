"""A commit on a branch of its own, beside whatever the user is doing."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import AFTER, BEFORE, Tree, healed_outcome

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.record.branch import commit_on_branch
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
