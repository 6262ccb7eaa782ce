"""From patch files to the bytes that the tree shall have. Nothing is written here; see :mod:`.journal` and :mod:`.branch`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pytest_selfheal.errors import RecordError, SelfhealError
from pytest_selfheal.record import git
from pytest_selfheal.record.diff import FilePatch, apply_to, blob_id
from pytest_selfheal.record.patch import lay_out, merge3, read_bytes
from pytest_selfheal.record.stored import StoredPatch
from pytest_selfheal.types import FileChange

Read = Callable[[str], "bytes | None"]


@dataclass
class Plan:
    """What applying some patches would do, worked out before anything is touched."""

    changes: dict[str, tuple[FileChange, ...]] = field(default_factory=dict)
    """For each patch id that fits, in order: the bytes of its files before and after."""
    merged: list[str] = field(default_factory=list)
    """Ids that were merged with later edits of the same files."""
    refused: dict[str, str] = field(default_factory=dict)
    """Ids that do not fit, and why, in words."""
    already: list[str] = field(default_factory=list)
    """Ids whose result is there already."""


def plan(patches: Iterable[StoredPatch], top: Path, read: Read | None = None) -> Plan:
    """Work out new bytes for each patch on top of the ones before it.

    A file that is as it was when it was healed gets the very bytes that were verified; a file that was edited since is
    merged three-way, or the patch is refused. ``read`` gives a file's present bytes (default: the work tree's).
    """
    result = Plan()
    now: dict[str, bytes | None] = {}
    found: dict[str, bytes | None] = {}

    def present(path: str) -> bytes | None:
        if path not in now:
            now[path] = found[path] = read(path) if read else _read_tree(top, path)
        return now[path]

    for patch in patches:
        try:
            files = patch.files
            if not files:
                raise RecordError("it holds no change that can be read.")
            for file in files:
                check_path(file.path)
            if all(blob_id(present(file.path)) == file.new_id for file in files):
                result.already.append(patch.id)
                continue
            exact = all(blob_id(present(file.path)) == file.old_id for file in files)
            after = {file.path: _after(top, patch, file, present(file.path), exact) for file in files}
        except SelfhealError as error:
            result.refused[patch.id] = str(error)
            continue
        if all(after[path] == now[path] for path in after):
            result.already.append(patch.id)
            continue
        result.changes[patch.id] = tuple(FileChange(path, now[path], after[path]) for path in after)
        if any(blob_id(found[file.path]) != file.old_id for file in files):  # rather than merged with its own siblings
            result.merged.append(patch.id)
        now.update(after)
    return result


def _after(top: Path, patch: StoredPatch, file: FilePatch, content: bytes | None, exact: bool) -> bytes | None:
    if exact or blob_id(content) == file.old_id:
        return apply_to({f.path: content for f in patch.files if f.path == file.path}, _only(patch, file))[file.path]
    if content is None:
        raise RecordError(f"{file.path} is gone since it was healed: restore it, or run pytest --selfheal again.")
    if file.old is None:
        raise RecordError(f"{file.path} was made by the patch, but another file of that name is there now.")
    base = _from_git(top, file.old_id)
    try:
        if base is not None:
            return merge3(base, content, apply_to({file.path: base}, _only(patch, file))[file.path])
        return _fuzzy(file.path, content, _only(patch, file))
    except SelfhealError:
        raise RecordError(
            f"{file.path} was changed since it was healed, in the very lines of the patch: "
            "run pytest --selfheal again, or apply it by hand."
        ) from None


def _only(patch: StoredPatch, file: FilePatch) -> bytes:
    """The part of the diff that concerns one file."""
    starts = [0]
    while (found := patch.diff.find(b"\ndiff --git ", starts[-1])) >= 0:
        starts.append(found + 1)
    index = [f.path for f in patch.files].index(file.path)
    return patch.diff[starts[index] : starts[index + 1] if index + 1 < len(starts) else None]


def _from_git(top: Path, object_id: str) -> bytes | None:
    """The bytes before, if git has them (the file was committed when it was healed)."""
    repo = git.find_repo(top)
    if repo is None or not object_id:
        return None
    found = git.in_repo(repo, "cat-file", "blob", object_id)
    return found.out if found.ok else None


def _fuzzy(path: str, content: bytes, diff: bytes) -> bytes | None:
    """Apply at another place of the file, where all of the context is the same: git's rule."""
    if not git.available():
        return apply_to({path: content}, diff)[path]
    with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
        lay_out(Path(scratch), [(path, content)])
        git.must(git.anywhere(Path(scratch), "apply", "--whitespace=nowarn", "-", stdin=diff), "apply the patch")
        return read_bytes(Path(scratch) / path)


def check_path(path: str) -> None:
    """Refuse a path that leads out of the tree or into git's own folder: a patch file may come from anywhere."""
    pure = PurePosixPath(path)
    parts = [part.lower() for part in pure.parts]
    if pure.is_absolute() or not parts or ".." in parts or ".git" in parts or "\\" in path or ":" in parts[0]:
        raise RecordError(f"the patch names {path!r}, which is outside the project.")


def _read_tree(top: Path, path: str) -> bytes | None:
    target = top / path
    if target.is_symlink() or not target.parent.resolve().is_relative_to(top.resolve()):
        raise RecordError(f"{path} is a symbolic link or behind one, which patches do not follow.")
    try:
        return read_bytes(target)
    except OSError as error:
        raise RecordError(f"cannot read {path}: {(error.strerror or str(error)).lower()}.") from None
