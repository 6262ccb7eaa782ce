"""The only judge. A patch counts when its diff, applied by git to a fresh copy, makes fresh interpreters pass the failing
tests as often as they were seen to fail, and every affected test still does what it did."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.judge.assertions import fewer, unpatched
from pytest_selfheal.judge.examples import broken_promise
from pytest_selfheal.judge.repeats import TOLD, Repeats, broken, unstable
from pytest_selfheal.judge.run import ChildRun
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.types import Confidence, Diagnosis, Failure, FileChange, Patch, Verdict, VerdictKind

NOTICING = 4
"""Tests that are remembered for having noticed a bad patch."""


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
        repeats = Repeats(
            workshop,
            workspace,
            diagnosis,
            affected.nodeids,
            lambda: workshop.fresh(patch.changes),
            along=along,
            told=TOLD if foreign else 1,
            cores=cores,
            deadline=deadline,
            stop=stop,
        )
        verdict = Trial(workshop, diagnosis, affected, repeats, started, foreign).judge()
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
        diagnosis: Diagnosis,
        affected: Affected,
        repeats: Repeats,
        started: float,
        foreign: bool = False,
    ) -> None:
        self.workshop = workshop
        self.failing = diagnosis.nodeids
        self.failures = diagnosis.failures
        self.assertions: dict[str, int] = {}
        self.collecting = frozenset(f.nodeid for f in diagnosis.failures if f.phase == "collect")
        self.affected = affected
        self.repeats = repeats
        self.started = started
        self.asked = repeats.along
        self.foreign = foreign
        """The patch is no small edit of the embedded engine: its effect on the other tests is looked at more closely."""
        self.new_failures: tuple[Failure, ...] = ()
        self.healed: tuple[str, ...] = ()
        self.notes: list[str] = []

    def judge(self) -> Verdict:
        repeats = self.repeats
        affected_pass = 0
        with contextlib.ExitStack() as stack:
            repeats.begin(stack)
            for repeat in range(repeats.count):
                run = repeats.result(repeat)
                ended = run.finished or run.enough
                if repeats.along and (run.tampered or not ended) and not repeats.are_over():
                    # Whether a test of another cause did that, nobody can say: it is left out.
                    stack.close()
                    self.asked = ()
                    run = repeats.alone(repeat)
                repeats.along = tuple(each for each in repeats.along if _passes(each, run))
                if bad := self._untrustworthy(run):
                    return bad
                others = repeats.others[repeat]
                if run.enough and (bad := self._regressed(run, [n for n in others if n in run.outcomes])):
                    return bad
                self.assertions.update(run.assertions)
                if bad := self._failing_still_fail(run, repeat):
                    return bad
                if bad := self._regressed(run, others):
                    return bad
                if others:
                    affected_pass = sum(run.outcomes.get(nodeid) == "passed" for nodeid in others)
        confidence: Confidence = "high" if self.affected.complete else "medium"
        others = self.affected.nodeids if self.foreign else ()
        known = {**self.workshop.assertions, **(unpatched(self.workshop, others) if others else {})}
        if less := fewer(self.failures, known, self.assertions, others):
            confidence = "low"
            self.notes.append(f"confidence is low, since {less}")
        repaired = [each for each in repeats.along if not fewer(each.failures, known, self.assertions, ())]
        return Verdict(
            kind="healed",
            reason="; ".join(["the failing tests pass", *self.notes]),
            failing_now_pass=self.healed,
            affected_pass=affected_pass,
            repeats=repeats.count,
            confidence=confidence,
            new_failures=self.new_failures,
            scope=self.affected.scope,
            sandbox=self.workshop.sandbox.name,
            seconds=time.monotonic() - self.started,
            asked=tuple(each.id for each in self.asked),
            repaired=tuple(each.id for each in repaired),
        )

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
        changed = broken(self.workshop, run, others)
        if not changed:
            return None
        if excused := unstable(self.workshop, changed):
            self.notes.append(f"{len(excused)} affected tests could not be judged: they do not pass alone unpatched")
            changed = [nodeid for nodeid in changed if nodeid not in excused]
        if not changed:
            return None
        self.workshop.notice(changed[:NOTICING])
        failures = tuple(f for f in run.failures if f.nodeid in changed)
        became = run.outcomes.get(changed[0], "missing")
        word = {
            "skipped": "is now skipped",
            "missing": "is no longer collected",
            "xfailed": "is now an expected failure",
        }
        reason = f"{changed[0]} {word.get(became, 'passed before and fails now')}"
        kind: VerdictKind = "guarded" if became in word else "regressed"
        return self._ended(kind, reason, still_failing=failures, regressed=tuple(changed))

    def _ended(
        self,
        kind: VerdictKind,
        reason: str,
        still_failing: tuple[Failure, ...] = (),
        regressed: tuple[str, ...] = (),
    ) -> Verdict:
        return _ended(kind, reason, self.started, self.workshop, still_failing, regressed, self.affected.scope)


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
