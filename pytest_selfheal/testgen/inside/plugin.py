"""The pytest plugin of the exploring child: watches the tests, then explores each target in a forked process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType

import pytest

from pytest_selfheal.judge import child
from pytest_selfheal.propose.search import fork
from pytest_selfheal.propose.search.fork import Usage
from pytest_selfheal.propose.search.swap import LiveFunctions
from pytest_selfheal.testgen.inside.asserted import follow_docstring
from pytest_selfheal.testgen.inside.candidate import Surroundings
from pytest_selfheal.testgen.inside.explore import explore
from pytest_selfheal.testgen.inside.mutants import codes_of
from pytest_selfheal.testgen.inside.render import Renderer
from pytest_selfheal.testgen.inside.subject import Subject, Unreachable, find
from pytest_selfheal.testgen.inside.watch import Seen, Watcher
from pytest_selfheal.testgen.job import Found, Job, pack


class Exploration:
    """One child's work."""

    def __init__(self, config: pytest.Config, job: Job) -> None:
        self.config = config
        self.job = job
        self.top = Path(job.top)
        self.texts = {name: text for name in job.code if (text := _read(self.top / name)) is not None}
        self._files = {os.path.realpath(self.top / name) for name in job.code}
        self._known: dict[str, bool] = {}
        self.watcher = Watcher(self._keys(), self.is_code, self.is_test_module, (f"{job.top}/",))
        self.items: dict[str, pytest.Item] = {}

    def _keys(self) -> dict[tuple[str, str, int], tuple[int, bool]]:
        """Where the targets' code is: ``(real path, name, first line)`` → number, and whether it is the target itself."""
        found: dict[tuple[str, str, int], tuple[int, bool]] = {}
        for number, target in enumerate(self.job.targets):
            path = os.path.realpath(self.top / target.path)
            try:
                codes = codes_of(self.texts.get(target.path, ""), path)
            except (SyntaxError, ValueError):
                continue
            code = codes.get(target.qualname)
            for inner in _all(code) if code is not None else ():
                found[path, inner.co_name, inner.co_firstlineno] = (number, inner is code)
        return found

    def is_code(self, filename: str) -> bool:
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = os.path.realpath(filename) in self._files
        return known

    def is_test_module(self, name: str) -> bool:
        """Whether a module belongs to the project but not to its code: nothing is imported from there."""
        path = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(path, str):
            return False
        real = os.path.realpath(path)
        own = os.path.realpath(self.top)
        return real.startswith(own + os.sep) and "site-packages" not in real and real not in self._files

    # ------------------------------------------------------------------ hooks

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.items[item.nodeid] = item
        result = yield
        self.watcher.forget()
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        with self.watcher.watching(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with self.watcher.watching(item.nodeid):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(os, "fork"):
            for target in self.job.targets:
                self._send(Found(target, reason="exploring needs os.fork, which this system does not have"))
            return
        subjects: dict[int, Subject] = {}
        for number, target in enumerate(self.job.targets):
            try:
                subjects[number] = find(target, self.job.top)
            except Unreachable as reason:
                self._send(Found(target, reason=str(reason)))
        if not subjects:
            return
        live = LiveFunctions(str(self.top / target.path) for target in self.job.targets)
        # A forked child must not be able to speak for the judge.
        close = (self.config.stash[child.STATE].channel.fd,)
        usage = Usage()
        around = Surroundings(self.job, live, self.texts, self.items, self._test_texts(), self._renderer, close, usage)
        for number, subject in subjects.items():
            patience = 30.0 + 30 * self.job.cpu_seconds
            found = fork.call(lambda n=number, s=subject: self._explore(around, s, n), patience, usage, close)  # type: ignore[misc]
            self._send(found or Found(subject.target, reason="exploring it took too long or ended its process"))

    def _explore(self, around: Surroundings, subject: Subject, number: int) -> Found:
        try:
            seen = self.watcher.seen.get(number) or Seen()
            # The docstring's calls are inputs like those of tests; but what they cover, no test covers.
            covered = set(seen.lines), set(seen.branches), dict(seen.tests), seen.calls
            with self.watcher.watching(""):
                follow_docstring(subject)
            seen.lines, seen.branches, seen.tests, seen.calls = covered
            return explore(around, subject, seen)
        except Exception as error:
            if os.environ.get("SELFHEAL_DEBUG"):
                import traceback

                return Found(subject.target, reason=traceback.format_exc()[-1500:])
            return Found(subject.target, reason=f"exploring it failed ({type(error).__name__}: {str(error)[:120]})")

    def _renderer(self) -> Renderer:
        return Renderer(self.is_test_module, (f"{self.job.top}/",))

    def _test_texts(self) -> dict[str, str]:
        paths = {str(item.path) for item in self.items.values()}
        return {path: text for path in sorted(paths) if (text := _read(Path(path))) is not None}

    def _send(self, found: Found) -> None:
        child.send(self.config, {"found": pack(found)})


def _all(code: CodeType) -> list[CodeType]:
    return [code, *(inner for c in code.co_consts if isinstance(c, CodeType) for inner in _all(c))]


def _read(path: Path) -> str | None:
    from pytest_selfheal.propose.search.files import decode

    try:
        return decode(path.read_bytes())
    except (OSError, SyntaxError, ValueError, LookupError):
        return None


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    data = child.extra(config)
    if "testgen" in data:
        config.pluginmanager.register(Exploration(config, Job.from_json(data)), "selfheal-exploration")
