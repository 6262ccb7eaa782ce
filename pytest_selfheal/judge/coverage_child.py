"""Plugin of a child: which lines each test executes, by coverage's dynamic contexts, sent to the parent in batches.

What a fixture of a wider scope executes belongs to every test that uses it, not to the one that came first. A test that
starts a process is *opaque*: what it depends on cannot be told from lines. One that reads source files depends on these.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_selfheal.calls import PROCESS_EVENTS
from pytest_selfheal.judge import child

if TYPE_CHECKING:
    from coverage import Coverage

BATCH_SECONDS = 2.0
NICE = 10
_FIXTURE = "\0fixture "

Lines = dict[str, list[int]]


def measuring(root: str) -> Coverage:
    """A started Coverage for the files below ``root``, on a core that has dynamic contexts, deaf to any configuration."""
    from coverage import Coverage
    from coverage.exceptions import CoverageException

    kwargs: dict[str, Any] = {
        "data_file": None,
        "config_file": False,
        "include": [f"{_escaped(root)}/*"],
        "omit": ["*/site-packages/*", "*/dist-packages/*"],
        "messages": False,
    }
    coverage = Coverage(**kwargs)
    try:
        coverage.set_option("run:core", "ctrace")
    except CoverageException:  # before 7.9 only the environment could say it
        before = os.environ.get("COVERAGE_CORE")
        os.environ["COVERAGE_CORE"] = "ctrace"
        coverage.start()
        os.environ.pop("COVERAGE_CORE") if before is None else os.environ.update(COVERAGE_CORE=before)
        return coverage
    coverage.start()
    return coverage


def _escaped(path: str) -> str:
    """Coverage's patterns know ``*`` and ``?``; any other character that means something to them matches itself."""
    return "".join("?" if character in "[]{}" else character for character in path)


class Recorder:
    """Labels what runs with the test that runs it."""

    def __init__(self, root: str) -> None:
        self.root = root + os.sep
        self.coverage = measuring(root)
        self.config: pytest.Config | None = None
        self.current = ""
        self.opaque = False
        self.reads: set[str] = set()
        self.done: dict[str, dict[str, Any]] = {}
        self.sent = time.monotonic()
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.current:
            return
        if event in PROCESS_EVENTS:
            self.opaque = True
        elif event == "open" and isinstance(args[0], str) and args[0].endswith(".py") and args[0].startswith(self.root):
            reader = sys._getframe(1).f_code.co_filename
            # An import reads source as well; what it runs is seen as lines.
            if "importlib" not in reader and "rewrite" not in reader:
                self.reads.add(self._name(args[0]))

    def _name(self, path: str) -> str:
        return path[len(self.root) :].replace(os.sep, "/") if path.startswith(self.root) else ""

    def _switch(self, label: str) -> None:
        self.coverage.switch_context(label)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.current, self.opaque, self.reads = item.nodeid, False, set()
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")
            self.current = ""
            names = getattr(item, "fixturenames", ())
            self.done[item.nodeid] = {"opaque": self.opaque, "reads": sorted(self.reads), "fixtures": list(names)}
            if time.monotonic() - self.sent > BATCH_SECONDS:
                self._flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function" or not self.current:
            return (yield)
        self._switch(_FIXTURE + fixturedef.argname)
        try:
            return (yield)
        finally:
            self._switch(self.current)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.current = ""
        self._flush(last=True)

    def _flush(self, last: bool = False) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        found: dict[str, Lines] = defaultdict(lambda: defaultdict(list))
        for path in data.measured_files():
            name = self._name(path)
            if not name:
                continue
            for line, labels in data.contexts_by_lineno(path).items():
                for label in labels:
                    found[label][name].append(line)
        assert self.config is not None
        child.send(
            self.config,
            {
                "tests": {nodeid: {**about, "lines": found.get(nodeid, {})} for nodeid, about in self.done.items()},
                "fixtures": {
                    label.removeprefix(_FIXTURE): lines for label, lines in found.items() if label.startswith(_FIXTURE)
                },
                "import": found.get("", {}),
            },
        )
        self.done.clear()
        if not last:
            self.coverage.erase()
            self.coverage.start()
            self._switch("")
        self.sent = time.monotonic()


_RECORDERS: list[Recorder] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    # Nobody waits for it, and others are waited for.
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    # Before any code of the project is imported.
    _RECORDERS.append(Recorder(child.prepared()["copy"]))


def pytest_configure(config: pytest.Config) -> None:
    recorder = _RECORDERS.pop()
    recorder.config = config
    config.pluginmanager.register(recorder, "selfheal-coverage")
