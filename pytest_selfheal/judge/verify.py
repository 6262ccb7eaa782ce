"""The only judge. A patch counts when its diff, applied by git to a fresh copy, makes fresh interpreters pass the failing
tests as often as they were seen to fail, and every affected test still does what it did."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.judge.assertions import COUNTING, fewer, unpatched
from pytest_selfheal.judge.examples import broken_promise
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.shards import shares, side_by_side
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.types import Confidence, Diagnosis, Failure, FileChange, Patch, Verdict, VerdictKind

SAME = {
    "passed": ("passed",),
    "xfailed": ("xfailed", "xpassed"),
    "xpassed": ("xpassed", "xfailed", "passed"),
    "skipped": ("skipped", "passed"),
}
"""What an affected test may become: a passing test stays a passing test; one that was skipped must still exist."""


NOTICING = 4
"""Tests that are remembered for having noticed a bad patch."""


TOLD = 5
"""Broken tests that a model is told of; the engine needs to know of one."""


LANES = 2
"""Runs of one patch that go side by side where there are cores for them."""


class Affected:
    """Tests to re-run beside the failing ones, and why these."""

    def __init__(self, nodeids: Iterable[str], scope: str, complete: bool = True) -> None:
        self.nodeids = tuple(nodeids)
        self.scope = scope
        self.complete = complete
        """False when time did not allow to run all that the change may affect."""


def verify(
    workshop: Workshop,
    patch: Patch,
    diagnosis: Diagnosis,
    affected: Affected,
    *,
    deadline: float | None = None,
    cores: int = 1,
    stop: threading.Event | None = None,
    along: Sequence[Diagnosis] = (),
) -> Verdict:
    """Judge one patch. ``deadline`` is a ``time.monotonic()`` value after which the verdict is an error, not a guess.

    ``cores``: so many children may run tests at once. Once ``stop`` is set, the verdict says nothing. ``along``: other
    causes whose tests are run as well; the verdict says which of them the patch repairs, and does not depend on it.
    """
    from pytest_selfheal.record.patch import make_diff

    started = time.monotonic()
    with workshop.fresh() as workspace:
        try:
            _apply(workspace, make_diff(patch.changes), patch.changes)
        except (GitError, RecordError) as error:
            return _ended("malformed", f"the patch does not apply: {error}", started, workshop)
        foreign = patch.proposer != "search"
        trial = Trial(workshop, workspace, diagnosis, affected, started, deadline, foreign, stop)
        trial.cores, trial.copies = cores, lambda: workshop.fresh(patch.changes)
        trial.along = trial.asked = tuple(along)
        verdict = trial.judge()
        # The engine has asked the docstrings itself.
        if foreign and verdict.kind == "healed" and (name := broken_promise(workshop, workspace, patch.changes)):
            why = f"{verdict.reason}; confidence is low, since the docstring's examples of {name} do not hold"
            verdict = replace(verdict, confidence="low", reason=why)
        return verdict


def _apply(workspace: Workspace, diff: bytes, changes: Sequence[FileChange]) -> None:
    from pytest_selfheal.record.patch import apply_in

    apply_in(workspace.top, diff, changes)


class Trial:
    """The runs of one patched copy, cheapest first; the first bad one ends it."""

    def __init__(
        self,
        workshop: Workshop,
        workspace: Workspace,
        diagnosis: Diagnosis,
        affected: Affected,
        started: float,
        deadline: float | None,
        foreign: bool = False,
        stop: threading.Event | None = None,
    ) -> None:
        self.stop = stop
        self.workshop = workshop
        self.workspace = workspace
        self.failing = diagnosis.nodeids
        self.failures = diagnosis.failures
        self.assertions: dict[str, int] = {}
        self.collecting = frozenset(f.nodeid for f in diagnosis.failures if f.phase == "collect")
        self.affected = affected
        self.started = started
        self.deadline = deadline
        self.asked: tuple[Diagnosis, ...] = ()
        """Other causes whose tests are run along …"""
        self.along: tuple[Diagnosis, ...] = ()
        """… and those of them whose tests have passed each time so far."""
        self.others: list[tuple[str, ...]] = []
        """The passing tests of each run."""
        self.cores = 1
        self.copies: Callable[[], Workspace] | None = None
        """Makes another copy with the patch in it."""
        self.foreign = foreign
        """The patch is no small edit of the embedded engine: its effect on the other tests is looked at more closely."""
        self.new_failures: tuple[Failure, ...] = ()
        self.healed: tuple[str, ...] = ()
        self.notes: list[str] = []

    def judge(self) -> Verdict:
        repeats = self.workshop.settings.repeats
        affected_pass = 0
        # The second run takes the affected tests along: they cost no start of their own. What noticed a bad patch
        # of this run notices the next one like it soonest, so it goes first.
        first = [self._noticing(), self.affected.nodeids] if repeats > 1 else [self.affected.nodeids]
        self.others = [*first, *[()] * (repeats - len(first))]
        with contextlib.ExitStack() as stack:
            runs = self._lanes(repeats, stack) if self._has_room(repeats) else None
            for repeat in range(repeats):
                run = runs[repeat].result() if runs else self._repeat(repeat, self.workspace, self.stop)
                ended = run.finished or run.enough
                if self.along and (run.tampered or not ended) and not self._is_over():
                    # Whether a test of another cause did that, nobody can say: it is left out.
                    self.along = self.asked = ()
                    stack.close()
                    run, runs = self._repeat(repeat, self.workspace, self.stop), None
                self.along = tuple(each for each in self.along if _passes(each, run))
                if bad := self._untrustworthy(run):
                    return bad
                if run.enough and (bad := self._regressed(run, [n for n in self.others[repeat] if n in run.outcomes])):
                    return bad
                self.assertions.update(run.assertions)
                if bad := self._failing_still_fail(run, repeat):
                    return bad
                if others := self.others[repeat]:
                    if bad := self._regressed(run, others):
                        return bad
                    affected_pass = sum(run.outcomes.get(nodeid) == "passed" for nodeid in others)
        confidence: Confidence = "high" if self.affected.complete else "medium"
        others = self.affected.nodeids if self.foreign else ()
        known = {**self.workshop.assertions, **(unpatched(self.workshop, others) if others else {})}
        if less := fewer(self.failures, known, self.assertions, others):
            confidence = "low"
            self.notes.append(f"confidence is low, since {less}")
        repaired = [each for each in self.along if not fewer(each.failures, known, self.assertions, ())]
        return Verdict(
            kind="healed",
            reason="; ".join(["the failing tests pass", *self.notes]),
            failing_now_pass=self.healed,
            affected_pass=affected_pass,
            repeats=repeats,
            confidence=confidence,
            new_failures=self.new_failures,
            scope=self.affected.scope,
            sandbox=self.workshop.sandbox.name,
            seconds=time.monotonic() - self.started,
            asked=tuple(each.id for each in self.asked),
            repaired=tuple(each.id for each in repaired),
        )

    def _wanted(self, others: Sequence[str]) -> tuple[str, ...]:
        return (*self.failing, *(nodeid for each in self.along for nodeid in each.nodeids), *others)

    def _is_over(self) -> bool:
        ended = self.deadline is not None and time.monotonic() > self.deadline
        return ended or (self.stop is not None and self.stop.is_set())

    def _repeat(self, repeat: int, workspace: Workspace, stop: threading.Event | None) -> ChildRun:
        # The last run is a control as well: passing tests must fail at their end when made to.
        last = repeat == self.workshop.settings.repeats - 1
        control = self._controllable() if last else ()
        # Whether the failing tests pass is known before anything can end a run early.
        sound = [nodeid for nodeid in self.others[repeat] if repeat and self._may_break(nodeid)]
        return self._run(workspace, self._wanted(self.others[repeat]), control, stop, sound)

    def _has_room(self, repeats: int) -> bool:
        """Whether the runs go side by side. Of two lanes at least one has two runs: what the first leaves behind is seen."""
        return self.cores > 1 and repeats > LANES and self.copies is not None and len(self._parts(self.others[1])) < 2

    def _lanes(self, repeats: int, stack: contextlib.ExitStack) -> list[concurrent.futures.Future[ChildRun]]:
        """The runs, begun: each second one in another copy. Leaving ``stack`` ends those that nobody needs."""
        assert self.copies is not None
        stop = _Either(self.stop)
        # Each child ends with the thread that started it, so each lane has one.
        pools = [concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="selfheal-verify") for _ in range(LANES)]
        copies = stack.enter_context(contextlib.ExitStack())  # removed once nobody runs in them any more
        for pool in pools:
            stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(stop.set)
        begun = {}
        # The lane with the affected tests takes longest, and need not wait for a copy.
        for lane in reversed(range(LANES)):
            workspace = self.workspace if lane else copies.enter_context(self.copies())
            for n in range(lane, repeats, LANES):
                begun[n] = pools[lane].submit(self._repeat, n, workspace, stop)
        return [begun[n] for n in range(repeats)]

    def _noticing(self) -> tuple[str, ...]:
        affected = frozenset(self.affected.nodeids)
        return tuple(nodeid for nodeid in self.workshop.noticed if nodeid in affected)

    def _controllable(self) -> tuple[str, ...]:
        along = (nodeid for each in self.along for nodeid in each.nodeids)
        return tuple(nodeid for nodeid in (*self.failing, *along) if nodeid not in self.collecting)

    def _parts(self, nodeids: Sequence[str]) -> list[tuple[str, ...]]:
        first = frozenset(self._wanted(()))
        durations = self.workshop.project.durations
        return shares([nodeid for nodeid in nodeids if nodeid not in first], durations, self.cores)

    def _run(
        self,
        workspace: Workspace,
        nodeids: Sequence[str],
        control: Sequence[str],
        stop: threading.Event | None,
        sound: Sequence[str],
    ) -> ChildRun:
        """All these tests, or as many as show that the patch breaks some of ``sound``."""
        enough = _Enough(stop, sound, TOLD if self.foreign else 1)
        run = self._run_parts(workspace, nodeids, control, enough)
        if not enough.seen_enough:
            return run
        if self._unstable(enough.seen):
            return self._run_parts(workspace, nodeids, control, _Enough(stop))
        run.enough = True
        return run

    def _run_parts(
        self, workspace: Workspace, nodeids: Sequence[str], control: Sequence[str], stop: _Enough
    ) -> ChildRun:
        """The tests in one child, or in several when they take long; in the first one, those that fail unpatched."""
        parts = self._parts(nodeids)
        if len(parts) < 2 or self.copies is None:
            return self._run_in(workspace, nodeids, control, stop)
        with contextlib.ExitStack() as stack:
            jobs = [lambda: self._run_in(workspace, self._wanted(parts[-1]), control, stop)]
            for part in parts[:-1]:
                copy = stack.enter_context(self.copies())
                jobs.append(lambda copy=copy, part=part: self._run_in(copy, part, (), stop))  # type: ignore[misc]
            return side_by_side(jobs)

    def _run_in(self, workspace: Workspace, nodeids: Sequence[str], control: Sequence[str], stop: _Enough) -> ChildRun:
        timeout = None
        if self.deadline is not None:
            timeout = max(1.0, self.deadline - time.monotonic())
        return run_tests(
            self.workshop,
            workspace,
            nodeids,
            timeout=timeout,
            stop=stop,
            control=control,
            watched=self._controllable(),
            on_failed=stop.failed,
            arguments=COUNTING,
        )

    def _may_break(self, nodeid: str) -> bool:
        """It passed in the user's run, and nothing says that it fails without the patch."""
        may = SAME.get(self.workshop.project.outcomes.get(nodeid, ""), ())
        return bool(may) and self.workshop.known_unpatched(nodeid) in (None, *may)

    def _unstable(self, nodeids: Iterable[str]) -> list[str]:
        """Those that do not do in an unpatched copy (alone, in the sandbox) what they did: they say nothing about a patch."""
        before = self.workshop.project.outcomes
        unpatched = self.workshop.unpatched(nodeids)
        return [n for n in unpatched if unpatched[n] not in SAME.get(before.get(n, ""), ())]

    def _untrustworthy(self, run: ChildRun) -> Verdict | None:
        if run.tampered:
            return self._ended("guarded", f"the result cannot be trusted: {run.tampered}")
        unusual = sorted(set(run.altered) - self.workshop.usual)
        if unusual and self.workshop.usual and not self.collecting:
            return self._ended("guarded", f"the result cannot be trusted: with the patch, and only then, {unusual[0]}")
        if run.outside:
            return self._ended(
                "error",
                f"{run.outside[0]} was imported from your tree instead of the patched copy, so the result says nothing",
            )
        if not run.finished and not run.enough:
            why = "did not end in time" if run.timed_out else f"ended early (exit {run.exit_status})"
            last = run.output.strip().splitlines()[-1:] or [""]
            return self._ended("still_failing", f"the test process {why}: {last[0][:200]}")
        return None

    def _failing_still_fail(self, run: ChildRun, repeat: int) -> Verdict | None:
        still: list[str] = []
        passed: list[str] = []
        self.new_failures = ()
        for nodeid in self.failing:
            if nodeid in self.collecting:
                tests = [other for other in run.collected if other.partition("::")[0] == nodeid.partition("::")[0]]
                ok = run.outcomes.get(nodeid) != "error" and bool(tests)
                self.new_failures += tuple(f for f in run.failures if f.nodeid in tests)
                passed += [other for other in tests if run.outcomes.get(other) == "passed"] if ok else []
            else:
                ok = run.outcomes.get(nodeid) == "passed"
                passed += [nodeid] if ok else []
            if not ok:
                still.append(nodeid)
        if not still:
            self.healed = tuple(passed)
            return None
        failures = tuple(f for f in run.failures if f.nodeid in still)
        if repeat:
            return self._ended("still_failing", f"{still[0]} passes only now and then", still_failing=failures)
        became = run.outcomes.get(still[0], "missing")
        if became in ("skipped", "xfailed", "missing"):
            return self._ended("guarded", f"{still[0]} is {became} instead of passing", still_failing=failures)
        what = failures[0].message.strip().splitlines()[:1] if failures else []
        reason = f"{still[0]} still fails" + (f": {failures[0].exception}: {what[0][:160]}" if what else "")
        return self._ended("still_failing", reason, still_failing=failures)

    def _regressed(self, run: ChildRun, others: Sequence[str]) -> Verdict | None:
        before = self.workshop.project.outcomes
        broken = [
            nodeid
            for nodeid in others
            if run.outcomes.get(nodeid, "missing") not in SAME.get(before.get(nodeid, ""), ())
        ]
        if unstable := self._unstable(broken):
            self.notes.append(f"{len(unstable)} affected tests could not be judged: they do not pass alone unpatched")
            broken = [nodeid for nodeid in broken if nodeid not in unstable]
        if not broken:
            return None
        self.workshop.notice(broken[:NOTICING])
        failures = tuple(f for f in run.failures if f.nodeid in broken)
        became = run.outcomes.get(broken[0], "missing")
        word = {
            "skipped": "is now skipped",
            "missing": "is no longer collected",
            "xfailed": "is now an expected failure",
        }
        reason = f"{broken[0]} {word.get(became, 'passed before and fails now')}"
        kind: VerdictKind = "guarded" if became in word else "regressed"
        return self._ended(kind, reason, still_failing=failures, regressed=tuple(broken))

    def _ended(
        self,
        kind: VerdictKind,
        reason: str,
        still_failing: tuple[Failure, ...] = (),
        regressed: tuple[str, ...] = (),
    ) -> Verdict:
        return _ended(kind, reason, self.started, self.workshop, still_failing, regressed, self.affected.scope)


class _Either(threading.Event):
    """Set when it was set itself, or when the other one was."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or (self._other is not None and self._other.is_set())


class _Enough(_Either):
    """Set, too, once ``count`` tests have failed of those that a good patch does not break."""

    def __init__(self, other: threading.Event | None, sound: Iterable[str] = (), count: int = 1) -> None:
        super().__init__(other)
        self.seen: dict[str, None] = {}
        self._sound = frozenset(sound)
        self._count = count

    @property
    def seen_enough(self) -> bool:
        return len(self.seen) >= self._count

    def failed(self, nodeid: str) -> None:
        if nodeid in self._sound:
            self.seen[nodeid] = None
            if self.seen_enough:
                self.set()


def _passes(other: Diagnosis, run: ChildRun) -> bool:
    return all(run.outcomes.get(nodeid) == "passed" for nodeid in other.nodeids)


def _ended(
    kind: VerdictKind,
    reason: str,
    started: float,
    workshop: Workshop,
    still_failing: tuple[Failure, ...] = (),
    regressed: tuple[str, ...] = (),
    scope: str = "",
) -> Verdict:
    return Verdict(
        kind=kind,
        reason=reason,
        still_failing=still_failing,
        regressed=regressed,
        scope=scope,
        sandbox=workshop.sandbox.name,
        seconds=time.monotonic() - started,
    )
