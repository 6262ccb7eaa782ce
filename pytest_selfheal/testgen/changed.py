"""``--generate-tests`` alone: tests for functions that changed since a revision and that no test executes wholly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_selfheal.errors import UsageError
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.testgen import Generated, summary, targets
from pytest_selfheal.testgen.common import Kept, Settled, code_files, explore, read
from pytest_selfheal.testgen.job import Found, Job, Target
from pytest_selfheal.testgen.judge import others_for
from pytest_selfheal.testgen.model import Asker, Setting, with_model
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.types import Diagnosis, Failure, Outcome, Patch

if TYPE_CHECKING:
    from pytest_selfheal.record.run_dir import Run

MAX_TARGETS = 60
WATCHED_SECONDS = 60.0
CPU_SECONDS = 2.0
PATCH = "patches/0001-generated-tests.patch"
BATCH = 20
"""Functions explored by one child."""


def all_changed(workshop: Workshop, outcomes: tuple[Outcome, ...], run: Run, asker: Asker | None = None) -> Generated:
    """A patch of new test files in the run's folder. Raises :class:`UsageError` for a revision that is not known."""
    from pytest_selfheal.record.patch import list_files

    project = workshop.project
    if not project.git:
        return _nothing(outcomes, "No tests were generated: without git, nobody knows what has changed.")
    base = _base(workshop)
    if base is None:
        return _nothing(outcomes, "No tests were generated: the repository has no commit to compare with.")
    wanted = changed_targets(workshop, base)
    if not wanted:
        return _nothing(outcomes, f"No tests were generated: no function of the project changed since {_short(base)}.")
    notes = []
    if len(wanted) > MAX_TARGETS:
        notes.append(f"{len(wanted) - MAX_TARGETS} further changed functions were left for another run.")
        wanted = wanted[:MAX_TARGETS]
    affected = AffectedTests(project, workshop.pristine.top).of(sorted({t.path for t in wanted}), ()).nodeids
    found = explored(workshop, wanted, affected)
    places = Places(project, workshop.pristine.top, list_files(project.top))
    since = f"changed since {_short(base)}, and no test ran what changed"

    def reason(one: Found) -> tuple[str, str]:
        return f"{one.target.qualname} {since}", ""

    others = others_for(workshop, affected)
    kept = Settled(workshop, places, [], others, reason, before=False).settle(found)
    with_model(asker, Setting(workshop, places, [], others, False), found, kept)
    functions = [summary.entry(one, kept) for one in found]
    for function in functions:
        run.event("tests", **function)
    patch = _write(workshop, run, kept, base) if kept.files else None
    files = [change.path for change in kept.files]
    return Generated(outcomes, summary.report(functions, "changed", files, notes, patch))


def explored(workshop: Workshop, wanted: Sequence[Target], affected: Sequence[str]) -> list[Found]:
    """Watch the affected tests and explore, a batch of functions to a child."""
    watched, seconds = [], 0.0
    durations, outcomes = workshop.project.durations, workshop.project.outcomes
    for nodeid in sorted(affected, key=lambda n: durations.get(n, 0.0)):
        seconds += durations.get(nodeid, 0.0)
        if outcomes.get(nodeid) == "passed" and seconds <= WATCHED_SECONDS:
            watched.append(nodeid)
    found: list[Found] = []
    code = code_files(workshop, workshop.pristine)
    for start in range(0, len(wanted), BATCH):
        batch = tuple(wanted[start : start + BATCH])
        job = Job(str(workshop.pristine.seen_top), batch, code, "changed", cpu_seconds=CPU_SECONDS)
        patience = 60.0 + 5 * seconds + 20 * len(batch) * CPU_SECONDS
        found += explore(workshop, workshop.pristine, job, watched, timeout=patience)
    order = {target.label: number for number, target in enumerate(wanted)}
    return sorted(found, key=lambda one: order[one.target.label])


def changed_targets(workshop: Workshop, base: str) -> list[Target]:
    """Functions of the project's code with lines that differ from ``base``; files that git does not know count wholly."""
    from pytest_selfheal.record.patch import changed_lines

    project, top = workshop.project, workshop.pristine.top
    changed = dict(changed_lines(project.top, base))
    for name in _untracked(project.top):
        changed[name] = frozenset(range(1, 1_000_000))
    texts: dict[str, str] = {}
    for name in changed:
        if name.endswith(".py") and not project.is_test_file(name) and (text := read(top, name)) is not None:
            texts[name] = text
    return list(targets.of_lines(texts, changed))


def _base(workshop: Workshop) -> str | None:
    from pytest_selfheal.record import git
    from pytest_selfheal.record.patch import merge_base

    top, asked = workshop.project.top, workshop.settings.base
    if asked is None:
        return merge_base(top)
    repo = git.find_repo(top)
    if (
        repo is None
        or not git.in_repo(repo, "rev-parse", "--verify", "-q", "--end-of-options", f"{asked}^{{commit}}").ok
    ):
        raise UsageError(f"--selfheal-base: git knows no revision {asked!r} here; give a commit, tag or branch.")
    return asked


def _untracked(top: Path) -> list[str]:
    from pytest_selfheal.record import git

    repo = git.find_repo(top)
    if repo is None:
        return []
    listed = git.in_repo(repo, "ls-files", "-z", "--others", "--exclude-standard")
    return [name for name in os.fsdecode(listed.out).split("\0") if name.endswith(".py")]


def _short(base: str) -> str:
    return base[:12] if len(base) == 40 else base


def _write(workshop: Workshop, run: Run, kept: Kept, base: str) -> str:
    """The patch, as a mail like any other, and the files themselves; returns the patch's path in the run's folder."""
    from pytest_selfheal.record.message import identity, mail_patch
    from pytest_selfheal.record.patch import make_diff, prove

    prove(kept.files, make_diff(kept.files))
    count = sum(len(tests) for tests in kept.tests.values())
    nodeids = [nodeid for tests in kept.tests.values() for nodeid in tests]
    files = list(dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids))
    patch = Patch(
        changes=kept.files,
        proposer="generated tests",
        description=f"add {count} {'test' if count == 1 else 'tests'} for logic changed since {_short(base)}",
        diagnosis="Each test covers a changed line or branch that nothing covered, kills at least one mutant of its "
        "function, and passed five times in random order, alone and among the other tests.",
    )
    failures = tuple(Failure(file, "call", (), path=file) for file in files)
    outcome = Outcome(Diagnosis("0001", failures, "logic", (), ""), "healed", "healed", patch.description, patch=patch)
    author = identity(workshop.project.top, run.author)
    mail = mail_patch(outcome, author=author, signoff=run.signoff, prefix=workshop.project.prefix, hide=run.hide)
    for change in kept.files:
        run.write(f"tests/{change.path.removeprefix('tests/')}", change.after or b"")
    run.write(PATCH, mail)
    return PATCH


def _nothing(outcomes: tuple[Outcome, ...], why: str) -> Generated:
    return Generated(outcomes, summary.report([], "changed", [], [why]))
