"""Heal a small project with proposers that say what they were told to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from project_helpers import project_at, workshop_at

from pytest_selfheal.healing import heal_run
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.models import Models
from pytest_selfheal.propose import Proposal, Proposer
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, Diagnosis, FileChange, GaveUp, Patch, RunReport

Edits = Mapping[str, tuple[str, str, str]]

SUMS = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "shop.py": "from calc import add\n\n\ndef total(xs):\n    sum = 0\n    for x in xs:\n        sum = add(sum, x)\n    return sum\n",
    "test_shop.py": (
        "from calc import add\nfrom shop import total\n\n\n"
        "def test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    ),
}


class Scripted:
    """Proposes, for a test by its name, what it was given; nothing for any other."""

    name = "scripted"

    def __init__(self, changes: Mapping[str, FileChange]) -> None:
        self.changes = changes

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        change = self.changes.get(diagnosis.nodeids[0].rpartition("::")[2])
        if change is not None:
            yield Patch((change,), self.name, f"change {change.path}")
        yield GaveUp("no_candidate", "Nothing was given.", self.name)


def heal(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: Mapping[str, str],
    proposer: Proposer | None,
    **changes: object,
) -> RunReport:
    """Heal the project of ``files``, in the tests' order, with one proposer (the embedded engine, unless given)."""
    for name, content in {"pytest.ini": "[pytest]\npythonpath = .\n", **files}.items():
        (folder / name).write_text(content)
    if proposer is not None:
        monkeypatch.setattr(Models, "proposers", lambda *_: [proposer])
    settings = replace(Settings(sandbox="process", effort="fast", workers=1), **changes)  # type: ignore[arg-type]
    with workshop_at(folder, settings) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
    return heal_run(first.failures, project_at(folder, outcomes=first.outcomes, durations=first.durations), settings)


def heal_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], edits: Edits, **changes: object
) -> RunReport:
    """Heal the project of ``files``; ``edits`` of a test name: file, old text and new text."""
    made = {
        test: FileChange(path, files[path].encode(), files[path].replace(old, new).encode())
        for test, (path, old, new) in edits.items()
    }
    return heal(folder, monkeypatch, files, Scripted(made), **changes)


def files_of(report: RunReport) -> list[str]:
    folder = Path(report.directory)
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/0*"))
