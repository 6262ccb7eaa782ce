"""With ``--selfheal``: tests for each healed function that fail on the code before its repair, added to the patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.testgen import targets
from pytest_selfheal.testgen.common import Kept, Settled, code_files, explore, marked
from pytest_selfheal.testgen.job import Found, Job, Target
from pytest_selfheal.testgen.judge import others_for
from pytest_selfheal.testgen.model import Asker, Setting, with_model
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.summary import entry
from pytest_selfheal.types import Outcome

MAX_TARGETS = 8
MAX_TESTS = 300
CPU_SECONDS = 2.0


@dataclass(frozen=True)
class Healed:
    """A healed cause with its tests in its patch, and what the report says of each function."""

    outcome: Outcome
    functions: list[dict[str, Any]]


def with_tests(
    workshop: Workshop, places: Places, outcome: Outcome, affected: AffectedTests, asker: Asker | None = None
) -> Healed:
    """``outcome`` with regression tests in its patch, as far as any hold."""
    patch = outcome.patch
    assert patch is not None
    changes = [change for change in patch.changes if change.path not in outcome.generated_tests]
    wanted, outside = targets.of_changes(changes)
    wanted = wanted[:MAX_TARGETS]
    if not wanted:
        return Healed(outcome, [])
    near_tests = affected.of([c.path for c in changes], outcome.diagnosis.nodeids).nodeids
    failing = outcome.verdict.failing_now_pass if outcome.verdict else outcome.diagnosis.nodeids
    nodeids = list(dict.fromkeys([*failing, *_quick(workshop, near_tests)]))
    found = _explored(workshop, outcome, wanted, outside, nodeids)
    near = workshop.project.from_top(outcome.diagnosis.failure.path) if outcome.diagnosis.failure.path else ""
    others = others_for(workshop, near_tests)
    kept = Settled(workshop, places, changes, others, _reason, before=True).settle(found, near)
    with_model(asker, Setting(workshop, places, changes, others, True, outcome.diff, near), found, kept)
    if outside and kept.tests:
        # Module-level code changed: which functions that concerns, only the tests could tell.
        found = [one for one in found if one.target.label in kept.tests]
    return Healed(_added(outcome, kept), [entry(one, kept, outcome.diagnosis.id) for one in found])


def _reason(found: Found) -> tuple[str, str]:
    name = found.target.qualname
    return f"Wrong before {name} was repaired", f"What {name} does besides what was repaired"


def _quick(workshop: Workshop, nodeids: Sequence[str]) -> list[str]:
    """Tests whose calls are worth watching within a few seconds."""
    chosen, seconds = [], 0.0
    durations = workshop.project.durations
    for nodeid in sorted(nodeids, key=lambda n: durations.get(n, 0.0))[:MAX_TESTS]:
        seconds += durations.get(nodeid, 0.0)
        if seconds > 10:
            break
        chosen.append(nodeid)
    return chosen


def _explored(
    workshop: Workshop, outcome: Outcome, wanted: Sequence[Target], outside: bool, nodeids: Sequence[str]
) -> list[Found]:
    patch = outcome.patch
    assert patch is not None
    before: dict[str, str] = {}
    if not outside:
        from pytest_selfheal.propose.search.files import decode

        before = {c.path: decode(c.before) for c in patch.changes if c.before is not None and c.path.endswith(".py")}
    with workshop.fresh(patch.changes) as workspace:
        job = Job(
            top=str(workspace.seen_top),
            targets=tuple(wanted),
            code=code_files(workshop, workspace),
            use="regression",
            before=before,
            cpu_seconds=CPU_SECONDS,
        )
        found = explore(workshop, workspace, job, nodeids)
    return found if before else marked(found)


def _added(outcome: Outcome, kept: Kept) -> Outcome:
    from pytest_selfheal.record.patch import make_diff

    patch = outcome.patch
    if patch is None or not kept.files:
        return outcome
    changes = tuple(sorted([*patch.changes, *kept.files], key=lambda change: change.path))
    return outcome.but(
        patch=replace(patch, changes=changes),
        diff=make_diff(changes).decode("utf-8", "replace"),
        generated_tests=tuple(change.path for change in kept.files),
    )
