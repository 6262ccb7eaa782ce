"""Patches as files: made, proved by applying and reversing them, merged. The project's door to the user's git.

Other rooms import from here; how git is called is :mod:`pytest_selfheal.record.git`'s business.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.record import git
from pytest_selfheal.record.diff import apply_to, diffstat, make_diff, parse, split_lines
from pytest_selfheal.types import FileChange

__all__ = [
    "apply_in",
    "apply_to",
    "changed_lines",
    "combine",
    "diffstat",
    "find_top",
    "list_files",
    "make_diff",
    "merge3",
    "merge_base",
    "parse",
    "prove",
    "split_lines",
]

IGNORABLE = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".bzr",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".eggs",
        "node_modules",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".selfheal",
        ".idea",
        ".vscode",
        ".coverage",
        "htmlcov",
        "site-packages",
    ]
)


def find_top(path: Path) -> tuple[Path, bool]:
    """``(top, is_git)``: the git top level above ``path``, else ``path`` itself (no repository, no git binary)."""
    repo = git.find_repo(path)
    return (repo.top, True) if repo else (path.resolve(), False)


def list_files(top: Path) -> tuple[str, ...]:
    """Files of the project below ``top``, relative, POSIX, sorted: tracked ones and untracked ones that are not ignored;
    bytecode caches never.

    Submodules and nested repositories are listed file by file; a symlink is listed as itself, never followed. Without
    git (or for a folder that is no top level) everything counts but caches, virtual environments and the like.
    Undecodable names carry surrogates (``os.fsencode`` gives the bytes back).
    """
    found: set[str] = set()
    repo = git.find_repo(top)
    if repo is None or repo.top != top.resolve():
        return tuple(sorted(_walk(top)))
    listed = git.must(
        git.in_repo(repo, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), f"list the files of {top}"
    )
    for name in set(os.fsdecode(listed.out).split("\0")) - {""}:
        path = top / name
        if path.is_symlink() or path.is_file():
            found.add(name)
        elif path.is_dir():  # a submodule or a nested repository
            found.update(f"{name.rstrip('/')}/{inner}" for inner in list_files(path))
    # Bytecode that nobody ignores would stand for source that a child compiles in another way.
    return tuple(
        sorted(name for name in found if not name.startswith(".selfheal/") and "__pycache__" not in name.split("/"))
    )


def _walk(top: Path) -> Iterable[str]:
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in links
            and name not in IGNORABLE
            and not name.endswith(".egg-info")
            and not (here / name / "pyvenv.cfg").exists()
        ]
        for name in (*files, *links):
            path = here / name
            if name not in IGNORABLE and not name.endswith((".pyc", ".pyo")) and (path.is_symlink() or path.is_file()):
                yield path.relative_to(top).as_posix()


def apply_in(folder: Path, diff: bytes, changes: Iterable[FileChange] = ()) -> None:
    """Apply ``diff`` in a plain copy, by ``git apply`` (by our own strict reader where there is no git).

    With ``changes``, proves that the resulting bytes are ``after``, and that the reversed diff gives ``before`` again;
    git's exit status alone proves nothing. Raises :class:`GitError` or :class:`RecordError`.
    """
    changes = tuple(changes)
    _apply(folder, diff, reverse=False)
    for change in changes:
        if read_bytes(folder / change.path) != change.after:
            raise RecordError(f"the patch applied to {change.path}, but the result is not what was proposed.")
    if changes:
        with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
            lay_out(Path(scratch), ((change.path, change.after) for change in changes))
            _apply(Path(scratch), diff, reverse=True)
            _expect(Path(scratch), ((change.path, change.before) for change in changes), "reversing the patch")


def prove(changes: Iterable[FileChange], diff: bytes) -> None:
    """Apply and reverse ``diff`` on nothing but its own files; raises as :func:`apply_in` does."""
    changes = tuple(changes)
    with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
        lay_out(Path(scratch), ((change.path, change.before) for change in changes))
        apply_in(Path(scratch), diff, changes)


def _apply(folder: Path, diff: bytes, reverse: bool) -> None:
    if not diff:
        return
    if git.available():
        options = ["-R"] if reverse else []
        git.must(git.anywhere(folder, "apply", "--whitespace=nowarn", *options, "-", stdin=diff), "apply the patch")
        return
    files = {patch.path: read_bytes(folder / patch.path) for patch in parse(diff)}
    lay_out(folder, apply_to(files, diff, reverse=reverse).items())


def lay_out(folder: Path, files: Iterable[tuple[str, bytes | None]]) -> None:
    for name, content in files:
        path = folder / name
        if content is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _expect(folder: Path, files: Iterable[tuple[str, bytes | None]], doing: str) -> None:
    for name, content in files:
        if read_bytes(folder / name) != content:
            raise RecordError(f"{doing} does not give the bytes of {name} that were expected.")


def read_bytes(path: Path) -> bytes | None:
    """Bytes of a file, ``None`` where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def merge3(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Three-way merge of one file's bytes. Raises :class:`RecordError` on a conflict."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if base is None or ours is None or theirs is None:
        raise RecordError("one side changed a file that the other created or deleted.")
    if not git.available():
        raise RecordError("both sides changed the file, and merging them needs git, which is not installed.")
    with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
        folder = Path(scratch)
        lay_out(folder, (("ours", ours), ("base", base), ("theirs", theirs)))
        merged = git.anywhere(folder, "merge-file", "-p", "ours", "base", "theirs")
    if merged.status < 0 or merged.status >= 128:
        raise GitError(f"git could not merge: {merged.err.strip() or merged.status}")
    if merged.status:
        raise RecordError("both sides changed the same lines.")
    return merged.out


def combine(first: Iterable[FileChange], second: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Two sets of changes to one tree as one. Raises :class:`RecordError` where they conflict."""
    merged = {change.path: change for change in first}
    for change in second:
        other = merged.get(change.path)
        if other is None:
            merged[change.path] = change
            continue
        try:
            after = merge3(change.before, other.after, change.after)
        except RecordError as error:
            raise RecordError(f"{change.path}: {error}") from None
        merged[change.path] = FileChange(change.path, other.before, after)
    return tuple(merged[path] for path in sorted(merged))


def changed_lines(top: Path, since: str = "HEAD", until: str | None = None) -> dict[str, frozenset[int]]:
    """1-based lines that differ in the work tree (or in ``until``) from ``since``, by file; untracked files are not named.

    Empty without git, without commits, or when a revision is unknown: diagnosis then does without it. A deletion counts
    for the lines on both its sides.
    """
    repo = git.find_repo(top)
    if repo is None:
        return {}
    revisions = [since] if until is None else [since, until]
    result = git.in_repo(
        repo, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "--end-of-options", *revisions
    )
    if not result.ok:
        return {}
    lines: dict[str, frozenset[int]] = {}
    for patch in parse(result.out):
        if patch.new is None:
            continue
        touched: set[int] = set()
        for hunk in patch.hunks:
            first = hunk.new_start + 1
            touched.update(range(first, first + len(hunk.after)) if hunk.after else (max(first - 1, 1), first))
        lines[patch.new] = lines.get(patch.new, frozenset()) | touched
    return lines


def merge_base(top: Path) -> str | None:
    """The commit where HEAD left the default branch; ``HEAD`` on that branch itself; ``None`` without commits or git."""
    repo = git.find_repo(top)
    if repo is None or not git.in_repo(repo, "rev-parse", "--verify", "-q", "HEAD").ok:
        return None
    remote = git.in_repo(repo, "symbolic-ref", "-q", "refs/remotes/origin/HEAD")
    named = git.in_repo(repo, "config", "--get", "init.defaultBranch")
    default = [*remote.lines, "refs/remotes/origin/main", "refs/remotes/origin/master"]
    default += [f"refs/heads/{name}" for name in (*named.lines, "main", "master")]
    for branch in default:
        if git.in_repo(repo, "rev-parse", "--verify", "-q", branch).ok:
            base = git.in_repo(repo, "merge-base", "HEAD", branch)
            return base.lines[0] if base.ok and base.lines else "HEAD"
    return "HEAD"
