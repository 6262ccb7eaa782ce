"""What the embedded engine found for the very same failures in the very same code: proposed again without a search.

Only the search is saved. Guards, fresh verification and all that follows are as for any other patch, and the confidence is
at most what it was when the alternatives were looked at. Kept under ``.selfheal/``, by digests of every file, of the failures
and of the effort, so that any change of the project makes it a search again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_selfheal
from pytest_selfheal.propose import Proposal
from pytest_selfheal.types import CONFIDENCES, Alternative, Attempt, Diagnosis, FileChange, Likely, Outcome, Patch

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop

STORE = "found.json"
FORMAT = 2
UNDECIDED = ("interrupted", "time_limit")
"""Reasons that say nothing of a patch."""
KEPT = 200
"""Patches that are kept, the last ones."""
WHOLE_BYTES = 1024 * 1024
"""Files up to this size are known by their content, larger ones by size and time."""
WORDS = "Found by an earlier run in this very code, and verified again."


class Remembered:
    """A proposer of one patch."""

    name = "remembered"

    def __init__(self, patch: Patch) -> None:
        self._patch = patch

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        yield Likely(self._patch)
        yield self._patch


class Memory:
    """The patches that the engine found in one tree. Safe to use from several threads."""

    def __init__(self, workshop: Workshop, hide: Callable[[str], str] = str) -> None:
        """Make it before anything runs in the pristine copy: its files are part of what is remembered.

        ``hide`` takes secrets out of what is written of a patch beside the patch itself.
        """
        settings, project = workshop.settings, workshop.project
        self._store = settings.run_dir(project.rootdir) / STORE
        self._top = workshop.pristine.top
        self._hide = hide
        self._lock = threading.Lock()
        self._changed = False
        self._code = _digest(
            f"{pytest_selfheal.__version__} {platform.python_version()} {settings.cpu_seconds}",
            digest_of_tree(self._top),
        )
        # What came with the project is a stranger's proposals, and no memory of ours.
        self._found = {} if project.tracks(self._store) else _read(self._store)

    def patch(self, diagnosis: Diagnosis) -> Patch | None:
        """What was found for these failures; ``None`` where nothing was."""
        with self._lock:
            entry = self._found.get(self._key(diagnosis))
        if entry is None:
            return None
        try:
            return self._patch(entry)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # damaged

    def learn(self, diagnosis: Diagnosis, outcome: Outcome) -> None:
        """Remember the engine's patch for these failures; forget what was known of them when there is none."""
        key, patch = self._key(diagnosis), outcome.patch
        with self._lock:
            if outcome.status == "healed" and patch is not None and patch.proposer == "search":
                self._found.pop(key, None)  # the last one used is the last one to go
                self._found[key] = {
                    **self._entry(patch, outcome),
                    "tests": [_digest(each) for each in diagnosis.nodeids],
                }
                self._changed = True
            elif outcome.reason not in UNDECIDED and self._found.pop(key, None) is not None:
                self._changed = True

    def doubt(self, nodeid: str) -> None:
        """Forget all that was found for failures of this test: it comes and goes."""
        test = _digest(nodeid)
        with self._lock:
            gone = [key for key, entry in self._found.items() if test in entry["tests"]]
            for key in gone:
                del self._found[key]
            self._changed = self._changed or bool(gone)

    def save(self) -> None:
        """Write it for the next run. What cannot be written is searched for again."""
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            kept = dict(list(self._found.items())[-KEPT:])
        from pytest_selfheal.record.run_dir import replace_file

        with contextlib.suppress(OSError):
            replace_file(
                self._store, json.dumps({"format": FORMAT, "found": kept}, separators=(",", ":")).encode("ascii")
            )

    def _key(self, diagnosis: Diagnosis) -> str:
        return _digest(self._code, *sorted(f"{each.nodeid} {each.signature}" for each in diagnosis.failures))

    def _entry(self, patch: Patch, outcome: Outcome) -> dict[str, Any]:
        return {
            "edits": _edits(patch.changes),
            "description": self._hide(patch.description),
            "diagnosis": self._hide(patch.diagnosis),
            "confidence": outcome.confidence,
            "note": self._hide(patch.note).removesuffix(WORDS).strip(),
            "alternatives": [
                {
                    "edits": _edits(other.changes),
                    "description": self._hide(other.description),
                    "input": self._hide(other.distinguishing_input),
                }
                for other in patch.alternatives
            ],
        }

    def _patch(self, entry: dict[str, Any]) -> Patch:
        if entry["confidence"] not in CONFIDENCES:
            raise ValueError(entry["confidence"])
        return Patch(
            changes=self._changes(entry),
            proposer="search",
            description=str(entry["description"]),
            diagnosis=str(entry["diagnosis"]),
            confidence=entry["confidence"],
            alternatives=tuple(
                Alternative(self._changes(other), str(other["description"]), str(other["input"]))
                for other in entry["alternatives"]
            ),
            note=f"{entry['note']} {WORDS}".strip(),
        )

    def _changes(self, entry: dict[str, Any]) -> tuple[FileChange, ...]:
        found = []
        for path, start, end, text in entry["edits"]:
            before = (self._top / path).read_bytes()
            found.append(FileChange(path, before, before[:start] + b64decode(text) + before[end:]))
        return tuple(found)


def _edits(changes: Sequence[FileChange]) -> list[tuple[str, int, int, str]]:
    """Path, the bytes from and up to which it changes, and what comes there (base64)."""
    found = []
    for change in changes:
        before, after = change.before or b"", change.after or b""
        start = _same(before, after)
        tail = _same(before[start:][::-1], after[start:][::-1])
        text = b64encode(after[start : len(after) - tail]).decode("ascii")
        found.append((change.path, start, len(before) - tail, text))
    return found


def _same(one: bytes, other: bytes) -> int:
    """How many bytes are the same at the beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _read(store: Path) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(store.read_text("ascii"))
        if data["format"] != FORMAT:
            return {}
        return {str(key): {**entry, "tests": list(entry["tests"])} for key, entry in data["found"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}  # none yet, of another version, or damaged


def digest_of_tree(top: Path) -> str:
    """Digest of all files below ``top`` but bytecode."""
    seen: list[str] = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                about = path.lstat()
                if path.is_symlink():
                    known = os.readlink(path)  # noqa: PTH115 - a link may name anything
                elif about.st_size <= WHOLE_BYTES:
                    known = hashlib.sha256(path.read_bytes()).hexdigest()
                else:
                    known = f"{about.st_size} {about.st_mtime_ns}"
                seen.append(f"{path.relative_to(top).as_posix()}\0{known}")
    return _digest(*seen)


def _digest(*parts: str) -> str:
    # Names of files and of tests may hold lone surrogates of any kind.
    return hashlib.sha256("\0\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
