"""The engine seen from the parent: starts it in a sandboxed child and yields what it finds as patches."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_selfheal.propose import Proposal
from pytest_selfheal.types import Alternative, Attempt, Diagnosis, FileChange, GaveUp, Likely, Patch, StopReason

if TYPE_CHECKING:
    from pytest_selfheal.judge.run import ChildRun
    from pytest_selfheal.judge.workspace import Workshop
    from pytest_selfheal.propose.search.orders import Orders
    from pytest_selfheal.settings import Settings

PASSING_SHARE = 0.06
"""Passing tests of the failing tests' files are run again for each plausible patch, up to this share of the CPU seconds."""
MAX_PASSING = 200
MAX_OTHERS = 8
"""Tests that fail by what may be another cause and are run for each plausible patch."""
MAX_OTHER_FILES = 3
"""Test files that are collected for their sake alone."""
START_SECONDS = 30.0
EARLY = 3.0
"""How much longer an engine that began early may take: so many seconds, and so many times what its tests take."""
POLL_SECONDS = 0.2
"""How soon a search that is no longer needed ends."""
MAX_PATCHES = 8
"""Patches of one group that are proposed; the others are hardly better than chance."""


class SearchProposer:
    """Repairs by generate and validate: no model, no network."""

    name = "search"

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        self._workshop = workshop
        self._settings = settings
        self.dropped = threading.Event()
        """Set when nobody needs a repair any more: the search ends at once."""
        self._begun: _EngineRun | None = None

    def begin(self, diagnosis: Diagnosis) -> None:
        """Start the engine for what will probably be asked; it goes on as far as it can without an answer."""
        if diagnosis.nodeids and hasattr(os, "fork"):
            # While the tests are seen to fail again, nobody waits for the engine.
            early = EARLY * sum(self._workshop.project.durations.get(nodeid, 0.0) for nodeid in diagnosis.nodeids)
            self._begun = _EngineRun(self._workshop, self._settings, diagnosis, EARLY + early)

    def drop(self) -> None:
        """End what was begun and nobody asked for."""
        if self._begun is not None:
            self._begun.stop()
            self._begun = None

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        """Plausible patches, best first, then :class:`GaveUp`. Closing the iterator kills the engine at once."""
        if not diagnosis.nodeids:
            yield GaveUp("no_candidate", "No failing test, nothing to do.", self.name)
            return
        if not hasattr(os, "fork"):
            from pytest_selfheal.propose.search import fresh_process

            yield from fresh_process.proposals(self._workshop, self._settings, diagnosis)
            return
        if self._begun is not None and not self._begun.is_for(diagnosis):
            self.drop()
        run = self._begun or _EngineRun(self._workshop, self._settings, diagnosis)
        self._begun = None
        try:
            yield from run.proposals(self.dropped)
        finally:
            run.stop()


class _EngineRun:
    """One engine child, from its start to its end."""

    def __init__(self, workshop: Workshop, settings: Settings, diagnosis: Diagnosis, early: float = 0.0) -> None:
        """``early``: seconds that pass before somebody waits for it."""
        self._workshop = workshop
        self._settings = settings
        self._diagnosis = diagnosis
        self._seconds = settings.time_limit + early
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._folder = Path(tempfile.mkdtemp(prefix="search-", dir=workshop.folder))
        self._run: ChildRun | None = None
        self._error: BaseException | None = None
        self._last: dict[str, Any] = {}
        self._cpu_told = 0.0
        # Before there is another thread: whoever begins early goes on to what takes the interpreter for itself.
        self._workspace = workshop.fresh()
        self._thread = threading.Thread(target=self._work, args=(self._ordered(),), name="selfheal-search", daemon=True)
        self._thread.start()

    def is_for(self, diagnosis: Diagnosis) -> bool:
        """Whether it searches for just this: the same failures, as far as messages may differ, and the same suspects."""

        def asked(one: Diagnosis) -> object:
            return one.kind, [(failure.nodeid, failure.signature) for failure in one.failures], one.suspects

        return asked(self._diagnosis) == asked(diagnosis)

    def _ordered(self) -> Orders:
        from pytest_selfheal.propose.search.orders import Orders

        passing, others = self._passing(), self._others()
        durations = self._workshop.project.durations
        return Orders(
            diagnosis=self._diagnosis,
            passing=passing,
            others=others,
            durations={nodeid: durations.get(nodeid, 0.0) for nodeid in (*self._diagnosis.nodeids, *passing, *others)},
            top=str(self._workspace.seen_top),
            rootdir=str(self._workspace.seen_rootdir),
            editable=self._editable(self._workspace.top),
            cpu_seconds=self._settings.cpu_seconds,
            wall_seconds=self._seconds,
            go_on=str(self._folder / "go-on"),
            test_timeout=self._settings.test_timeout,
        )

    def _work(self, orders: Orders) -> None:
        from pytest_selfheal.judge.run import run_tests

        try:
            with self._workspace:
                self._run = run_tests(
                    self._workshop,
                    self._workspace,
                    [*orders.diagnosis.nodeids, *orders.passing, *orders.others],
                    timeout=self._seconds + START_SECONDS,
                    plugins=["pytest_selfheal.propose.search.engine"],
                    config=orders.to_json(),
                    on_message=self._messages.put,
                    stop=self._stop,
                    tmp=self._folder,
                )
        except BaseException as error:  # reported by proposals(), in the thread that asks
            self._error = error
        finally:
            self._messages.put(None)

    def _passing(self) -> tuple[str, ...]:
        """Quick passing tests of the files whose tests fail: those beside a failing one first, they are the likeliest to notice."""
        project = self._workshop.project
        files = {nodeid.partition("::")[0] for nodeid in self._diagnosis.nodeids}
        candidates = [n for n, o in project.outcomes.items() if o == "passed" and n.partition("::")[0] in files]
        return nearest_passing(
            candidates, self._diagnosis.nodeids, project.durations, PASSING_SHARE * self._settings.cpu_seconds
        )

    def _others(self) -> tuple[str, ...]:
        """A few quick tests that fail as well, one of each test function, in the same files and in some others."""
        project = self._workshop.project
        own = frozenset(self._diagnosis.nodeids)
        failing = [n for n, o in project.outcomes.items() if o == "failed" and n not in own]
        return others_failing(failing, own, project.durations, PASSING_SHARE * self._settings.cpu_seconds)

    def _editable(self, top: Path) -> tuple[str, ...]:
        from pytest_selfheal.propose.search.editable import editable_files

        return editable_files(top, self._workshop.project.prefix, self._settings)

    def proposals(self, dropped: threading.Event) -> Iterator[Proposal]:
        while not dropped.is_set():
            try:
                message = self._messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                break
            self._last.update(message)
            if message["event"] == "likely":
                patch = message["patch"]
                words = _sentence(patch)
                yield Likely(Patch((self._change(patch),), "search", words, diagnosis=words))
            elif message["event"] == "patches":
                for described in message["patches"][:MAX_PATCHES]:
                    yield self._patch(described, message)
                (self._folder / "go-on").write_text(str(message["number"]), "ascii")
            elif message["event"] == "end":
                break
        self.stop()
        if self._error is not None:
            raise self._error
        yield self._gave_up()

    def _patch(self, described: dict[str, Any], message: dict[str, Any]) -> Patch:
        cpu, self._cpu_told = message["cpu"] - self._cpu_told, message["cpu"]
        return Patch(
            changes=(self._change(described),),
            proposer="search",
            description=_sentence(described),
            diagnosis=_sentence(described),
            seconds=time.monotonic() - self._started,
            candidates_tried=described["number"],
            confidence=described["confidence"],
            alternatives=tuple(
                Alternative((self._change(other),), other["description"], other["input"])
                for other in described["alternatives"]
            ),
            note=described["note"],
            cpu_seconds=cpu,
        )

    def _change(self, described: dict[str, Any]) -> FileChange:
        path = described["path"]
        before = (self._workshop.pristine.top / path).read_bytes()
        return FileChange(path, before, b64decode(described["after"]))

    def _gave_up(self) -> GaveUp:
        tried = int(self._last.get("tried", 0))
        cpu = float(self._last.get("cpu", 0.0))
        reason: StopReason = "no_candidate"
        if self._last.get("event") != "end":
            words = "The search ended before it could say why."
        elif self._last["reason"] == "time_limit":
            words = f"No small change among {tried} tried in {cpu:.0f} CPU seconds makes the failing tests pass."
        elif self._last["reason"] == "not_reproduced":
            words = (
                "The failure did not show where the search runs the tests, so there was nothing to measure changes by."
            )
        else:
            words = f"None of the {tried} small changes that the search knows of makes the failing tests pass."
        return GaveUp(
            reason,
            words,
            "search",
            candidates_tried=tried,
            seconds=time.monotonic() - self._started,
            cpu_seconds=cpu,
            evidence=tuple(self._last.get("evidence", ())),
        )

    def stop(self) -> None:
        """Kill the engine, if it still runs, and wait for its end."""
        self._stop.set()
        self._thread.join(10.0)


def _sentence(described: dict[str, Any]) -> str:
    function = described["function"]
    place = described["path"] if function == "<module>" else f"{function}()"
    return f"{described['description']} in {place}"


def others_failing(
    candidates: Iterable[str], own: Iterable[str], durations: Mapping[str, float], budget: float
) -> tuple[str, ...]:
    """At most :data:`MAX_OTHERS` tests that take ``budget`` seconds in all: half of them beside the ``own`` ones."""
    beside = {nodeid.partition("::")[0] for nodeid in own}
    functions = {nodeid.partition("[")[0] for nodeid in own}
    left = {True: MAX_OTHERS // 2, False: MAX_OTHERS // 2}
    files = set(beside)
    found: list[str] = []
    for nodeid in sorted(candidates, key=lambda nodeid: (durations.get(nodeid, 0.0), nodeid)):
        path, function = nodeid.partition("::")[0], nodeid.partition("[")[0]
        took = durations.get(nodeid, 0.0)
        new = path not in files and len(files) >= len(beside) + MAX_OTHER_FILES
        if function in functions or new or took > budget or not left[path in beside]:
            continue
        budget -= took
        left[path in beside] -= 1
        functions.add(function)
        files.add(path)
        found.append(nodeid)
    return tuple(found)


def nearest_passing(
    candidates: Iterable[str], failing: Iterable[str], durations: Mapping[str, float], budget: float
) -> tuple[str, ...]:
    """At most :data:`MAX_PASSING` tests that take ``budget`` seconds in all: of the failing tests' classes, then the quick ones."""
    beside = {nodeid.rpartition("::")[0] for nodeid in failing if nodeid.count("::") > 1}
    beside |= {nodeid.partition("[")[0] for nodeid in failing}

    def rank(nodeid: str) -> tuple[bool, float, str]:
        near = nodeid.rpartition("::")[0] in beside or nodeid.partition("[")[0] in beside
        return not near, durations.get(nodeid, 0.0), nodeid

    found: list[str] = []
    for nodeid in sorted(candidates, key=rank):
        took = durations.get(nodeid, 0.0)
        if took <= budget and len(found) < MAX_PASSING:
            budget -= took
            found.append(nodeid)
    return tuple(found)
