"""The pytest plugin that measures tests somebody else wrote: which lines and mutants of a function each one reaches and kills."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from pytest_selfheal.judge import child
from pytest_selfheal.propose.search.fork import Timer
from pytest_selfheal.propose.search.swap import LiveFunctions
from pytest_selfheal.testgen.inside import proof
from pytest_selfheal.testgen.inside.candidate import Surroundings
from pytest_selfheal.testgen.inside.mutants import mutants
from pytest_selfheal.testgen.inside.plugin import Exploration
from pytest_selfheal.testgen.inside.subject import Unreachable, find
from pytest_selfheal.testgen.inside.versions import Versions
from pytest_selfheal.testgen.job import Job, Measured, pack

WALL_SECONDS = 15.0


class Measurement(Exploration):
    """The job's first target, and the tests of this run."""

    def __init__(self, config: pytest.Config, job: Job) -> None:
        super().__init__(config, job)
        self.measured: dict[str, Measured] = {}

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        seen = self.watcher.seen.get(0)
        if seen is None:
            return (yield)
        seen.lines.clear()
        seen.branches.clear()
        try:
            with self.watcher.watching(item.nodeid):
                return (yield)
        finally:
            self.measured[item.nodeid] = Measured(frozenset(seen.lines), frozenset(seen.branches))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        try:
            killed = self._killed()
        except Unreachable:
            killed = {}
        for nodeid, one in self.measured.items():
            one.kills = killed.get(nodeid, frozenset())
        child.send(self.config, {"measured": pack(self.measured)})

    def _killed(self) -> dict[str, frozenset[int]]:
        target = self.job.targets[0]
        find(target, self.job.top)
        path = str(Path(self.job.top) / target.path)
        text = self.texts[target.path]
        live = LiveFunctions([path])
        close = (self.config.stash[child.STATE].channel.fd,)
        around = Surroundings(self.job, live, self.texts, self.items, {}, self._renderer, close)
        versions = Versions(around, live.of(path, text))
        versions.deadline = time.monotonic() + WALL_SECONDS
        runs = proof.passing_runs([self.items[nodeid] for nodeid in self.measured], around)

        def failing() -> list[bool]:
            timer = Timer()
            return [run is not None and proof.fails(timer, run[0], run[1]) for run in runs]

        answers = versions.each([fault.codes for fault in mutants(text, path, target.qualname)], failing)
        return {
            nodeid: frozenset(n for n, answer in enumerate(answers) if answer is not None and answer[i])
            for i, nodeid in enumerate(self.measured)
        }


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    data = child.extra(config)
    if "testgen" in data:
        config.pluginmanager.register(Measurement(config, Job.from_json(data)), "selfheal-measurement")
