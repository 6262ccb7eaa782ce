"""The failing tests as something that can be run thousands of times: the cheapest truthful way for each, and its score.

Calibration runs every test unpatched: once through pytest's own protocol, traced, which says what each test executes;
then by the cheaper ways. A way that does not fail (or pass) exactly as pytest's own does is not used.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.outcomes import OutcomeException

from pytest_selfheal.propose.search import decided, fitness, fork, items, observe
from pytest_selfheal.propose.search.decided import Asked, Outcome
from pytest_selfheal.propose.search.fork import CpuTimeout, Timer, Usage
from pytest_selfheal.propose.search.observe import Trace
from pytest_selfheal.propose.search.swap import LiveFunctions, swap

THOROUGH_SECONDS = 0.004
"""Up to so many CPU seconds, all failing tests run for each candidate, even when the first one fails: better guidance."""

WAITING_SHARE = 0.5
"""Of the CPU seconds that a test may take: one that ended with less of them was waiting."""


@dataclass
class Test:
    """One item, and how it is run."""

    item: pytest.Item
    limit: float
    """CPU seconds for the unpatched run."""
    wall_limit: float = math.inf
    """Wall seconds for any run, where the unpatched one need not end."""
    ways: list[tuple[str, items.Run]] = field(default_factory=list)
    way: str = "full"
    run: items.Run = lambda: None
    signature: str = ""
    cpu: float = 0.0
    wall: float = 0.0
    units: int = 1
    baseline: float = 0.0
    soft: bool = False
    trace: Trace = field(default_factory=Trace)

    @property
    def is_endless(self) -> bool:
        """It ran into its limit, so that :attr:`cpu` is that limit and says nothing about the test."""
        return self.signature == "CpuTimeout"

    @property
    def waits(self) -> bool:
        """It is endless without computing: it sleeps, or waits for what never comes."""
        return self.is_endless and self.cpu < WAITING_SHARE * self.limit

    def patience(self, times: float, least: float) -> float:
        """CPU seconds for another run, which may take so many times as long as the first one."""
        return max(least, self.cpu if self.is_endless else times * self.cpu)

    def use(self, way: str) -> None:
        self.way = way
        self.run = dict(self.ways)[way]


_Measure = tuple[str, float, float]
_Softly = tuple[bool, int, float]
_Cheap = tuple[str, _Measure, _Softly]


class Harness:
    """Runs tests in forked children. ``files`` accepts the ``co_filename`` of project files that may be at fault."""

    def __init__(
        self,
        failing: Sequence[tuple[pytest.Item, float]],
        passing: Sequence[tuple[pytest.Item, float]],
        files: Callable[[str], bool],
        live: LiveFunctions,
        test_texts: Mapping[str, str],
        usage: Usage,
        close: tuple[int, ...],
        scratch: Path,
        others: Sequence[tuple[pytest.Item, float]] = (),
        walls: Mapping[str, float] | None = None,
    ) -> None:
        """Items come with the CPU seconds that one run may take; ``test_texts`` are the test files' sources by path.

        ``others`` fail as well, by what may be the same cause. ``walls``: wall seconds for a run of those tests (by nodeid)
        that may wait for ever.
        """

        def tests(items: Sequence[tuple[pytest.Item, float]]) -> list[Test]:
            return [Test(item, limit, (walls or {}).get(item.nodeid, math.inf)) for item, limit in items]

        self.failing, self.passing, self.others = tests(failing), tests(passing), tests(others)
        self._files = files
        self._usage = usage
        self._close = close
        self._scratch = scratch
        self._score = fitness.Soft()
        fitness.Soft.caught = (Exception, OutcomeException)
        self._soft: list[tuple[Mapping[str, list[FunctionType]], Mapping[str, CodeType]]] = []
        for path, text in test_texts.items():
            with contextlib.suppress(SyntaxError, ValueError):
                self._soft.append((live.of(path, text), fitness.soften(text, path)))
        self.thorough = False
        self._steady: set[str] = set()
        """Passing tests that pass in a confirming process as well, without any change."""
        for test in (*self.failing, *self.passing, *self.others):
            test.ways = items.ways(test.item)

    # ------------------------------------------------------------------ calibration

    def calibrate(self) -> None:
        """Find the way of each test; tests that pass (or do not fail) as expected no longer are dropped."""
        everything = [*self.failing, *self.passing, *self.others]
        patience = 10.0 + 12 * sum(test.limit for test in everything)
        traced = fork.call(lambda: self._traced(everything), patience, self._usage, self._close)
        for i, test in enumerate(everything):
            if traced is not None:
                (test.signature, test.cpu, test.wall), test.trace = traced[i]
        known = traced is not None
        cheap = fork.call(lambda: self._cheap(everything, known), patience, self._usage, self._close)
        if traced is None and cheap is None:
            self.failing, self.passing, self.others = [], [], []
            return
        for i, test in enumerate(everything):
            chosen = "full"
            cheaper = cheap[i] if cheap is not None else None
            if cheaper is not None:
                chosen, (test.signature, test.cpu, test.wall), (passed, test.units, test.baseline) = cheaper
                test.soft = passed == (not test.signature)
            test.use(chosen)
        self.failing = [test for test in self.failing if test.signature]
        self.passing = [test for test in self.passing if not test.signature]
        self.others = [test for test in self.others if test.signature]
        self.failing.sort(key=lambda test: test.cpu)
        self.passing.sort(key=lambda test: test.cpu)
        self.thorough = len(self.failing) > 1 and sum(test.cpu for test in self.failing) <= THOROUGH_SECONDS

    def _traced(self, tests: Sequence[Test]) -> list[tuple[_Measure, Trace]]:
        self._enter()
        timer, found = Timer(), []
        for test in tests:
            with observe.tracing(self._files) as trace:
                measure = _measure(timer, dict(test.ways)["full"], 2 * test.limit, test.wall_limit)
            found.append((measure, trace))
        return found

    def _cheap(self, tests: Sequence[Test], known: bool) -> list[_Cheap | None]:
        """The cheapest way that ends like pytest's own (when that is ``known``), then the same with soft assertions."""
        self._enter()
        timer = Timer()
        chosen: list[tuple[str, _Measure] | None] = []
        for test in tests:
            for way, run in test.ways:
                measure = _measure(timer, run, test.limit, test.wall_limit) if way != "full" else ("", 0.0, 0.0)
                if way == "full" or not known or measure[0] == test.signature:
                    chosen.append((way, measure) if way != "full" else None)
                    break
        self._soften()
        found: list[_Cheap | None] = []
        for test, pick in zip(tests, chosen, strict=True):
            if pick is None:
                found.append(None)
            elif not pick[1][0]:  # it passes: there is nothing to come nearer to
                found.append((*pick, (True, 1, 1.0)))
            else:
                found.append((*pick, self._softly(timer, dict(test.ways)[pick[0]], test)))
        return found

    def _softly(self, timer: Timer, run: items.Run, test: Test) -> _Softly:
        self._score.reset()
        escaped = _measure(timer, run, test.limit, test.wall_limit)[0]
        passed = not escaped and not self._score.misses
        units = max(1, self._score.passed + self._score.misses)
        return passed, units, self._score.value(units)

    # ------------------------------------------------------------------ in a screening child

    def prepare(self) -> None:
        """Once in each screening child."""
        self._enter()
        if any(test.soft for test in self.failing):
            self._soften()

    def evaluate(self) -> tuple[bool | None, float]:
        """Run the failing tests on the code as it is: whether all pass (``None``: CPU time ran out), and how close they came (0..1)."""
        everything: bool | None = True
        total, score = 0.0, self._score
        for test in self.failing:
            score.reset()
            try:
                test.run()
                passed: bool | None = not score.misses
            except CpuTimeout:
                passed = None
            except BaseException:
                passed = False
            total += 1.0 if passed else min(score.value(test.units), 0.999) if test.soft else 0.0
            everything = everything and passed
            if passed is None or (not passed and not self.thorough):
                break
        return everything, total / len(self.failing)

    def endings(self) -> list[tuple[str, float]]:
        """How each failing test ends on the code as it is, and how close it comes: two runs that fail alike need not be alike."""
        found = []
        for test in self.failing:
            self._score.reset()
            ended = ""
            try:
                test.run()
            except BaseException as error:
                ended = items.signature(error)
            found.append((ended, self._score.value(test.units)))
            if ended == "CpuTimeout":
                break
        return found

    @property
    def baseline(self) -> float:
        """:meth:`evaluate`'s second value on the unpatched code."""
        counted = self.failing if self.thorough else self.failing[:1]
        return sum(test.baseline if test.soft else 0.0 for test in counted) / max(len(self.failing), 1)

    @property
    def cpu(self) -> float:
        """CPU seconds of all failing tests, unpatched."""
        return sum(test.cpu for test in self.failing if not test.is_endless)

    @property
    def wall(self) -> float:
        return sum(test.wall for test in self.failing if not test.is_endless)

    def confirm(
        self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType], limit: float
    ) -> tuple[bool, tuple[str, ...]] | None:
        """In a clean process, with hard assertions: whether the failing tests pass, and which others no longer do.

        Tests that fail in such a process whatever the code is (they are given up) are no others.
        """
        patience = 2.0 + 10 * (limit + sum(test.wall for test in self.passing))
        verdict = fork.call(lambda: self._confirm(live, codes, limit), patience, self._usage, self._close)
        if verdict is None or self._steady.issuperset(verdict[1]):
            return verdict
        control = fork.call(lambda: self._confirm({}, {}, limit), patience, self._usage, self._close)
        lost = frozenset(control[1] if control is not None else ())
        self.passing = [test for test in self.passing if test.item.nodeid not in lost]
        self._steady |= set(verdict[1]) - lost
        return verdict[0], tuple(nodeid for nodeid in verdict[1] if nodeid not in lost)

    def _confirm(
        self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType], limit: float
    ) -> tuple[bool, tuple[str, ...]]:
        self._enter()
        timer = Timer()
        if codes and not swap(live, codes):
            return False, ()
        passed = True
        for test in self.failing:
            passed = not _measure(timer, test.run, limit)[0] and passed
            if codes and not passed:
                return False, ()
        return passed, tuple(
            test.item.nodeid
            for test in self.passing
            if _measure(timer, test.run, test.patience(10, 0.2), test.wall_limit)[0]
        )

    def repairs(self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType]) -> float:
        """Which share of the tests that fail by what may be another cause pass with these codes."""
        if not self.others:
            return 0.0
        patience = 2.0 + 10 * sum(test.wall for test in self.others)
        return (fork.call(lambda: self._repairs(live, codes), patience, self._usage, self._close) or 0) / len(
            self.others
        )

    def _repairs(self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType]) -> int:
        self._enter()
        timer = Timer()
        if not swap(live, codes):
            return 0
        return sum(not _measure(timer, test.run, test.patience(10, 0.2), test.wall_limit)[0] for test in self.others)

    def asked(
        self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType], failing: bool = True
    ) -> list[set[Outcome]]:
        """What came out of the decisions that ``codes`` has probes at (see :mod:`decided`), by test: passing, then failing ones.

        Without ``failing``, of those that pass. Empty when it cannot be seen.
        """
        tests = (*self.passing, *(self.failing if failing else ()))
        patience = 5.0 + 40 * sum(test.wall for test in tests)
        return fork.call(lambda: self._asked(live, codes, tests), patience, self._usage, self._close) or []

    def _asked(
        self, live: Mapping[str, list[FunctionType]], codes: Mapping[str, CodeType], tests: Sequence[Test]
    ) -> list[set[Outcome]]:
        self._enter()
        if not swap(live, codes):
            return []
        asked = Asked()
        setattr(builtins, decided.NAME, asked)
        timer, found = Timer(), []
        for test in tests:
            _measure(timer, test.run, test.patience(20, 0.5), test.wall_limit)
            found.append(asked.taken())
        return found

    def memberships(self, names_of: Mapping[CodeType, tuple[str, str]]) -> set[tuple[tuple[str, str], str, str]]:
        """See :func:`observe.membership`; by one run of the failing tests."""
        patience = 5.0 + 40 * self.wall
        return fork.call(lambda: self._memberships(names_of), patience, self._usage, self._close) or set()

    def _memberships(self, names_of: Mapping[CodeType, tuple[str, str]]) -> set[tuple[tuple[str, str], str, str]]:
        self._enter()
        timer = Timer()
        with observe.membership(names_of) as found:
            for test in self.failing:
                _measure(timer, test.run, test.patience(20, 0.5), test.wall_limit)
        return found

    def _enter(self) -> None:
        """Make this forked child fit for running tests: its own temporary folder, no time spent on explanations."""
        from _pytest.assertion import rewrite, util

        for test in (*self.failing, *self.passing)[:1]:
            # Subtests are reported while their test runs; here nobody listens, and the channel is closed.
            plugins = test.item.config.pluginmanager
            # The limits in here are shorter than those of pytest-timeout, which uses the same clock.
            for name in ("selfheal-judge", "timeout"):
                if plugins.has_plugin(name):
                    plugins.unregister(name=name)
        util._reprcompare = None
        util._assertion_pass = None
        util.assertrepr_compare = lambda *args, **kwargs: None  # type: ignore[assignment]
        vars(rewrite).update(_saferepr=lambda obj: "…", _format_explanation=lambda explanation: explanation)
        factory = getattr(self.failing[0].item.config if self.failing else None, "_tmp_path_factory", None)
        if factory is not None:
            base = self._scratch / f"fork-{os.getpid()}"
            factory._basetemp = base
            with contextlib.suppress(OSError):
                base.mkdir(parents=True)

    def _soften(self) -> None:
        setattr(builtins, fitness.NAME, self._score)
        for live, codes in self._soft:
            swap(live, codes)


def _measure(timer: Timer, run: items.Run, limit: float, latest: float = math.inf) -> _Measure:
    """How a run ended (see :func:`items.signature`), its CPU and its wall seconds, with limits on either."""
    error: BaseException | None = None
    cpu, wall = time.process_time(), time.monotonic()
    try:
        timer.start(limit, latest)
        try:
            run()
        finally:
            timer.stop()
    except BaseException as raised:
        error = raised
    return items.signature(error), time.process_time() - cpu, time.monotonic() - wall
