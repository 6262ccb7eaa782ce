"""``selfheal list`` and ``selfheal show``."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record import words
from pytest_selfheal.record.reload import reload
from pytest_selfheal.record.screen import Screen
from pytest_selfheal.record.stored import StoredRun, full_id


def print_list(screen: Screen, stored: StoredRun, states: Mapping[str, str]) -> None:
    """A line for each cause: id, result, what became of its patch, test. ``states``: the journal's word on each id."""
    report = reload(stored)
    decided = stored.decisions()
    screen.line(f"run {stored.folder.name} in {stored.rootdir}", bold=True)
    for outcome in report.outcomes:
        id, nodeids = outcome.diagnosis.id, outcome.diagnosis.nodeids
        healed = outcome.status == "healed"
        state = states.get(id, "") or decided.get(id, {}).get("decision", "")
        result = f"healed ({outcome.confidence})" if healed else outcome.reason
        more = f" (+{len(nodeids) - 1})" if len(nodeids) > 1 else ""
        screen.write(f"{id}  ")
        screen.write(f"{result:<18}", **({"green": True} if healed else {"red": True}))
        screen.line(f" {state:<9} {nodeids[0]}{more}")
    for note in report.notes:
        screen.line(note)
    screen.line(words.totals(report))
    if report.healed:
        screen.line("Next: selfheal show ID, selfheal apply [ID...], selfheal undo [ID...]")


def print_cause(screen: Screen, stored: StoredRun, id: str) -> None:
    """Everything about one cause: its patch as a whole, or its failure report. Raises :class:`RecordError` for an unknown id."""
    id = full_id(id)
    for patch in stored.patches():
        if patch.id == id:
            screen.line(patch.subject, bold=True)
            screen.line()
            for line in patch.message.strip().splitlines():
                screen.line(line)
            screen.line()
            screen.diff(patch.diff.decode("utf-8", "replace"), indent="", name=True)
            return
    for path in sorted((stored.folder / "failures").glob(f"{id}-*.md")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            screen.line(line, bold=line.startswith("#"))
        return
    known = ", ".join(str(failure["id"]) for failure in stored.report()["failures"]) or "none"
    raise RecordError(f"there is no failure {id} in {stored.folder.name}; there are: {known}.")
