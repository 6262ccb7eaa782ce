"""The embedded engine: a pytest plugin in a sandboxed child, which searches instead of running the collected tests.

It is loaded with ``-p`` beside :mod:`pytest_selfheal.judge.child`, gets its orders as that child's extra configuration
(see :class:`Orders`) and answers in messages: ``progress``, ``patches`` (plausible ones, best first), ``end``.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.judge import child
from pytest_selfheal.propose.search.behaviour import Comparison, compare
from pytest_selfheal.propose.search.candidate import Candidate, apply
from pytest_selfheal.propose.search.choose import Choice, choose
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.examples import of_function
from pytest_selfheal.propose.search.files import decode, encode
from pytest_selfheal.propose.search.fork import Usage
from pytest_selfheal.propose.search.generate import generate, neighbours
from pytest_selfheal.propose.search.harness import Harness
from pytest_selfheal.propose.search.repair_direct import direct
from pytest_selfheal.propose.search.screen import Screener
from pytest_selfheal.propose.search.search import Budget, Plausible, Search
from pytest_selfheal.propose.search.slow import Order, Zygote
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.suspects import executed_files, suspects
from pytest_selfheal.propose.search.swap import LiveFunctions, State
from pytest_selfheal.types import Diagnosis, Suspect

MAX_SOURCES = 40
WAIT_TICK = 0.02
ENDLESS = 0.3
"""CPU seconds to watch a test that ran into its time limit."""
MAX_COMPARED = 16
COMPARE_SECONDS = 0.5
"""CPU seconds for comparing the behaviour of one group of plausible patches."""


@dataclass(frozen=True)
class Orders:
    """What the parent asks for. Travels pickled; the channel is private to the two."""

    diagnosis: Diagnosis
    passing: tuple[str, ...]
    """Nodeids of tests that must go on passing and are quick enough to be run again for each plausible patch."""
    durations: dict[str, float]
    top: str
    rootdir: str
    editable: tuple[str, ...]
    """Python files below top that a patch may touch, relative to top."""
    cpu_seconds: float
    wall_seconds: float
    go_on: str
    """Path of a file: as soon as it has the number of the last group of patches in it, the search is resumed."""
    test_timeout: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"search": b64encode(pickle.dumps(self)).decode("ascii")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Orders:
        orders = pickle.loads(b64decode(data["search"]))
        assert isinstance(orders, cls)
        return orders


_ZYGOTES: list[Zygote] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    # Nothing of the project is imported yet.
    if hasattr(os, "fork"):
        _ZYGOTES.append(Zygote(close=list(child.channel_fds())))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    engine = Engine(session)
    try:
        engine.run()
    finally:
        for zygote in _ZYGOTES:
            zygote.close()
    return True


class Engine:
    """One search for one diagnosis, in a collected session."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.orders = Orders.from_json(child.extra(session.config))
        self.top = os.path.realpath(self.orders.top)
        self.usage = Usage()
        self.close = child.channel_fds()
        self.texts: dict[str, str] = {}
        self.raw: dict[str, bytes] = {}
        self.broken: dict[str, str] = {}
        self.budget = Budget(self.orders.cpu_seconds, self.orders.wall_seconds, self.usage)
        self.editable = {os.path.join(self.top, path): path for path in self.orders.editable}  # noqa: PTH118
        self.scratch = Path(self.orders.go_on).parent / "engine"
        self._real: dict[str, bool] = {}

    def send(self, event: str, **data: Any) -> None:
        child.send(self.config, {"event": event, "cpu": round(self.budget.spent, 4), **data})

    # ------------------------------------------------------------------ preparation

    def is_suspect_file(self, name: str) -> bool:
        """Whether code of this ``co_filename`` may be repaired."""
        known = self._real.get(name)
        if known is None:
            known = self._real[name] = os.path.realpath(name) in self.editable
        return known

    def source(self, path: str) -> Source | None:
        """The parsed file (path relative to top); ``None`` when it cannot be read or does not parse."""
        try:
            raw = Path(self.top, path).read_bytes()
            text = decode(raw)
        except (OSError, ValueError, LookupError, SyntaxError):
            return None
        self.raw[path] = raw
        try:
            return Source(path, text)
        except (SyntaxError, ValueError, RecursionError):
            self.broken[path] = text
            return None

    def run(self) -> None:
        orders = self.orders
        nodeids = set(orders.diagnosis.nodeids)
        slack = 2 * orders.test_timeout
        failing = [(item, self._limit(item)) for item in self.session.items if item.nodeid in nodeids]
        passing = [(item, self._limit(item)) for item in self.session.items if item.nodeid in set(orders.passing)]
        test_files = {os.path.realpath(item.path): item for item, _ in (*failing, *passing)}
        texts = {path: Path(path).read_text("utf-8", "replace") for path in test_files}
        live = LiveFunctions([*self._imported(), *texts])
        gc.collect()
        gc.freeze()
        harness = Harness(failing, passing, self.is_suspect_file, live, texts, self.usage, self.close, self.scratch)
        if failing:
            harness.calibrate()
            if not harness.failing:
                self.send("end", tried=0, reason="not_reproduced", evidence=[])
                return
        sources, places = self._localise(harness)
        if not sources and not self.broken:
            self.send(
                "end",
                tried=0,
                reason="no_candidate",
                evidence=["no file of the project that may be changed runs in the failing test"],
            )
            return
        names = [nodeid.rpartition("::")[2] for nodeid in nodeids]
        context = Context.build(orders.diagnosis.failures, sources, self._test_texts(harness, texts))
        absolute = {path: os.path.join(self.top, path) for path in sources}  # noqa: PTH118
        traces = [t.trace for t in harness.failing], [t.trace for t in harness.passing]
        found = suspects(*traces, (*orders.diagnosis.suspects, *places), sources, absolute, names)
        modules = [
            m
            for m in list(sys.modules.values())
            if os.path.realpath(getattr(m, "__file__", None) or "") in {*absolute.values(), *texts}
        ]
        screener = Screener(
            harness.evaluate,
            harness.prepare,
            live.clear_caches,
            State(modules),
            self.usage,
            self.close,
            lambda: self.budget.over,
        )
        # Of a test that never ends, nobody knows how long it takes when it is mended: short tries first, longer ones later.
        endless = all(test.signature == "CpuTimeout" for test in harness.failing)
        screener.cpu_limit = min((0.003 if endless else 0.02) + 6 * harness.cpu, slack)
        screener.sturdy = all(test.way == "direct" for test in harness.failing)
        screener.wall_limit = 1.0 + 4 * harness.wall + 8 * screener.cpu_limit
        search = Search(
            harness,
            screener,
            sources,
            absolute,
            live,
            self._candidates(sources, found, context),
            lambda candidate: neighbours(sources[candidate.path], candidate, context),
            self._slow_judge(harness),
            self.budget,
        )
        self.send(
            "ready", suspects=len(found), ways=[t.way + ("+soft" if t.soft else "") for t in harness.failing][:20]
        )
        for number, group in enumerate(search.run(), 1):
            choices = choose(group, self._compared(group, harness, live, sources))
            self.send("patches", number=number, tried=search.tried, patches=self._described(choices, sources))
            if not self._told_to_go_on(number):
                return
        self.send(
            "end",
            tried=search.tried,
            reason="time_limit" if self.budget.over else "no_candidate",
            evidence=self._evidence(search),
        )

    def _compared(
        self, group: list[Plausible], harness: Harness, live: LiveFunctions, sources: dict[str, Source]
    ) -> Comparison:
        """What the likeliest plausible patches do on observed and mutated inputs; ``group`` is put in that order."""
        group.sort(key=lambda plausible: -plausible.candidate.weight)
        versions = [(p.live, p.codes) for p in group if not p.slow][:MAX_COMPARED]
        group.sort(key=lambda plausible: (plausible.slow, -plausible.candidate.weight))
        if not versions:
            return Comparison()
        edited = [function for p in group if not p.slow for function in p.live.get(_outer(p.candidate), ())]
        examples = [e for f in dict.fromkeys(edited) for e in of_function(f)]
        keys = {(os.path.realpath(f.__code__.co_filename), f.__code__.co_firstlineno) for f in edited}
        return compare(
            harness, live, versions, self.is_suspect_file, keys, examples, self.usage, self.close, COMPARE_SECONDS
        )

    def _limit(self, item: pytest.Item) -> float:
        """CPU seconds for one unpatched run."""
        seen = self.orders.durations.get(item.nodeid, 0.0)
        diagnosis = self.orders.diagnosis
        timed_out = diagnosis.kind == "timeout" and item.nodeid in diagnosis.nodeids
        if timed_out or seen >= 0.5 * self.orders.test_timeout:
            return ENDLESS  # it ran into the limit: no run of it says how long it would take
        return min(max(1.0, 4 * seen), self.orders.test_timeout)

    def _imported(self) -> list[str]:
        return [
            path
            for m in list(sys.modules.values())
            if (path := os.path.realpath(getattr(m, "__file__", None) or "")) in self.editable
        ]

    def _localise(self, harness: Harness) -> tuple[dict[str, Source], list[Suspect]]:
        """Sources of the files that ran in the failing tests or stand in the diagnosis."""
        ran = executed_files(test.trace for test in harness.failing)
        wanted = [suspect.path for suspect in self.orders.diagnosis.suspects]
        wanted += [self.editable[path] for path in sorted(ran, key=lambda p: -ran[p]) if path in self.editable]
        if not harness.failing:
            wanted += [self.editable[path] for path in self._imported()]
        sources: dict[str, Source] = {}
        for path in dict.fromkeys(wanted):
            if path in self.orders.editable and len(sources) < MAX_SOURCES:
                source = self.source(path)
                if source is not None:
                    sources[path] = source
        return sources, []

    def _test_texts(self, harness: Harness, texts: dict[str, str]) -> list[str]:
        """Source text of the failing tests' files (functions when the file is long)."""
        found = []
        for test in harness.failing[:10]:
            text = texts.get(os.path.realpath(test.item.path), "")
            if len(text) > 20_000:
                import inspect

                try:
                    text = inspect.getsource(getattr(test.item, "function", test.item))  # type: ignore[arg-type]
                except (OSError, TypeError):
                    continue
            found.append(text)
        return list(dict.fromkeys(found))

    def _candidates(
        self, sources: dict[str, Source], found: Sequence[Suspect], context: Context
    ) -> Iterator[Candidate]:
        for failure in self.orders.diagnosis.failures[:3]:
            yield from direct(failure, sources, context, self.broken)
        yield from generate(sources, found, context)

    # ------------------------------------------------------------------ slow path

    def _slow_judge(self, harness: Harness) -> Any:
        if not _ZYGOTES:
            return None
        arguments = self._arguments()
        failing = tuple(self.orders.diagnosis.nodeids)
        passing = tuple(test.item.nodeid for test in harness.passing)
        warmed: list[bool] = []

        def judge(candidate: Candidate) -> bool:
            zygote = _ZYGOTES[0]
            if not warmed:
                warmed.append(True)
                zygote.warm(self._third_party())
            content = self.after(candidate)
            path = os.path.join(self.top, candidate.path)  # noqa: PTH118
            files = [os.path.join(self.orders.rootdir, n) for n in dict.fromkeys(n.partition("::")[0] for n in failing)]  # noqa: PTH118
            timeout = 10.0 + 5 * harness.wall
            result = zygote.judge(Order(path, content, failing, (*arguments, *files), timeout))
            self.usage.seconds += result.cpu
            if not _all_pass(failing, result.outcomes, result.collected):
                return False
            if passing:
                files = [
                    os.path.join(self.orders.rootdir, n) for n in dict.fromkeys(n.partition("::")[0] for n in passing)
                ]
                result = zygote.judge(Order(path, content, passing, (*arguments, *files), timeout + 20))
                self.usage.seconds += result.cpu
                return _all_pass(passing, result.outcomes, result.collected)
            return True

        return judge

    def _arguments(self) -> list[str]:
        """This run's command line for another pytest in a fork: without the judge, the engine and the chosen files."""
        given = [str(argument) for argument in self.config.invocation_params.args]
        kept: list[str] = []
        i = 0
        while i < len(given):
            argument = given[i]
            if argument == "-p" and given[i + 1].startswith("pytest_selfheal."):
                i += 2
                continue
            if not argument.startswith(("@", "--basetemp")):
                kept.append(argument)
            i += 1
        return [*kept, f"--basetemp={self.scratch}-slow"]

    def _third_party(self) -> list[str]:
        found = []
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and not os.path.realpath(path).startswith(self.top + os.sep) and "." not in name:
                found.append(name)
        return found

    # ------------------------------------------------------------------ results

    def after(self, candidate: Candidate) -> bytes:
        """The file's bytes with the candidate's edits."""
        raw = self.raw[candidate.path]
        return encode(apply(decode(raw), candidate.edits), raw)

    def _described(self, choices: Sequence[Choice], sources: dict[str, Source]) -> list[dict[str, Any]]:
        return [
            {
                "path": choice.plausible.candidate.path,
                "after": b64encode(self.after(choice.plausible.candidate)).decode("ascii"),
                "description": choice.plausible.candidate.description,
                "function": choice.plausible.candidate.function,
                "operator": choice.plausible.candidate.operator,
                "weight": choice.plausible.candidate.weight,
                "number": choice.plausible.number,
                "group": choice.group,
                "confidence": choice.confidence,
                "note": choice.note,
                "alternatives": [
                    {
                        "path": other.candidate.path,
                        "after": b64encode(self.after(other.candidate)).decode("ascii"),
                        "description": other.candidate.description,
                        "input": shown,
                    }
                    for other, shown in choice.alternatives
                ],
            }
            for choice in choices
        ]

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

    def _evidence(self, search: Search) -> list[str]:
        found = []
        for partial in search.pool[:3]:
            candidate = partial.candidate
            found.append(
                f"{candidate.description} in {candidate.function} ({candidate.path}:{candidate.line}) brings the failing "
                f"tests nearer to passing: {partial.fitness:.0%} of what they check holds"
            )
        for candidate, broken in search.regressed[:3]:
            found.append(
                f"{candidate.description} in {candidate.function} ({candidate.path}:{candidate.line}) makes them pass but breaks {broken[0]}"
            )
        return found


def _outer(candidate: Candidate) -> str:
    return candidate.function.split(".<locals>.")[0]


def _all_pass(nodeids: Sequence[str], outcomes: dict[str, str], collected: Sequence[str]) -> bool:
    """A file (of a collection error) passes when it can be collected at all; a test when it passes."""
    for nodeid in nodeids:
        if "::" in nodeid:
            if outcomes.get(nodeid) != "passed":
                return False
        elif outcomes.get(nodeid) == "error" or not any(c.startswith(f"{nodeid}::") for c in collected):
            return False
    return True
