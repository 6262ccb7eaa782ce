"""The runs of one patched copy: how often, beside each other or in shares, and ended as soon as they have shown enough."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from pytest_selfheal.judge.assertions import COUNTING
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.shards import shares, side_by_side
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.types import Diagnosis

SAME = {
    "passed": ("passed",),
    "xfailed": ("xfailed", "xpassed"),
    "xpassed": ("xpassed", "xfailed", "passed"),
    "skipped": ("skipped", "passed"),
}
"""What an affected test may become: a passing test stays a passing test; one that was skipped must still exist."""

LANES = 2
"""Runs of one patch that go side by side where there are cores for them."""

TOLD = 5
"""Broken tests that a model is told of; the engine needs to know of one."""


class Repeats:
    """The runs of one patched copy, each of a number from 0 on; ``others`` are the passing tests that each takes along."""

    def __init__(
        self,
        workshop: Workshop,
        workspace: Workspace,
        diagnosis: Diagnosis,
        affected: Sequence[str],
        copies: Callable[[], Workspace],
        *,
        along: Sequence[Diagnosis] = (),
        told: int = 1,
        cores: int = 1,
        deadline: float | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self._workshop = workshop
        self._workspace = workspace
        self._failing = diagnosis.nodeids
        self._collecting = frozenset(f.nodeid for f in diagnosis.failures if f.phase == "collect")
        self._copies = copies
        """Makes another copy with the patch in it."""
        self._told = told
        self._cores = cores
        self._deadline = deadline
        self._stop = stop
        self._begun: list[concurrent.futures.Future[ChildRun]] = []
        self.along = tuple(along)
        """Other causes whose tests are run as well; whoever reads the results leaves out those that fail."""
        self.count = workshop.settings.repeats
        noticing = tuple(nodeid for nodeid in workshop.noticed if nodeid in frozenset(affected))
        # The second run takes the affected tests along: they cost no start of their own. What noticed a bad patch
        # of this run notices the next one like it soonest, so it goes first.
        first = [noticing, tuple(affected)] if self.count > 1 else [tuple(affected)]
        self.others = [*first, *[()] * (self.count - len(first))]

    def begin(self, stack: contextlib.ExitStack) -> None:
        """Begin the runs side by side, where there is room for that. Leaving ``stack`` ends those that nobody needs.

        Of two lanes at least one has two runs: what the first leaves behind is seen.
        """
        if not (self._cores > 1 and self.count > LANES and len(self._parts(self.others[1])) < 2):
            return
        stop = _Either(self._stop)
        # Each child ends with the thread that started it, so each lane has one.
        pools = [concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="selfheal-verify") for _ in range(LANES)]
        copies = stack.enter_context(contextlib.ExitStack())  # removed once nobody runs in them any more
        for pool in pools:
            stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(stop.set)
        begun = {}
        # The lane with the affected tests takes longest, and need not wait for a copy.
        for lane in reversed(range(LANES)):
            workspace = self._workspace if lane else copies.enter_context(self._copies())
            for n in range(lane, self.count, LANES):
                begun[n] = pools[lane].submit(self._repeat, n, workspace, stop)
        self._begun = [begun[n] for n in range(self.count)]

    def result(self, repeat: int) -> ChildRun:
        return self._begun[repeat].result() if self._begun else self._repeat(repeat, self._workspace, self._stop)

    def alone(self, repeat: int) -> ChildRun:
        """From this run on without the tests of other causes; the stack of :meth:`begin` has been left."""
        self.along, self._begun = (), []
        return self.result(repeat)

    def are_over(self) -> bool:
        """Whether the time or the interest in them has ended."""
        ended = self._deadline is not None and time.monotonic() > self._deadline
        return ended or (self._stop is not None and self._stop.is_set())

    def _repeat(self, repeat: int, workspace: Workspace, stop: threading.Event | None) -> ChildRun:
        """All tests of this run, or as many as show that the patch breaks what passed."""
        # The last run is a control as well: passing tests must fail at their end when made to.
        control = self._controllable() if repeat == self.count - 1 else ()
        # Whether the failing tests pass is known before anything can end a run early.
        sound = [nodeid for nodeid in self.others[repeat] if repeat and _may_break(self._workshop, nodeid)]
        enough = _Enough(stop, sound, self._told)
        run = self._run(workspace, self.others[repeat], control, enough)
        if not enough.seen_enough:
            return run
        if unstable(self._workshop, enough.seen):
            return self._run(workspace, self.others[repeat], control, _Enough(stop))
        run.enough = True
        return run

    def _run(self, workspace: Workspace, others: Sequence[str], control: Sequence[str], stop: _Enough) -> ChildRun:
        """The tests in one child, or in several when they take long; in the first one, those that fail unpatched."""
        parts = self._parts(others)
        if len(parts) < 2:
            return self._run_in(workspace, self._wanted(others), control, stop)
        with contextlib.ExitStack() as stack:
            jobs = [lambda: self._run_in(workspace, self._wanted(parts[-1]), control, stop)]
            for part in parts[:-1]:
                copy = stack.enter_context(self._copies())
                jobs.append(lambda copy=copy, part=part: self._run_in(copy, part, (), stop))  # type: ignore[misc]
            return side_by_side(jobs)

    def _run_in(self, workspace: Workspace, nodeids: Sequence[str], control: Sequence[str], stop: _Enough) -> ChildRun:
        timeout = None
        if self._deadline is not None:
            timeout = max(1.0, self._deadline - time.monotonic())
        return run_tests(
            self._workshop,
            workspace,
            nodeids,
            timeout=timeout,
            stop=stop,
            control=control,
            watched=self._controllable(),
            on_failed=stop.failed,
            arguments=COUNTING,
        )

    def _wanted(self, others: Sequence[str]) -> tuple[str, ...]:
        return (*self._failing, *(nodeid for each in self.along for nodeid in each.nodeids), *others)

    def _controllable(self) -> tuple[str, ...]:
        return tuple(nodeid for nodeid in self._wanted(()) if nodeid not in self._collecting)

    def _parts(self, others: Sequence[str]) -> list[tuple[str, ...]]:
        first = frozenset(self._wanted(()))
        durations = self._workshop.project.durations
        return shares([nodeid for nodeid in others if nodeid not in first], durations, self._cores)


def is_as_before(before: str | None, now: str | None) -> bool:
    """Whether a test may become ``now`` that was ``before``; ``None`` says that it is missing."""
    return (now or "missing") in SAME.get(before or "", ())


def broken(workshop: Workshop, run: ChildRun, nodeids: Iterable[str]) -> list[str]:
    """Those that did not do in ``run`` what they did in the user's."""
    before = workshop.project.outcomes
    return [n for n in nodeids if not is_as_before(before.get(n), run.outcomes.get(n))]


def unstable(workshop: Workshop, nodeids: Iterable[str]) -> list[str]:
    """Those that do not do in an unpatched copy (alone, in the sandbox) what they did: they say nothing about a patch."""
    before = workshop.project.outcomes
    return [n for n, outcome in workshop.unpatched(nodeids).items() if not is_as_before(before.get(n), outcome)]


def _may_break(workshop: Workshop, nodeid: str) -> bool:
    """It passed in the user's run, and nothing says that it fails without the patch."""
    before, known = workshop.project.outcomes.get(nodeid), workshop.known_unpatched(nodeid)
    return before in SAME and (known is None or is_as_before(before, known))


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
