"""Writing into the user's tree, and taking it back: a journal entry for each applied patch, every file by rename.

An entry says what is about to happen before it happens. A crash leaves each file with its old or its new bytes; the
next ``apply`` or ``undo`` finds the unfinished entry and takes the patch back.
"""

from __future__ import annotations

import base64
import contextlib
import json
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pytest_selfheal.errors import RecordError, SelfhealError
from pytest_selfheal.record.apply import Plan, plan
from pytest_selfheal.record.patch import merge3, read_bytes
from pytest_selfheal.record.run_dir import TEMPORARY, exclusive, replace_file, writing
from pytest_selfheal.record.stored import StoredPatch, StoredRun, full_id
from pytest_selfheal.types import FileChange

State = Literal["applying", "applied", "undoing", "undone"]


@dataclass(frozen=True)
class Entry:
    """One patch in the user's tree."""

    file: Path
    run: str
    id: str
    state: State
    changes: tuple[FileChange, ...]
    modes: dict[str, int]
    """Permission bits of the files that were there."""
    folders: tuple[str, ...]
    """Folders that the patch made, outermost first."""
    targets: tuple[FileChange, ...] = ()
    """While it is being taken back: the bytes found, and those that shall be there."""


@dataclass
class Result:
    """What was done, patch by patch."""

    done: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids and the files that were written."""
    merged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    already: list[str] = field(default_factory=list)


def apply_patches(run: StoredRun, patches: Sequence[StoredPatch]) -> Result:
    """Write patches into the tree at ``run.top``; those that do not fit are refused in words and leave no trace.

    Raises :class:`RecordError` when a file cannot be written; that patch is then taken back.
    """
    with exclusive(run.base, "apply"):
        recover(run.base, run.top)
        planned: Plan = plan(patches, run.top)
        result = Result({}, planned.merged, planned.refused, planned.already)
        for id, changes in planned.changes.items():
            entry = _new_entry(run, id, changes)
            _save(entry)
            try:
                _write_all(run.top, entry)
            except BaseException:
                _roll_back(run.top, entry)
                raise
            _save(replace(entry, state="applied"))
            result.done[id] = tuple(change.path for change in changes)
        return result


def undo_patches(base: Path, top: Path, ids: Iterable[str] = ()) -> Result:
    """Take applied patches back, the last one first: the very bytes, or merged backwards after later edits.

    Without ids, all patches of the run that was applied last. Raises :class:`RecordError` when there is nothing to undo.
    """
    wanted = [full_id(id) for id in ids]
    with exclusive(base, "undo"):
        recover(base, top)
        applied = [entry for entry in entries(base) if entry.state == "applied"]
        last = applied[-1].run if applied else ""
        if wanted:
            newest = {entry.id: entry for entry in applied if entry.id in wanted}
            if missing := [id for id in wanted if id not in newest]:
                raise RecordError(f"{', '.join(missing)}: not applied by selfheal, so there is nothing to undo.")
            chosen = [entry for entry in applied if newest.get(entry.id) == entry]
        else:
            chosen = [entry for entry in applied if entry.run == last]
        if not chosen:
            raise RecordError("no patch is applied, so there is nothing to undo.")
        result = Result()
        for entry in reversed(chosen):
            try:
                targets = tuple(_backwards(top, change) for change in entry.changes)
            except SelfhealError as error:
                result.refused[entry.id] = str(error)
                continue
            if any(target.after != change.before for target, change in zip(targets, entry.changes, strict=True)):
                result.merged.append(entry.id)
            _undo(top, entry, targets)
            result.done[entry.id] = tuple(change.path for change in entry.changes)
        return result


def recover(base: Path, top: Path) -> list[str]:
    """Bring what a crash left half done to its end: a half applied patch is taken back, a half undone one as well.

    Returns the ids of such patches. The caller holds the lock.
    """
    found = []
    for leftover in (base / "journal").glob(f".*{TEMPORARY}"):
        with contextlib.suppress(OSError):
            leftover.unlink()
    for entry in entries(base):
        if entry.state == "applying":
            _roll_back(top, entry)
            found.append(entry.id)
        elif entry.state == "undoing":
            _go_on_undoing(top, entry)
            found.append(entry.id)
    return found


def entries(base: Path) -> list[Entry]:
    """All journal entries, oldest first."""
    return [_load(path) for path in sorted((base / "journal").glob("*.json"))]


def states(base: Path, run: str) -> dict[str, State]:
    """For each patch of a run that was ever applied: whether it is applied now."""
    return {entry.id: entry.state for entry in entries(base) if entry.run == run}


# --- one file after the other ----------------------------------------------------------------------------------------


def _write_all(top: Path, entry: Entry) -> None:
    for folder in entry.folders:
        with writing_tree(folder):
            (top / folder).mkdir(exist_ok=True)
    for change in entry.changes:
        _write(top, entry, change.path, change.after)


def _write(top: Path, entry: Entry, path: str, content: bytes | None) -> None:
    # New files grow beside the journal: a crash leaves nothing in the user's folders.
    mode, scratch = entry.modes.get(path), entry.file.parent
    with writing_tree(path):
        if content is None:
            (top / path).unlink(missing_ok=True)
        else:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(top / path, content, mode, scratch)


def _roll_back(top: Path, entry: Entry) -> None:
    """Old bytes for every file that has the new ones; a file that has neither was edited by somebody else and stays."""
    for change in entry.changes:
        if read_bytes(top / change.path) == change.after:
            _write(top, entry, change.path, change.before)
    _remove_folders(top, entry)
    _save(replace(entry, state="undone"))


def _backwards(top: Path, change: FileChange) -> FileChange:
    current = read_bytes(top / change.path)
    if current == change.after:
        return FileChange(change.path, current, change.before)
    if current is None:
        raise RecordError(f"{change.path} is gone since it was patched: there is nothing to take back.")
    if change.before is None or change.after is None:
        raise RecordError(f"{change.path} was changed since the patch made it: delete it yourself if you want it gone.")
    if current == change.before:
        return FileChange(change.path, current, current)
    try:
        return FileChange(change.path, current, merge3(change.after, current, change.before))
    except RecordError:
        raise RecordError(
            f"{change.path} was changed since it was patched, in the very lines of the patch: take the change back by hand."
        ) from None


def _undo(top: Path, entry: Entry, targets: tuple[FileChange, ...]) -> None:
    entry = replace(entry, state="undoing", targets=targets)
    _save(entry)
    _go_on_undoing(top, entry)


def _go_on_undoing(top: Path, entry: Entry) -> None:
    for target in entry.targets:
        if read_bytes(top / target.path) == target.before:
            _write(top, entry, target.path, target.after)
    _remove_folders(top, entry)
    _save(replace(entry, state="undone", targets=()))


def _remove_folders(top: Path, entry: Entry) -> None:
    for folder in reversed(entry.folders):
        with contextlib.suppress(OSError):  # somebody put something in it
            (top / folder).rmdir()


@contextlib.contextmanager
def writing_tree(path: str) -> Iterator[None]:
    """Turn what the operating system says of a file of the project into a sentence."""
    try:
        yield
    except OSError as error:
        raise RecordError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; the patch was not applied."
        ) from None


# --- entries on disk -------------------------------------------------------------------------------------------------


def _new_entry(run: StoredRun, id: str, changes: tuple[FileChange, ...]) -> Entry:
    folder = run.base / "journal"
    with writing(folder):
        folder.mkdir(exist_ok=True)
    numbers = [int(path.name[:6]) for path in folder.glob("[0-9]*.json")]
    file = folder / f"{max(numbers, default=0) + 1:06}-{id}.json"
    modes, made = {}, []
    for change in changes:
        target = run.top / change.path
        if target.exists():
            modes[change.path] = stat.S_IMODE(target.stat().st_mode)
        missing = [parent for parent in target.parents if parent.is_relative_to(run.top) and not parent.exists()]
        made += [parent.relative_to(run.top).as_posix() for parent in reversed(missing)]
    return Entry(file, run.folder.name, id, "applying", changes, modes, tuple(dict.fromkeys(made)))


def _save(entry: Entry) -> None:
    data = {
        "run": entry.run,
        "id": entry.id,
        "state": entry.state,
        "files": [_to_json(change) for change in entry.changes],
        "modes": entry.modes,
        "folders": list(entry.folders),
        "targets": [_to_json(change) for change in entry.targets],
    }
    with writing(entry.file):
        replace_file(entry.file, json.dumps(data).encode())


def _load(path: Path) -> Entry:
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        return Entry(
            file=path,
            run=data["run"],
            id=data["id"],
            state=data["state"],
            changes=tuple(_from_json(item) for item in data["files"]),
            modes={str(name): int(mode) for name, mode in data["modes"].items()},
            folders=tuple(data["folders"]),
            targets=tuple(_from_json(item) for item in data["targets"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"the journal entry {path} cannot be read ({error}); move it away to go on without it."
        ) from None


def _to_json(change: FileChange) -> dict[str, str | None]:
    return {"path": change.path, "before": _encode(change.before), "after": _encode(change.after)}


def _from_json(item: dict[str, Any]) -> FileChange:
    return FileChange(item["path"], _decode(item["before"]), _decode(item["after"]))


def _encode(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
