"""The embedded engine: a pytest plugin in a sandboxed child, which searches instead of running the collected tests.

It is loaded with ``-p`` beside :mod:`pytest_selfheal.judge.child`, gets its :class:`Orders` as that child's extra
configuration and answers in messages: ``ready``, ``patches`` (plausible ones, best first), ``end``.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_selfheal.judge import child
from pytest_selfheal.propose.search.answers import described, evidence, likely
from pytest_selfheal.propose.search.behaviour import Comparison, compare
from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.choose import choose
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.doubts import Doubts
from pytest_selfheal.propose.search.examples import of_function
from pytest_selfheal.propose.search.files import Files
from pytest_selfheal.propose.search.fork import Usage, peak_memory
from pytest_selfheal.propose.search.fresh_import import FreshImport
from pytest_selfheal.propose.search.generate import generate, is_crowded, neighbours
from pytest_selfheal.propose.search.harness import Harness
from pytest_selfheal.propose.search.observe import collections_of
from pytest_selfheal.propose.search.orders import Orders
from pytest_selfheal.propose.search.repair_direct import direct
from pytest_selfheal.propose.search.screen import Screener
from pytest_selfheal.propose.search.search import Budget, Plausible, Search
from pytest_selfheal.propose.search.slow import Zygote
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.suspects import executed_files, shares, suspects
from pytest_selfheal.propose.search.swap import LiveFunctions, State
from pytest_selfheal.types import Suspect

MAX_SOURCES = 40
MAX_IMPORTED = 12
"""Files that are suspects although no test ran a line of them."""
LONG_TEST_FILE = 20_000
"""Characters beyond which only the failing functions of a test file are read for ingredients."""
MOST_HELD = 16
"""Functions of which it is recorded whether their variables' values are in collections of their module."""
MOST_HOLDING = 3
"""Collections that may hold the values of one variable."""
FEW_SUSPECTS = 12
"""So many functions may run in the failing tests before coverage alone locates nothing with high confidence."""
WAIT_TICK = 0.02
ENDLESS, ENDLESS_WALL = 0.3, 0.6
"""CPU and wall seconds to watch a test that ran into its time limit."""
SHORT_WAIT = 0.25
"""Wall seconds for a candidate where such a test does not compute but waits."""
SHORT_TRY, SHORT_TRY_ENDLESS = 0.02, 0.003
"""CPU seconds for a candidate beside six times what the tests take; of an endless test nobody knows what it will take."""
SEVERAL = 5
"""Failing tests, of whatever cause, that a slip must repair before nobody looks for what else might be missing."""
MAX_COMPARED = 16
COMPARE_SECONDS = 0.5
"""CPU seconds for comparing the behaviour of one group of plausible patches."""

_ZYGOTES: list[Zygote] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    # Nothing of the project is imported yet.
    _ZYGOTES.append(Zygote(close=child.channel_fds()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    try:
        Engine(session).run()
    finally:
        for zygote in _ZYGOTES:
            zygote.close()
    return True


class Engine:
    """One search for one diagnosis, in a collected session."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.orders = Orders.from_json(child.extra(session.config))
        self.diagnosis = self.orders.diagnosis
        self.files = Files(self.orders.top, self.orders.editable)
        self.usage = Usage()
        self.close = child.channel_fds()
        self.budget = Budget(self.orders.cpu_seconds, self.orders.wall_seconds, self.usage)
        self.suspect_functions = 0
        self.scratch = Path(self.orders.go_on).parent / "engine"

    def send(self, event: str, **data: Any) -> None:
        child.send(self.session.config, {"event": event, "cpu": round(self.budget.spent, 4), **data})

    def run(self) -> None:
        failing, passing = self._items(self.diagnosis.nodeids), self._items(self.orders.passing)
        others = self._items(self.orders.others)
        texts = {os.path.realpath(item.path): "" for item, _ in (*failing, *passing, *others)}
        for path in texts:
            texts[path] = Path(path).read_text("utf-8", "replace")
        live = LiveFunctions([*self._imported(), *texts])
        gc.collect()
        gc.freeze()  # less to copy in the forks
        stuck = [item.nodeid for item, _ in (*failing, *others) if self._timed_out(item)]
        walls = dict.fromkeys(stuck, ENDLESS_WALL)
        harness = Harness(
            failing, passing, self.files.has, live, texts, self.usage, self.close, self.scratch, others, walls
        )
        if failing:
            harness.calibrate()
            if not harness.failing:
                self.send("end", tried=0, reason="not_reproduced", evidence=[])
                return
        sources = self._sources(harness)
        if not sources and not self.files.broken:
            why = "no file of the project that may be changed runs in the failing tests"
            self.send("end", tried=0, reason="no_candidate", evidence=[why])
            return
        doubts = Doubts(self.files, harness)
        search = self._search(harness, live, sources, texts, doubts)
        for number, group in enumerate(search.run(), 1):
            choices = choose(
                group,
                self._compared(group, harness, live),
                self._located,
                doubts.of,
                doubts.reads,
                doubts.pinned,
                search.settled,
            )
            self.send(
                "patches",
                number=number,
                tried=search.tried,
                first=round(search.first, 4),
                patches=described(choices, self.files),
            )
            if not self._told_to_go_on(number):
                return
        reason = "time_limit" if self.budget.over else "no_candidate"
        self.send(
            "end",
            tried=search.tried,
            reason=reason,
            evidence=evidence(search),
            memory_mib=peak_memory(),
            screening=search.screen_spent,
            slow=search.slow_spent,
        )

    # ------------------------------------------------------------------ tests

    def _items(self, nodeids: Sequence[str]) -> list[tuple[pytest.Item, float]]:
        wanted = frozenset(nodeids)
        return [(item, self._limit(item)) for item in self.session.items if item.nodeid in wanted]

    def _limit(self, item: pytest.Item) -> float:
        """CPU seconds for one unpatched run."""
        seen = self.orders.durations.get(item.nodeid, 0.0)
        if self._timed_out(item):
            return ENDLESS  # no run of it says how long it would take
        return min(max(1.0, 4 * seen), self.orders.test_timeout)

    def _timed_out(self, item: pytest.Item) -> bool:
        told = self.diagnosis.kind == "timeout" and item.nodeid in self.diagnosis.nodeids
        return told or self.orders.durations.get(item.nodeid, 0.0) >= 0.5 * self.orders.test_timeout

    # ------------------------------------------------------------------ code

    def _imported(self) -> list[str]:
        paths = [os.path.realpath(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
        return [path for path in paths if path in self.files.by_path]

    def _sources(self, harness: Harness) -> dict[str, Source]:
        """Files that stand in the diagnosis or ran in the failing tests, then others that were imported: data has no lines."""
        by_path = self.files.by_path
        ran = executed_files(test.trace for test in harness.failing)
        wanted = [suspect.path for suspect in self.diagnosis.suspects]
        wanted += [by_path[path] for path in sorted(ran, key=lambda p: -ran[p]) if path in by_path]
        wanted += [by_path[path] for path in self._imported()][:MAX_IMPORTED]
        sources: dict[str, Source] = {}
        for path in dict.fromkeys(wanted):
            if self.files.absolute(path) in by_path and len(sources) < MAX_SOURCES:
                source = self.files.source(path)
                if source is not None:
                    sources[path] = source
        return sources

    # ------------------------------------------------------------------ search

    def _search(
        self,
        harness: Harness,
        live: LiveFunctions,
        sources: dict[str, Source],
        texts: dict[str, str],
        doubts: Doubts,
    ) -> Search:
        absolute = {path: self.files.absolute(path) for path in sources}
        failing, passing = [test.trace for test in harness.failing], [test.trace for test in harness.passing]
        context = Context.build(
            self.diagnosis.failures,
            sources,
            _test_texts(harness, texts),
            wanting=_functions(harness, texts),
            # Tests that fail by what may be another cause say no more for a line than they say against it.
            shares=shares([*failing, *(test.trace for test in harness.others)], passing, absolute),
        )
        places = suspects(
            failing,
            passing,
            self.diagnosis.suspects,
            sources,
            absolute,
            [nodeid.rpartition("::")[2] for nodeid in self.diagnosis.nodeids],
            context.messages,
        )
        context = replace(context, held=self._held(harness, live, sources, absolute, places))
        slow = FreshImport(
            _ZYGOTES[0],
            self.files,
            self.orders.rootdir,
            self.diagnosis.nodeids,
            [test.item.nodeid for test in harness.passing],
            [test.item.nodeid for test in harness.others],
            [str(argument) for argument in self.session.config.invocation_params.args],
            f"{self.scratch}-slow",
            self.usage,
            harness.wall,
        )
        ways = [test.way + ("+soft" if test.soft else "") for test in harness.failing]
        self.suspect_functions = len({(s.path, s.function) for s in places if s.function != "<module>"})
        self.send("ready", suspects=self.suspect_functions, ways=sorted(set(ways)))
        return Search(
            harness,
            self._screener(harness, live, {*absolute.values(), *texts}),
            sources,
            absolute,
            live,
            self._candidates(sources, places, context),
            lambda candidate: neighbours(sources[candidate.path], candidate, context),
            slow,
            self.budget,
            lambda plausible: self._doubtful(plausible, harness, context) or doubts.of(plausible) < 1,
            lambda plausible: self.send("likely", patch=likely(plausible, self.files)),
        )

    def _doubtful(self, plausible: Plausible, harness: Harness, context: Context) -> bool:
        """Whether too few tests speak for a slip beside tests that pass, or for what merely lets a file be collected."""
        if not harness.failing:
            return plausible.repairs < 1
        witnesses = len(harness.failing) + plausible.repairs * len(harness.others)
        return witnesses < SEVERAL and is_crowded(plausible.candidate, context)

    def _held(
        self,
        harness: Harness,
        live: LiveFunctions,
        sources: dict[str, Source],
        absolute: dict[str, str],
        places: Sequence[Suspect],
    ) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
        """See :attr:`Context.held`, of the most suspicious functions whose modules have collections at all."""
        names_of = {}
        for path, name in list(dict.fromkeys((s.path, s.function) for s in places))[:MOST_HELD]:
            for function in live.of(absolute[path], sources[path].text).get(name, ()):
                if any(collections_of(function.__globals__)):
                    names_of[function.__code__] = (path, name)
        held: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        for function_name, variable, collection in sorted(harness.memberships(names_of)) if names_of else ():
            held[function_name] = (*held.get(function_name, ()), (variable, collection))
        often = Counter((function, variable) for function, pairs in held.items() for variable, _ in pairs)
        # What is in everything says nothing.
        return {
            function: tuple(pair for pair in pairs if often[function, pair[0]] <= MOST_HOLDING)
            for function, pairs in held.items()
        }

    def _screener(self, harness: Harness, live: LiveFunctions, paths: set[str]) -> Screener:
        state = State(_modules(paths))
        screener = Screener(
            harness.evaluate,
            harness.endings,
            harness.prepare,
            live.clear_caches,
            state,
            self.usage,
            self.close,
            lambda: self.budget.over,
        )
        endless = all(test.is_endless for test in harness.failing)
        first = SHORT_TRY_ENDLESS if endless else SHORT_TRY
        screener.cpu_limit = min(first + 6 * harness.cpu, 2 * self.orders.test_timeout)
        screener.wall_limit = 1.0 + 4 * harness.wall + 8 * screener.cpu_limit
        screener.may_ask = not any(test.is_endless for test in harness.failing)
        waits = any(test.waits for test in harness.failing)
        screener.waiting = SHORT_WAIT if waits else math.inf
        # Who was waiting may hold a lock, or have others wait for him.
        screener.sturdy = not waits and all(test.way == "direct" for test in harness.failing)
        return screener

    def _candidates(
        self, sources: dict[str, Source], places: Sequence[Suspect], context: Context
    ) -> Iterator[Candidate]:
        for failure in self.diagnosis.failures[:3]:
            yield from direct(failure, sources, context, self.files.broken)
        yield from generate(sources, places, context)

    # ------------------------------------------------------------------ results

    def _located(self, candidate: Candidate) -> bool:
        """Few functions ran, or the failure itself names this one: then a small change elsewhere is unlikely to pass."""
        if self.suspect_functions <= FEW_SUSPECTS:
            return True
        name = candidate.function.rpartition(".")[2]
        frames = [frame for failure in self.diagnosis.failures for link in failure.chain for frame in link.frames]
        return any(frame.function.rpartition(".")[2] == name for frame in frames)

    def _compared(self, group: list[Plausible], harness: Harness, live: LiveFunctions) -> Comparison:
        """What plausible patches do on observed and mutated inputs; ``group`` is put in the order of the versions."""
        group.sort(key=lambda plausible: (plausible.slow, -plausible.candidate.weight))
        quick = [plausible for plausible in group if not plausible.slow]
        if not quick:
            return Comparison()
        edited = [f for p in quick for f in p.live.get(p.candidate.function.split(".<locals>.")[0], ())]
        return compare(
            harness,
            live,
            [(p.live, p.codes) for p in quick[:MAX_COMPARED]],
            self.files.has,
            {(os.path.realpath(f.__code__.co_filename), f.__code__.co_firstlineno) for f in edited},
            [example for function in dict.fromkeys(edited) for example in of_function(function)],
            self.usage,
            self.close,
            COMPARE_SECONDS,
        )

    def _told_to_go_on(self, number: int) -> bool:
        """Wait, without using CPU, until the parent wants more (it kills this process when it does not)."""
        deadline = time.monotonic() + self.orders.wall_seconds
        while time.monotonic() < deadline:
            try:
                if int(Path(self.orders.go_on).read_text("ascii") or 0) >= number:
                    return True
            except (OSError, ValueError):
                pass
            time.sleep(WAIT_TICK)
        return False


def _modules(paths: set[str]) -> list[ModuleType]:
    return [
        module
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType) and os.path.realpath(getattr(module, "__file__", None) or "") in paths
    ]


def _test_texts(harness: Harness, texts: dict[str, str]) -> list[str]:
    """Source text of the failing tests: their files, or the functions alone where a file is long."""
    found: list[str] = []
    for test in harness.failing[:10]:
        text = texts.get(os.path.realpath(test.item.path), "")
        function = getattr(test.item, "function", None)
        if len(text) > LONG_TEST_FILE and function is not None:
            try:
                text = inspect.getsource(function)
            except (OSError, TypeError):
                continue
        found.append(text)
    return list(dict.fromkeys(found))


def _functions(harness: Harness, texts: dict[str, str]) -> list[str]:
    """Source text of the failing tests' own functions with their decorators; the whole file for want of one."""
    found: list[str] = []
    for test in harness.failing[:40]:
        text = texts.get(os.path.realpath(test.item.path), "")
        with contextlib.suppress(OSError, TypeError):
            text = inspect.getsource(getattr(test.item, "function", None))  # type: ignore[arg-type]
        found.append(text)
    return list(dict.fromkeys(found))
