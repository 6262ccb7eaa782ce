"""Diffs survive every kind of byte, and git agrees with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from record_samples import Tree

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.record.patch import (
    apply_in,
    apply_to,
    changed_lines,
    combine,
    find_top,
    list_files,
    make_diff,
    merge3,
    merge_base,
    prove,
)
from pytest_selfheal.types import FileChange

LONG = "".join(f"line {n}\n" for n in range(60)).encode()

CHANGES = {
    "plain": FileChange("a.py", b"x = 1\ny = 2\n", b"x = 1\ny = 3\n"),
    "crlf": FileChange("a.py", b"x = 1\r\ny = 2\r\n", b"x = 1\r\ny = 3\r\n"),
    "mixed line ends": FileChange("a.py", b"x = 1\r\ny = 2\nz\r\n", b"x = 1\r\ny = 3\nz\r\n"),
    "no final newline": FileChange("a.py", b"x = 1\ny = 2", b"x = 1\ny = 3"),
    "final newline comes": FileChange("a.py", b"x = 1\ny = 2", b"x = 1\ny = 2\n"),
    "final newline goes": FileChange("a.py", b"x = 1\ny = 2\n", b"x = 1\ny = 2"),
    "context without newline": FileChange("a.py", b"x = 1\ny = 2", b"x = 0\ny = 2"),
    "bom": FileChange("a.py", b"\xef\xbb\xbfx = 1\n", b"\xef\xbb\xbfx = 2\n"),
    "latin-1": FileChange(
        "a.py", b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", b"# -*- coding: latin-1 -*-\ns = '\xe8'\n"
    ),
    "form feed and lone cr": FileChange("a.py", b"a\n\x0cb\rc\nd\n", b"a\n\x0cb\rC\nd\n"),
    "next line and separators": FileChange("a.py", "a\u2028b\x85c\nd\n".encode(), "a\u2028b\x85c\nD\n".encode()),
    "empty becomes full": FileChange("a.py", b"", b"x = 1\n"),
    "full becomes empty": FileChange("a.py", b"x = 1\n", b""),
    "new file": FileChange("pkg/new.py", None, b"x = 1\n"),
    "new empty file": FileChange("pkg/__init__.py", None, b""),
    "deleted": FileChange("a.py", b"x = 1\n", None),
    "space in name": FileChange("a dir/b c.py", b"x = 1\n", b"x = 2\n"),
    "quotes in name": FileChange('we"ird\\name.py', b"x = 1\n", b"x = 2\n"),
    "tab in name": FileChange("tab\there.py", b"x = 1\n", b"x = 2\n"),
    "umlaut in name": FileChange("größe 😀.py", b"x = 1\n", b"x = 2\n"),
    "undecodable name": FileChange(os.fsdecode(b"caf\xe9.py"), b"x = 1\n", b"x = 2\n"),
    "two hunks": FileChange("a.py", LONG, LONG.replace(b"line 3\n", b"LINE 3\n").replace(b"line 50\n", b"")),
    "hunks that touch": FileChange("a.py", LONG, LONG.replace(b"line 3\n", b"").replace(b"line 10\n", b"ten\n")),
    "first and last line": FileChange("a.py", LONG, LONG.replace(b"line 0\n", b"").replace(b"line 59\n", b"end\n")),
    "lines that look like headers": FileChange(
        "a.py", b"-- a/x\n++ b/x\n@@ -1 +1 @@\n", b"-- a/y\n++ b/x\n@@ -1 +1 @@\n"
    ),
    "trailing blanks": FileChange("a.py", b"x = 1  \n\t\n", b"x = 2  \n\t\n"),
    "repeated lines": FileChange(
        "a.py", b"pass\n" * 300 + b"x\n" + b"pass\n" * 300, b"pass\n" * 300 + b"y\n" + b"pass\n" * 299
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_diff_applies_and_reverses_to_the_very_bytes(change: FileChange) -> None:
    diff = make_diff([change])
    prove([change], diff)
    assert apply_to({change.path: change.before}, diff) == {change.path: change.after}
    assert apply_to({change.path: change.after}, diff, reverse=True) == {change.path: change.before}


def test_a_diff_of_many_files_is_the_same_whatever_the_order_and_git_can_apply_it() -> None:
    changes = [change for name, change in CHANGES.items() if change.path != "a.py" or name == "crlf"]
    assert make_diff(changes) == make_diff(reversed(changes))
    prove(changes, make_diff(changes))


def test_a_change_that_changes_nothing_has_no_diff() -> None:
    assert make_diff([FileChange("a.py", b"x\n", b"x\n")]) == b""


def test_the_users_git_configuration_and_hooks_environment_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(
        "[core]\nautocrlf = true\nwhitespace = cr-at-eol,trailing-space\n"
        "[apply]\nwhitespace = fix\n[diff]\nnoprefix = true\nexternal = false\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere" / "index"))
    for name in ("crlf", "trailing blanks", "mixed line ends"):
        prove([CHANGES[name]], make_diff([CHANGES[name]]))


def test_a_patch_for_another_file_is_refused_although_the_folder_lies_in_a_repository(
    tmp_path: Path, repo: Tree
) -> None:
    inside = repo.top / "sub"
    inside.mkdir()
    with pytest.raises(GitError, match="could not apply"):
        apply_in(inside, make_diff([CHANGES["plain"]]))


def test_a_result_that_is_not_what_was_proposed_is_refused(tmp_path: Path) -> None:
    change = FileChange("a.py", LONG, LONG.replace(b"line 5\n", b"five\n"))
    (tmp_path / "a.py").write_bytes(LONG.replace(b"line 40\n", b"forty\n"))
    with pytest.raises(RecordError, match="not what was proposed"):
        apply_in(tmp_path, make_diff([change]), [change])


def test_without_a_git_binary_patches_still_apply_and_files_are_still_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    for change in CHANGES.values():
        prove([change], make_diff([change]))
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").touch()
    assert find_top(tmp_path) == (tmp_path.resolve(), False)
    assert list_files(tmp_path) == ("a.py",)
    assert merge_base(tmp_path) is None
    assert changed_lines(tmp_path) == {}


@pytest.fixture
def repo(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "repo")


def test_files_are_the_tracked_and_the_untracked_but_not_the_ignored_or_deleted(repo: Tree) -> None:
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.write("tracked.py", "")
    repo.write("gone.py", "")
    repo.write("forced.log", "")
    repo.git("add", "-f", "forced.log")
    repo.commit()
    (repo.top / "gone.py").unlink()
    repo.write("new [1].py", "")
    repo.write("grün/ü.py", "")
    repo.write("noise.log", "")
    repo.write("build/out.py", "")
    (repo.top / "link").symlink_to("grün")
    (repo.top / "dangling").symlink_to("nowhere")
    index = (repo.top / ".git/index").read_bytes()
    assert set(list_files(repo.top)) == {
        ".gitignore", "tracked.py", "forced.log", "new [1].py", "grün/ü.py", "link", "dangling"
    }  # fmt: skip
    assert (repo.top / ".git/index").read_bytes() == index


def test_a_repository_without_commits_lists_its_files(repo: Tree) -> None:
    repo.write("a.py", "")
    assert find_top(repo.top) == (repo.top.resolve(), True)
    assert list_files(repo.top) == ("a.py",)
    assert merge_base(repo.top) is None
    assert changed_lines(repo.top) == {}


def test_the_top_is_found_from_a_sub_folder_and_an_ignored_folder_is_its_own_top(repo: Tree) -> None:
    repo.write(".gitignore", "scratch/\n")
    repo.write("pkg/a.py", "")
    inside = repo.write("scratch/b.py", "").parent
    assert find_top(repo.top / "pkg") == (repo.top.resolve(), True)
    assert find_top(inside) == (inside.resolve(), False)
    assert list_files(inside) == ("b.py",)


def test_submodules_and_nested_repositories_are_listed_file_by_file(repo: Tree, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    library = Tree(other)
    library.write("lib.py", "")
    library.commit()
    repo.write("a.py", "")
    repo.git("submodule", "add", "-q", str(other), "vendor/lib")
    repo.commit()
    nested = repo.top / "nested"
    nested.mkdir()
    Tree(nested).write("inner.py", "")
    assert set(list_files(repo.top)) == {".gitmodules", "a.py", "vendor/lib/lib.py", "nested/inner.py"}
    assert find_top(repo.top / "vendor/lib")[0] == (repo.top / "vendor/lib").resolve()


def test_changed_lines_are_those_since_a_revision(repo: Tree) -> None:
    repo.write("a.py", LONG)
    first = repo.commit()
    repo.write("a.py", LONG.replace(b"line 5\n", b"five\n"))
    repo.commit()
    assert changed_lines(repo.top) == {}
    repo.write("a.py", LONG.replace(b"line 5\n", b"five\n").replace(b"line 40\n", b""))
    assert changed_lines(repo.top) == {"a.py": frozenset({40, 41})}
    assert changed_lines(repo.top, first) == {"a.py": frozenset({6, 40, 41})}
    assert changed_lines(repo.top, first, "HEAD") == {"a.py": frozenset({6})}
    assert changed_lines(repo.top, "no-such-revision") == {}


def test_the_merge_base_is_where_the_branch_left_the_default_branch(repo: Tree) -> None:
    repo.write("a.py", "1\n")
    first = repo.commit()
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("a.py", "2\n")
    repo.commit()
    assert merge_base(repo.top) == first


def test_merging_takes_both_sides_or_refuses_in_words() -> None:
    ours, theirs = LONG.replace(b"line 5\n", b"five\n"), LONG.replace(b"line 40\n", b"forty\n")
    both = ours.replace(b"line 40\n", b"forty\n")
    assert merge3(LONG, ours, theirs) == both
    assert merge3(LONG, ours, ours) == ours
    assert merge3(None, None, b"x") == b"x"
    with pytest.raises(RecordError, match="same lines"):
        merge3(LONG, ours, LONG.replace(b"line 5\n", b"cinq\n"))
    crlf = [text.replace(b"\n", b"\r\n") for text in (LONG, ours, theirs, both)]
    assert merge3(*crlf[:3]) == crlf[3]


def test_patches_of_one_file_are_combined(tmp_path: Path) -> None:
    first = FileChange("a.py", LONG, LONG.replace(b"line 5\n", b"five\n"))
    second = FileChange("a.py", LONG, LONG.replace(b"line 40\n", b"forty\n"))
    (merged,) = combine([first], [second])
    assert merged == FileChange("a.py", LONG, first.after.replace(b"line 40\n", b"forty\n") if first.after else None)
    with pytest.raises(RecordError, match=r"a\.py: both sides changed"):
        combine([first], [FileChange("a.py", LONG, LONG.replace(b"line 5\n", b"cinq\n"))])


def test_bytecode_that_nobody_ignores_is_no_file_of_the_project(repo: Tree) -> None:
    for name in ("a.py", "__pycache__/a.cpython-311.pyc", "pkg/__pycache__/b.cpython-311-pytest-9.2.0.pyc"):
        repo.write(name, "")
    assert list_files(repo.top) == ("a.py",)
