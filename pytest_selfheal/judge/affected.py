"""Which tests a change can affect: the static import closure bounds them, coverage narrows within the bound.

Where the user's own run has shown which functions each test called (:mod:`pytest_selfheal.calls`), that narrows it at once.
Coverage is measured in a child while others search for a repair, for tests within reach of the suspects only, and only
where running these would cost more than a moment. Nobody waits for it: a test that is not measured yet counts as affected.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pytest_selfheal.judge.coverage_map import CoverageMap, Executed
from pytest_selfheal.judge.import_map import ImportMap, Known
from pytest_selfheal.judge.outline import Change, changed, outline
from pytest_selfheal.judge.verify import Affected
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.types import FileChange

logger = logging.getLogger(__name__)

WORTH_MEASURING_SECONDS = 2.0
"""Tests that take less together are simply run."""
WORTH_REFINING_SECONDS = 15.0
"""The same where the run has shown which functions each test calls: which lines it runs is worth less then."""
CONSIDERED = ("passed", "xfailed", "xpassed", "skipped")
"""Outcomes of the first run that a patch could spoil."""
STORE, IMPORTS = "coverage.json", "imports.json"


class AffectedTests:
    """Answers for one run. Safe to use from several threads; the import map is read when first needed."""

    def __init__(self, project: Project, top: Path, workshop: Workshop | None = None) -> None:
        """``top``: the pristine copy's. Without a workshop nothing is measured; an earlier run's map is not read either."""
        self.project = project
        self.top = top
        self.workshop = workshop
        self._imports: ImportMap | None = None
        self._coverage: CoverageMap | None = None
        self._known: Known | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._groups: dict[Sequence[str], frozenset[int]] = {}

    def of(self, paths: Iterable[str], failing: Iterable[str], changes: Sequence[FileChange] = ()) -> Affected:
        """Tests of the first run that may execute a changed file (relative to top), without the ``failing`` ones.

        With ``changes``, the bytes of the same files before and after, coverage narrows them where it was measured.
        """
        paths, excluded = tuple(dict.fromkeys(paths)), frozenset(failing)
        imports, coverage = self._maps()
        reach, closure = imports.reach(paths), imports.closure(paths)
        candidates = [
            nodeid
            for nodeid, outcome in self.project.outcomes.items()
            if outcome in CONSIDERED and nodeid not in excluded
        ]
        within = [nodeid for nodeid in candidates if self._within(nodeid, reach)]
        names = ", ".join(paths)
        everything = f"all {len(within)} other tests, each of which may reach {names}"
        plain = f"import closure of {names}: {len(within)} of {len(candidates)} other tests"
        static = Affected(within, everything if len(within) == len(candidates) > 1 else plain)
        if coverage is None or not changes or not within:
            return static
        found = {change.path: changed(change.before or b"", change.after or b"") for change in changes}
        if any(change.before is None or change.after is None for change in changes):
            return static
        seen_calls = _Seen(self.project, changes, found, excluded)
        if seen_calls.at_import or any(self._runs_at_import(path, change, coverage) for path, change in found.items()):
            return static  # what runs at import concerns everybody who imports it
        inside = frozenset(within)
        kept: list[str] = []
        unmeasured = seen = 0
        for nodeid in candidates:
            executed = coverage.get(nodeid)
            if executed is None:
                runs = seen_calls.by(nodeid, lambda one: self._within(one, closure | imports.dynamic))
                seen += runs is not None
                unmeasured += runs is None and nodeid in inside
                if runs or (runs is None and nodeid in inside):
                    kept.append(nodeid)
            elif _runs(executed, found) or (executed.opaque and self._within(nodeid, closure | imports.dynamic)):
                kept.append(nodeid)
        if unmeasured == len(within):
            return static
        by = "calls seen in your run" if seen else "coverage"
        scope = f"{by} of {names}: {len(kept)} of the {len(within)} tests that can import it"
        return Affected(kept, scope + (f" ({unmeasured} of them not measured yet)" if unmeasured else ""))

    def read(self) -> None:
        """Read what imports what, and what was measured before, so that nobody has to wait for it later."""
        self._maps()

    def may_reach(self, paths: Iterable[str], nodeids: Iterable[str]) -> bool:
        """Whether each of these tests can import, or reach otherwise, one of the files."""
        reach = self._maps()[0].reach(paths)
        return all(self._within(nodeid, reach) for nodeid in nodeids)

    # ------------------------------------------------------------------ measuring

    def measure(self, suspects: Iterable[str]) -> None:
        """Begin to measure, in the background, the tests that may reach one of the ``suspects`` (paths relative to top)."""
        if self.workshop is None or self._thread is not None or (os.cpu_count() or 1) < 2:
            return
        paths = tuple(dict.fromkeys(suspects))
        self._thread = threading.Thread(target=self._measure, args=(paths,), name="selfheal-coverage", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End measuring and keep what was measured for the next run."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(20.0)
        if self._coverage is not None:
            self._coverage.save()
        if self._known is not None:
            self._known.save()

    def _measure(self, suspects: Sequence[str]) -> None:
        from pytest_selfheal.judge.run import run_tests

        assert self.workshop is not None
        try:
            imports, coverage = self._maps()
            if coverage is None:
                return
            reach = imports.reach(suspects)
            durations = self.project.durations
            wanted = [
                nodeid
                for nodeid, outcome in self.project.outcomes.items()
                if outcome in CONSIDERED and self._within(nodeid, reach) and self._may_run(nodeid, suspects)
            ]
            worth = WORTH_MEASURING_SECONDS if self.project.calls is None else WORTH_REFINING_SECONDS
            if sum(durations.get(nodeid, 0.0) for nodeid in wanted) < worth:
                return
            missing = [nodeid for nodeid in wanted if coverage.get(nodeid) is None]
            if not missing or self._stop.is_set():
                return
            run_tests(
                self.workshop,
                self.workshop.pristine,
                missing,
                timeout=self.workshop.settings.total_time,
                plugins=["pytest_selfheal.judge.coverage_child"],
                on_message=lambda message: coverage.add(message, self._file),
                stop=self._stop,
            )
        except Exception as error:  # the static bound serves as well, and nobody waits for this thread's words
            logger.debug("coverage could not be measured: %s", error)

    def _may_run(self, nodeid: str, paths: Sequence[str]) -> bool:
        """Whether a test may have called anything in these files; nobody else need be measured."""
        calls = self.project.calls
        groups = calls.tests.get(nodeid) if calls is not None else None
        if calls is None or groups is None:
            return True
        if paths not in self._groups:
            numbers = [calls.of_file(self.project.top / path, [(1, sys.maxsize)]) for path in paths]
            self._groups[paths] = calls.calling(frozenset().union(*numbers))
        return not self._groups[paths].isdisjoint(groups)

    # ------------------------------------------------------------------ helpers

    def _maps(self) -> tuple[ImportMap, CoverageMap | None]:
        with self._lock:
            if self._imports is None:
                folder = self._folder()
                known = Known(folder / IMPORTS if folder is not None else None)
                self._imports = ImportMap.of(self.top, known)
                self._known = known  # complete, and worth saving
                if folder is not None:
                    with contextlib.suppress(RecursionError):
                        self._coverage = CoverageMap(self.top, folder / STORE, self._imports)
            return self._imports, self._coverage

    def _folder(self) -> Path | None:
        """Where earlier runs have left what they read and measured; ``None`` where that may be a stranger's."""
        if self.workshop is None:
            return None
        folder = self.workshop.settings.run_dir(self.project.rootdir)
        return None if self.project.tracks(folder / STORE, folder / IMPORTS) else folder

    def _runs_at_import(self, path: str, change: Change, coverage: CoverageMap) -> bool:
        return change.at_import or not change.blocks.isdisjoint(coverage.executed_at_import(path))

    def _file(self, nodeid: str) -> str:
        return self.project.from_top(nodeid.partition("::")[0])

    def _within(self, nodeid: str, files: Iterable[str]) -> bool:
        path = self._file(nodeid)
        return path in files or not path.endswith(".py")


def _runs(executed: Executed, changes: Mapping[str, Change]) -> bool:
    """Whether a test executes something of what changed."""
    for path, change in changes.items():
        if path in executed.reads:
            return True
        if change.blocks.isdisjoint(executed.blocks.get(path, ())):
            continue
        if change.lines is None or not executed.is_as_measured(path, change.digest):
            return True
        if not change.lines.isdisjoint(executed.lines.get(path, ())):
            return True
    return False


class _Seen:
    """Which tests the changes concern by what the user's run has shown of them."""

    def __init__(
        self, project: Project, changes: Sequence[FileChange], found: Mapping[str, Change], failing: Iterable[str]
    ) -> None:
        calls = self._calls = project.calls
        self.at_import = False
        """Something that changes was called when a module was imported."""
        if calls is None:
            return
        numbers: frozenset[int] = frozenset()
        self._reading: frozenset[int] = frozenset()
        for change in changes:
            blocks = outline(change.before or b"")
            spans = [
                (block.first, block.last)
                for block in (blocks.blocks if blocks is not None else ())
                if block.name in found[change.path].blocks
            ]
            numbers |= calls.of_file(project.top / change.path, spans)
            self._reading |= calls.reading(project.top / change.path)
        self.at_import = not numbers.isdisjoint(calls.at_import)
        self._calling = calls.calling(numbers)
        # What repairs a test concerns what it calls. Where that was not seen, it was called in a way that nobody sees.
        known = [groups for nodeid in failing if (groups := calls.tests.get(nodeid)) is not None]
        if known and all(self._calling.isdisjoint(groups) for groups in known):
            self._calls = None

    def by(self, nodeid: str, may_reach: Callable[[str], bool]) -> bool | None:
        """Whether a test called what changes, read it, or may have done so in another process; ``None``: nobody saw it."""
        groups = self._calls.tests.get(nodeid) if self._calls is not None else None
        if self._calls is None or groups is None:
            return None
        if not (self._calling | self._reading).isdisjoint(groups):
            return True
        return not self._calls.opaque.isdisjoint(groups) and may_reach(nodeid)
