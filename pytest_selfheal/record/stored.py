"""Reading a run back from its folder: where its project is, its patches, its report; also of a run that was killed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record.diff import FilePatch, parse
from pytest_selfheal.record.message import trailer
from pytest_selfheal.record.patch import find_top
from pytest_selfheal.record.run_dir import read_events, replace_file, writing


@dataclass(frozen=True)
class StoredPatch:
    """A patch file of a run."""

    id: str
    path: Path
    subject: str
    message: str
    """The mail's body without the diffstat."""
    diff: bytes
    includes: tuple[str, ...]
    """Ids of earlier patches whose changes this one contains."""

    @property
    def files(self) -> list[FilePatch]:
        return parse(self.diff)


@dataclass(frozen=True)
class StoredRun:
    """A run's folder and where its paths lead."""

    folder: Path
    top: Path
    rootdir: Path
    author: str | None
    signoff: bool

    @property
    def base(self) -> Path:
        """The folder of all runs."""
        return self.folder.parent.parent

    def patches(self) -> list[StoredPatch]:
        """All patches, in the order of their ids."""
        return [_read_patch(path) for path in sorted((self.folder / "patches").glob("[0-9]*.patch"))]

    def decisions(self) -> dict[str, dict[str, str]]:
        """What a person decided on each patch: ``{"decision": "accepted" | "rejected", "reason": words}`` by id."""
        try:
            data = json.loads((self.folder / "decisions.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def decide(self, id: str, decision: str, reason: str = "") -> None:
        """Write a person's decision down."""
        data = {**self.decisions(), id: {"decision": decision, "reason": reason}}
        path = self.folder / "decisions.json"
        with writing(path):
            replace_file(path, json.dumps(data, indent=1).encode())

    def select(self, ids: Sequence[str]) -> list[StoredPatch]:
        """The patches with these ids (``1`` means ``0001``), or all but those that a later one contains or a person rejected.

        Raises :class:`RecordError` for an id that has no patch.
        """
        patches = self.patches()
        if not ids:
            rejected = {id for id, how in self.decisions().items() if how.get("decision") == "rejected"}
            patches = [patch for patch in patches if patch.id not in rejected]
            contained = {earlier for patch in patches for earlier in patch.includes}
            return [patch for patch in patches if patch.id not in contained]
        known = {patch.id: patch for patch in patches}
        wanted = list(dict.fromkeys(full_id(id) for id in ids))
        for id in wanted:
            if id not in known:
                there = ", ".join(known) or "none"
                raise RecordError(f"there is no patch {id} in {self.folder.name}; patches: {there}.")
        return [known[id] for id in wanted]

    def report(self) -> dict[str, Any]:
        """``report.json``, or what the trace of an unfinished run tells of it (``stop`` is then ``interrupted``)."""
        path = self.folder / "report.json"
        try:
            data = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return self._from_trace()
        except (OSError, ValueError) as error:
            raise RecordError(f"cannot read {path}: {error}; run 'pytest --selfheal' again.") from None
        if not isinstance(data, dict) or data.get("version") != 1:
            raise RecordError(f"{path} is not a report that this version of pytest-selfheal can read.")
        return data

    def events(self) -> Iterable[dict[str, Any]]:
        """Events of ``trace.jsonl``; a last line that was cut off is skipped."""
        yield from read_events(self.folder)

    def _from_trace(self) -> dict[str, Any]:
        # An outcome is told again when generated tests have joined its patch.
        told = {event.get("id"): event["failure"] for event in self.events() if event.get("event") == "outcome"}
        failures = list(told.values())
        seconds = max((float(event.get("t", 0)) for event in self.events()), default=0.0)
        costs = [attempt.get("cost_usd") for failure in failures for attempt in failure["attempts"]]
        return {
            "version": 1,
            "started": _started(self.folder.name),
            "seconds": seconds,
            "exit_status": None,
            "model": None,
            "stop": "interrupted",
            "failures": sorted(failures, key=lambda failure: str(failure["id"])),
            "totals": {
                "failures": len(failures),
                "healed": sum(failure["status"] == "healed" for failure in failures),
                "cost_usd": None if None in costs else sum(costs),
                "tokens": sum(a["prompt_tokens"] + a["completion_tokens"] for f in failures for a in f["attempts"]),
                "seconds": seconds,
            },
        }


def load_run(folder: Path) -> StoredRun:
    """Open a run's folder. Its project is where it was relative to the folder, else the folder's own surroundings."""
    folder = folder.resolve()
    base = folder.parent.parent
    start: dict[str, Any] = next((event for event in read_events(folder) if event.get("event") == "start"), {})
    fallback = base.parent
    top, rootdir = (_place(base, start.get(name)) for name in ("top", "rootdir"))
    if top is None or rootdir is None or not rootdir.is_relative_to(top):
        top, rootdir = find_top(fallback)[0], fallback
    return StoredRun(folder, top, rootdir, start.get("author"), bool(start.get("signoff")))


def _place(base: Path, relative: Any) -> Path | None:
    if not isinstance(relative, str):
        return None
    path = Path(os.path.normpath(base / relative))
    return path if path.is_dir() else None


def full_id(id: str) -> str:
    """``7`` → ``0007``."""
    return id.zfill(4) if id.isdigit() else id


def _started(name: str) -> str:
    match = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", name)
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else ""


def _read_patch(path: Path) -> StoredPatch:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror or error}.") from None
    at = raw.find(b"\ndiff --git ") + 1
    if not at:
        raise RecordError(f"{path} holds no diff: run 'pytest --selfheal' again.")
    head, diff = raw[:at].decode("utf-8", "replace"), raw[at:]
    diff = diff[:end] if (end := diff.rfind(b"\n-- \npytest-selfheal ") + 1) else diff
    headers, _, rest = head.partition("\n\n")
    message = rest.partition("\n---\n")[0]
    includes = trailer(message, "Selfheal-Includes")
    return StoredPatch(
        id=trailer(message, "Selfheal-Id") or path.name[:4],
        path=path,
        subject=_subject(headers),
        message=message,
        diff=diff,
        includes=tuple(includes.replace(" ", "").split(",")) if includes else (),
    )


def _subject(headers: str) -> str:
    from email.header import decode_header, make_header
    from email.parser import HeaderParser

    # The first line is the mailbox separator, which is no header.
    raw = HeaderParser().parsestr(headers.partition("\n")[2]).get("Subject", "")
    return re.sub(r"^\[PATCH[^]]*\] ", "", str(make_header(decode_header(raw))))
