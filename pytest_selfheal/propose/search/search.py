"""The search itself: which candidates are screened when, and when to stop. Two phases share the CPU budget.

First single edits, in the generator's order. Then, while nothing passes, *climbing*: candidates that came closer than the
unpatched code are starting points for a second edit. Changes that need a fresh import wait in a queue of their own and
get a bounded share of the time, because each costs as much as hundreds of the others.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Protocol

from pytest_selfheal.propose.search.candidate import Candidate, overlap
from pytest_selfheal.propose.search.data import KEY, LiveData
from pytest_selfheal.propose.search.fork import Usage
from pytest_selfheal.propose.search.harness import Harness
from pytest_selfheal.propose.search.screen import (
    FAILED,
    MAX_BATCH,
    NO_PLACE,
    PLAUSIBLE,
    RUNNING,
    TIMEOUT,
    UNTOUCHED,
    Screener,
    Task,
)
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.spread import spread
from pytest_selfheal.propose.search.swap import LiveFunctions, code_key

BATCH_SECONDS = 0.08
"""CPU seconds that a batch should take: short enough to stop in time, long enough to pay for its fork."""
FIRST_BATCH = 24
SLOW_SHARE = 0.35
LATE_SHARE = 0.15
"""Of the CPU time, for candidates that need a second, longer try."""
SLOW_HEAP = 400
BEHIND = 0.1
"""Weight in the slow path of a value that was exchanged in a live process and changed nothing for the better."""
CLIMB_AFTER = 0.15
"""Share of the budget that single edits have to themselves before partial successes are climbed as well."""
CLIMB_QUANTUM = 48
POOL = 40
PAIRED = 250
"""The likeliest single edits, of which any two are tried together once all single ones have failed."""
PAIRS_TURN = 4
"""One batch in so many, while there is anything left to climb: what came nearer is the better start."""
PAIRED_LENGTH = 24
"""Characters that an edit of a pair may put in or take away: two small slips, not two new pieces of code."""
GAIN = 0.004
MAX_PLAUSIBLE = 30
GATHER_LEAST, GATHER_MOST, GATHER_SHARE = 0.25, 3.0, 1.0
"""After the first plausible patch others are gathered for as long again as it took to find, within these CPU seconds."""
DOUBT_MOST, DOUBT_SHARE, DOUBT_TIMES = 20.0, 0.3, 6.0
"""The same while all that was found is doubtful: CPU seconds, share of the budget, times what had been spent when it was found."""
DOUBT_GROWTH = 0.0075
"""Of the share for each CPU second of the budget: 15 % of 20 seconds, all of it from 40 on. Who gives less wants to know soon."""

WAITING = 6.0
"""Others are gathered for so many times these CPU seconds of wall time at most, or for as long again as it took to find."""

COLLECT_SHARE = 0.6
"""Of the CPU seconds, for more of what lets a file be collected, while none of it makes all tests of the file pass."""


@dataclass
class Plausible:
    """A candidate that makes the failing tests pass."""

    candidate: Candidate
    live: Mapping[str, list[FunctionType]]
    codes: Mapping[str, CodeType]
    """Empty when it came by the slow path."""
    number: int
    """How many candidates had been tried when it was found."""
    slow: bool = False
    repairs: float = 0.0
    """Which share of the tests that fail by what may be another cause it makes pass (0..1)."""


@dataclass
class Partial:
    """A starting point for a second edit."""

    candidate: Candidate
    fitness: float
    stream: Iterator[Candidate] | None = None
    pulled: int = 0
    empty: bool = False


@dataclass
class Budget:
    """CPU seconds of this process and its children, and wall seconds, both counted from the start."""

    cpu: float
    wall: float
    usage: Usage
    _wall_start: float = field(default_factory=time.monotonic)
    _cpu_start: float = field(default_factory=time.process_time)
    _usage_start: float = -1.0

    def __post_init__(self) -> None:
        self._usage_start = self.usage.seconds

    @property
    def spent(self) -> float:
        return time.process_time() - self._cpu_start + self.usage.seconds - self._usage_start

    @property
    def late(self) -> bool:
        """Half of the wall seconds are gone: what was found must still be compared and verified."""
        return time.monotonic() - self._wall_start >= 0.5 * self.wall

    @property
    def over(self) -> bool:
        return self.spent >= self.cpu or time.monotonic() - self._wall_start >= self.wall


def is_small(candidate: Candidate) -> bool:
    """Whether one short piece of one function changes."""
    return (
        candidate.body_only
        and len(candidate.edits) == 1
        and all(max(len(edit.text), edit.end - edit.start) <= PAIRED_LENGTH for edit in candidate.edits)
    )


def pairs(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Every two of the candidates (the likeliest first) that change different places of one function, likely pairs first."""
    order = sorted(
        itertools.combinations(range(len(candidates)), 2),
        key=lambda pair: -candidates[pair[0]].weight * candidates[pair[1]].weight,
    )
    for i, j in order:
        first, second = candidates[i], candidates[j]
        edits = tuple(sorted((*first.edits, *second.edits)))
        if first.path != second.path or first.function != second.function or overlap(edits):
            continue
        yield first.but(
            edits=edits,
            operator=f"{first.operator} + {second.operator}",
            weight=first.weight * second.weight,
            description=f"{first.description}; {second.description}",
        )


class SlowJudge(Protocol):
    """See :class:`~pytest_selfheal.propose.search.fresh_import.FreshImport`."""

    def __call__(self, candidate: Candidate) -> bool: ...

    def repairs(self, candidate: Candidate) -> float: ...


Neighbours = Callable[[Candidate], Iterator[Candidate]]


class Search:
    """Yields groups of plausible patches; resumed, it goes on for more until the budget ends."""

    def __init__(
        self,
        harness: Harness,
        screener: Screener,
        sources: Mapping[str, Source],
        absolute: Mapping[str, str],
        live: LiveFunctions,
        stream: Iterator[Candidate],
        neighbours: Neighbours,
        slow: SlowJudge | None,
        budget: Budget,
        doubtful: Callable[[Plausible], bool] = lambda plausible: False,
        on_likely: Callable[[Plausible], None] = lambda plausible: None,
    ) -> None:
        """``doubtful`` says of a plausible patch that others, should there be any, are likelier to be right.

        ``on_likely`` is told what will be chosen unless something better is gathered.
        """
        self._harness = harness
        self._screener = screener
        self._sources = sources
        self._absolute = absolute
        self._live = live
        self._stream: Iterator[Candidate] | None = stream
        self._neighbours = neighbours
        self._slow_judge = slow
        self.budget = budget
        self._doubtful = doubtful
        self._on_likely = on_likely
        self.tried = 0
        self.first = 0.0
        """CPU seconds after which the last group's first patch was found."""
        self.settled = True
        """Others than those of the last group were looked for as long as they should be: time did not end it."""
        self.regressed: list[tuple[Candidate, tuple[str, ...]]] = []
        self.pool: list[Partial] = []
        self._found: list[Plausible] = []
        self._seen: set[int] = set()
        self._data: dict[str, LiveData | None] = {}
        self._late: list[Task] = []
        self._likely: list[tuple[float, int, Candidate]] = []
        self._small: list[tuple[float, int, Candidate]] = []
        self._paired: Iterator[Candidate] | None = None
        self._slow: list[tuple[float, int, Candidate]] = []
        self.screen_spent = 0.0
        """CPU seconds of the fast path: forks and tests, without generating and compiling."""
        self.slow_spent = 0.0
        """CPU seconds of the slow path."""
        self._late_spent = 0.0
        self._counter = itertools.count()
        self._rate = 0.001
        self._turn = 0
        self._began = 0.0
        self._base = 0.0
        self._limit = screener.cpu_limit

    def run(self) -> Iterator[list[Plausible]]:
        """Groups of plausible patches in the order in which they were found."""
        self._began = self.budget.spent
        if self._harness.failing:
            self._base = self._harness.baseline
        while not self.budget.over:
            start, began = self.budget.spent, time.monotonic()
            self._found = []
            until, latest, looked, sure = math.inf, math.inf, 0, False
            while not self.budget.over and len(self._found) < MAX_PLAUSIBLE:
                if self.budget.spent >= until or time.monotonic() >= latest:
                    break
                if self._found and self.budget.late:
                    break
                if not self._step(gathering=bool(self._found)):
                    break
                if len(self._found) == looked or sure:
                    continue
                new = self._found[looked:]
                good = next((plausible for plausible in new if not self._doubtful(plausible)), None)
                first, sure, looked = not looked, good is not None, len(self._found)
                if first or sure:
                    self._on_likely(good or new[0])
                    patience = self._patience(self.budget.spent - start, sure)
                    now = time.monotonic()
                    # Tests that sleep or wait take no CPU time, and would be tried until all time is over.
                    until, latest = self.budget.spent + patience, now + max(WAITING * patience, now - began)
            if not self._found:
                return
            ended = self.budget.spent >= until or time.monotonic() >= latest
            self.settled = ended or not (self.budget.over or self.budget.late)
            yield self._found

    def _patience(self, took: float, sure: bool) -> float:
        """CPU seconds to gather for, after it ``took`` so many to find what there is."""
        if sure:
            return min(max(GATHER_SHARE * took, GATHER_LEAST), GATHER_MOST)
        if not self._harness.failing:  # a file is collected, and not all of its tests pass
            return COLLECT_SHARE * self.budget.cpu
        return min(max(DOUBT_TIMES * self.budget.spent, GATHER_MOST), self._doubt_share() * self.budget.cpu, DOUBT_MOST)

    def _doubt_share(self) -> float:
        return min(DOUBT_SHARE, DOUBT_GROWTH * self.budget.cpu)

    # ------------------------------------------------------------------ one step

    def _step(self, gathering: bool) -> bool:
        """One batch; ``False`` when there is nothing left to try."""
        if self._slow_is_due() and not gathering:
            self._judge_slow()
            return True
        if self._late and not gathering and self._late_spent < LATE_SHARE * (self.budget.spent - self._began) - 0.1:
            self._retry()
            return True
        batch = self._batch()
        if batch:
            self._screen(batch)
            return True
        if self._late:
            self._retry()
            return True
        if self._slow and self._slow_judge is not None:
            self._judge_slow()
            return True
        return False

    def _slow_is_due(self) -> bool:
        if not self._slow or self._slow_judge is None:
            return False
        # Its turn comes with a pause after the start: most faults are found before the first one has run.
        return self.slow_spent < SLOW_SHARE * self.budget.spent - 0.1

    def _batch(self) -> list[Task]:
        size = FIRST_BATCH if not self.tried else int(min(MAX_BATCH, max(4, BATCH_SECONDS / self._rate)))
        # Once something passes by a single edit, pairs of edits only add noise to the choice; by a pair, single ones come first.
        by_one = any(" + " not in plausible.candidate.operator for plausible in self._found)
        climbing = self._may_climb() and not by_one and not (self._found and self._stream is not None)
        self._turn += 1
        # Every other batch climbs once that may pay: the rest of the single edits must not starve.
        pull = self._climb if climbing and (self._stream is None or self._turn % 2) else self._single
        if self._stream is None and not self._found and self._turn % PAIRS_TURN == 0:
            pull = self._pairs
        tasks: list[Task] = []
        for candidate in pull(size):
            task = self._compile(candidate)
            if task is not None:
                tasks.append(task)
            if len(tasks) >= size:
                break
        if not tasks and pull == self._pairs:
            tasks = self._collect(self._climb(size), size)
        if not tasks and self._stream is None and self._likely and not self._found:
            # Nothing came nearer, or all that did is exhausted: pairs that begin with a likely edit.
            self.pool += [Partial(candidate, self._base) for _, _, candidate in sorted(self._likely, reverse=True)]
            self._likely = []
            return self._collect(self._climb(size), size)
        if not tasks and self._stream is None and not self._found:
            return self._collect(self._pairs(size), size)
        if not tasks and pull == self._climb and self._stream is not None:
            return self._collect(self._single(size), size)
        if not tasks and pull == self._single and climbing:
            return self._collect(self._climb(size), size)
        return tasks

    def _collect(self, candidates: Iterator[Candidate], size: int) -> list[Task]:
        tasks = (self._compile(candidate) for candidate in candidates)
        return list(itertools.islice((task for task in tasks if task is not None), size))

    def _single(self, size: int) -> Iterator[Candidate]:
        if self._stream is None:
            return
        for _ in range(4 * size):
            try:
                yield next(self._stream)
            except StopIteration:
                self._stream = None
                return

    def _may_climb(self) -> bool:
        return bool(self.pool) and (
            self._stream is None or self.budget.spent - self._began > CLIMB_AFTER * self.budget.cpu
        )

    def _climb(self, size: int) -> Iterator[Candidate]:
        """A quantum from the partial success that has had the least attention for its rank."""
        while True:
            open_ones = [(p.pulled * (1 + rank), rank, p) for rank, p in enumerate(self.pool) if not p.empty]
            if not open_ones:
                return
            partial = min(open_ones, key=lambda entry: entry[:2])[2]
            if partial.stream is None:
                partial.stream = self._neighbours(partial.candidate)
            for _ in range(min(CLIMB_QUANTUM, 4 * size)):
                candidate = next(partial.stream, None)
                if candidate is None:
                    partial.empty = True
                    break
                partial.pulled += 1
                yield candidate

    def _pairs(self, size: int) -> Iterator[Candidate]:
        """Any two of the small edits at once, the likeliest first: two slips need not show one by one.

        All that are left, not a portion: many compile to what was tried, and an empty batch ends the search.
        """
        if self._paired is None:
            small = [candidate for _, _, candidate in sorted(self._small, reverse=True)]
            self._small = []
            self._paired = pairs(small)
        return self._paired

    def _compile(self, candidate: Candidate) -> Task | None:
        """The candidate ready for the screen; ``None`` when it is no Python, a duplicate, or for the slow path."""
        if not candidate.body_only or not self._harness.failing:
            if " + " in candidate.operator:
                return None
            task = self._exchange(candidate) if self._harness.failing else None
            if task is None:
                self._queue_slow(candidate)
            return task
        source = self._sources[candidate.path]
        try:
            codes = source.compile(candidate)
        except (SyntaxError, ValueError, KeyError, RecursionError, OverflowError, MemoryError):
            return None
        outer = candidate.function.split(".<locals>.")[0]
        key = hash((candidate.path, outer, code_key(codes[outer])))
        if key in self._seen:
            return None
        self._seen.add(key)
        live = self._live.of(self._absolute[candidate.path], source.text)
        if not live.get(outer):
            self._queue_slow(candidate)
            return None
        return Task(candidate, live, codes)

    def _exchange(self, candidate: Candidate) -> Task | None:
        """A changed constant, class attribute or default as a task for the fast path; ``None`` for all else."""
        path, source = self._absolute[candidate.path], self._sources[candidate.path]
        if candidate.path not in self._data:
            self._data[candidate.path] = LiveData.of(source, path, self._live.of(path, source.text))
        data = self._data[candidate.path]
        try:
            parts = data.change(candidate) if data is not None else None
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            return None
        return Task(candidate, *parts) if parts is not None else None

    def _screen(self, batch: list[Task]) -> None:
        before, began = self.budget.spent, time.monotonic()
        self._screener.screen(batch)
        took = self.budget.spent - before
        self.screen_spent += took
        # Where tests sleep, the wall clock alone tells how long a batch takes.
        took = max(took, (time.monotonic() - began) / WAITING)
        self._rate = 0.5 * self._rate + 0.5 * max(took / len(batch), 1e-5)
        for task in batch:
            self.tried += task.status > RUNNING and not task.retried
            self._take(task)

    def _take(self, task: Task) -> None:
        if KEY in task.codes:
            self._take_data(task)
            return
        if task.status == PLAUSIBLE:
            self._confirm(task)
        elif task.status == NO_PLACE:
            self._queue_slow(task.candidate)
        if task.status == TIMEOUT and not task.retried:
            self._late.append(task)
            self._late.sort(key=lambda late: (-round(late.fitness, 2), -late.candidate.weight))
            del self._late[200:]
        if task.status in (FAILED, TIMEOUT):
            self._remember(task)

    def _take_data(self, task: Task) -> None:
        """A pass is judged by a fresh import at once; all else waits for one behind what was not looked at yet."""
        if task.status == PLAUSIBLE:
            self._judge_fresh(task.candidate)
        elif task.status != UNTOUCHED:
            self._queue_slow(task.candidate, 1.0 if task.status == NO_PLACE else BEHIND)

    def _remember(self, task: Task) -> None:
        """A starting point for a second edit: one that came nearer, or, for want of such, one that is likely."""
        edits = task.candidate.operator.count(" + ") + 1
        if edits == 1 and self._paired is None and is_small(task.candidate):
            heapq.heappush(self._small, (task.candidate.weight, next(self._counter), task.candidate))
            if len(self._small) > PAIRED:
                heapq.heappop(self._small)
        if task.fitness > self._base + GAIN and edits <= 2:
            self.pool.append(Partial(task.candidate, task.fitness))
            self.pool.sort(key=lambda partial: (-round(partial.fitness, 3), -partial.candidate.weight))
            del self.pool[POOL:]
        elif task.status == FAILED and edits == 1 and task.fitness > self._base - GAIN:
            heapq.heappush(self._likely, (task.candidate.weight, next(self._counter), task.candidate))
            if len(self._likely) > POOL:
                heapq.heappop(self._likely)

    def _confirm(self, task: Task) -> None:
        verdict = self._harness.confirm(task.live, task.codes, max(10 * self._limit, 2 * task.cpu))
        if verdict is None or not verdict[0]:
            return
        if verdict[1]:
            self.regressed.append((task.candidate, verdict[1]))
            return
        repairs = self._harness.repairs(task.live, task.codes)
        self._keep(Plausible(task.candidate, task.live, task.codes, self.tried, repairs=repairs))
        wide = spread(self._sources[task.candidate.path], task.candidate)
        everywhere = self._compile(wide) if wide is not None else None
        if everywhere is not None:
            self._confirm(everywhere)

    def _keep(self, plausible: Plausible) -> None:
        if not self._found:
            self.first = self.budget.spent
        self._found.append(plausible)

    def _retry(self) -> None:
        """Candidates that ran out of time, once more with ten times as much."""
        before = self.budget.spent
        batch, self._late = self._late[:4], self._late[4:]
        for task in batch:
            task.retried = True
        screener = self._screener
        limit, waiting, wall = before_it = screener.cpu_limit, screener.waiting, screener.wall_limit
        screener.cpu_limit, screener.waiting = 10 * limit, 10 * waiting
        screener.wall_limit = max(wall, 20 * limit, 20 * waiting if waiting < math.inf else 0.0)
        try:
            screener.screen(batch)
        finally:
            screener.cpu_limit, screener.waiting, screener.wall_limit = before_it
        for task in batch:
            self._take(task)
        self._late_spent += self.budget.spent - before

    # ------------------------------------------------------------------ slow path

    def _queue_slow(self, candidate: Candidate, factor: float = 1.0) -> None:
        if self._slow_judge is None:
            return
        heapq.heappush(self._slow, (-candidate.weight * factor, next(self._counter), candidate))
        if len(self._slow) > 2 * SLOW_HEAP:
            self._slow = heapq.nsmallest(SLOW_HEAP, self._slow)

    def _judge_slow(self) -> None:
        self._judge_fresh(heapq.heappop(self._slow)[2])

    def _judge_fresh(self, candidate: Candidate) -> None:
        if self._slow_judge is None:
            return
        before = self.budget.spent
        self.tried += 1
        if self._slow_judge(candidate):
            repairs = self._slow_judge.repairs(candidate)
            self._keep(Plausible(candidate, {}, {}, self.tried, slow=True, repairs=repairs))
        self.slow_spent += self.budget.spent - before
