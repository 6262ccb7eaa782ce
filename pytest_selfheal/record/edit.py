"""A person's own version of a patch: the patched file in their editor, verified again, put in the patch's place."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record.apply import plan
from pytest_selfheal.record.ini import read_settings
from pytest_selfheal.record.patch import make_diff, prove
from pytest_selfheal.record.run_dir import replace_file, writing
from pytest_selfheal.record.stored import StoredPatch, StoredRun
from pytest_selfheal.types import FileChange

NOTE = """Edited by a person since: what is said above is about the patch before that. The tests
that failed pass with the edited version; no other test was run with it."""


def edit(stored: StoredRun, patch: StoredPatch, nodeids: Sequence[str], say: Callable[[str], None]) -> StoredPatch:
    """Let a person edit the files as patched; returns the patch that leads there, which is then also on disk.

    Raises :class:`RecordError` when the editor fails, nothing is changed any more, or the tests do not pass.
    """
    planned = plan([patch], stored.top)
    if patch.id not in planned.changes:
        raise RecordError(planned.refused.get(patch.id) or f"{patch.id} is applied already: undo it first.")
    changes = [change for change in planned.changes[patch.id] if change.after is not None]
    edited = tuple(replace(change, after=_in_editor(change)) for change in changes)
    if all(change.after == change.before for change in edited):
        raise RecordError("the edited file is what it was before the patch: nothing is left to apply.")
    diff = make_diff(edited)
    prove(edited, diff)
    say("Running the tests on the edited version …")
    _verify(stored, edited, nodeids)
    message = f"{patch.message.rstrip()}\n\n{NOTE}\n"
    raw = patch.path.read_bytes()
    at = raw.find(b"\ndiff --git ") + 1
    head = raw[:at].replace(b"\nSelfheal-Id:", b"\n" + NOTE.encode() + b"\n\nSelfheal-Id:", 1)
    with writing(patch.path):
        replace_file(patch.path, head + diff + b"-- \npytest-selfheal, edited\n")
    return replace(patch, diff=diff, message=message)


def _in_editor(change: FileChange) -> bytes:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
        path = Path(scratch) / Path(change.path).name
        path.write_bytes(change.after or b"")
        try:
            status = subprocess.call([*shlex.split(command), str(path)])
        except OSError as error:
            raise RecordError(f"the editor {command!r} could not be started: {error.strerror}; set EDITOR.") from None
        if status:
            raise RecordError(f"the editor ended with status {status}, so the patch stays as it was.")
        return path.read_bytes()


def _verify(stored: StoredRun, changes: tuple[FileChange, ...], nodeids: Sequence[str]) -> None:
    from pytest_selfheal.api import project_at
    from pytest_selfheal.judge.run import run_tests
    from pytest_selfheal.judge.workspace import Workshop

    settings = read_settings(stored.rootdir)
    with Workshop(project_at(stored.rootdir), settings) as workshop, workshop.fresh(changes) as workspace:
        result = run_tests(workshop, workspace, list(nodeids))
    failing = [nodeid for nodeid in nodeids if result.outcomes.get(nodeid) != "passed"]
    if failing:
        raise RecordError(f"the edited version does not heal {failing[0]}: edit again, or answer n.")
