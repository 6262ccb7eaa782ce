"""The plugin object of a run with ``--selfheal-bench``: collects tasks instead of tests and writes their results.

Under xdist the workers heal and score; each attaches its line as plain data to the report of its item, and the
controller alone writes.
"""

from __future__ import annotations

import platform
from collections.abc import Generator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal import __version__
from pytest_selfheal.bench import suites
from pytest_selfheal.bench.healing import Runner
from pytest_selfheal.bench.items import SuiteCollector, TaskItem
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.progress import Progress
from pytest_selfheal.bench.results import Results, Writer, in_order
from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.settings import Settings

ATTRIBUTE = "selfheal_bench"
"""Where a report carries its line: ``{"line": …, "selected": tasks of this process, "sha256": its data's}``."""
SEED = 0


class BenchPlugin:
    """Registered instead of the healing plugin; see the module's docstring."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.is_worker = hasattr(config, "workerinput")
        self.is_controller = not self.is_worker and getattr(config.option, "dist", "no") != "no"
        try:
            self.suite = suites.load(settings)
        except SelfhealError as error:
            raise pytest.UsageError(str(error)) from None
        self.selected = len(self.suite.tasks)
        self._runner: Runner | None = None
        self.writer: Writer | None = None
        self.progress: Progress | None = None
        self.mismatch: set[str] = set()
        self.results_path: Path | None = None

    def runner(self) -> Runner:
        if self._runner is None:
            share = int(self.config.workerinput["workercount"]) if self.is_worker else 1  # type: ignore[attr-defined]
            self._runner = Runner(self.suite, self.settings, share)
        return self._runner

    # ------------------------------------------------------------------ collecting

    def pytest_collection(self, session: pytest.Session) -> bool | None:
        if self.is_controller:
            return None  # xdist's controller never collects
        collector = SuiteCollector.of(session, self.suite, self.settings.bench_runs, self.runner)
        session.items = [item for item in session.genitems(collector) if self._asked(item.nodeid)]
        self.config.pluginmanager.check_pending()
        self.config.hook.pytest_collection_modifyitems(session=session, config=self.config, items=session.items)
        self.config.hook.pytest_collection_finish(session=session)
        session.testscollected = len(session.items)
        self.selected = len({item.task.task_id for item in session.items if isinstance(item, TaskItem)})
        return True

    def _asked(self, nodeid: str) -> bool:
        if self.config.args_source is not pytest.Config.ArgsSource.ARGS:
            return True
        for argument in self.config.args:
            if not argument.startswith(self.suite.name):
                raise pytest.UsageError(
                    f"{argument!r} is not a task: with --selfheal-bench name tasks as '{self.suite.name}::TASK', or choose with -k."
                )
        return any(nodeid == argument or argument == self.suite.name for argument in self.config.args)

    # ------------------------------------------------------------------ running

    def pytest_sessionstart(self) -> None:
        if self.is_worker or self.config.option.collectonly:
            return
        folder = self.config.invocation_params.dir / self.settings.bench_output
        try:
            self.writer = Writer(folder, self._metadata(), self._models())
        except SelfhealError as error:
            raise pytest.UsageError(str(error)) from None
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        self.progress = Progress(reporter, getattr(self.config.option, "verbose", 0))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem) and report.when == "call" and item.line is not None:
            data = {"line": item.line.to_json(), "selected": self.selected, "sha256": self.suite.data_sha256}
            setattr(report, ATTRIBUTE, data)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_worker or self.writer is None:
            return
        data = getattr(report, ATTRIBUTE, None)
        if data is None:
            if report.failed:
                self._take(self._lost(report), self.selected)
            return
        if data["sha256"] != self.suite.data_sha256:
            self.mismatch.add(str(getattr(getattr(report, "node", None), "gateway", report.nodeid)))
            return
        self._take(Line.from_json(data["line"]), data["selected"])

    def _take(self, line: Line, selected: int) -> None:
        assert self.writer is not None
        assert self.progress is not None
        if selected != self.selected or not self.progress.total:
            self.selected = selected
            self.progress.total = selected * self.settings.bench_runs
            self.writer.metadata = {**self.writer.metadata, "num_problems": selected}
        self.writer.add(line)
        self.progress.add(line)

    def _lost(self, report: pytest.TestReport) -> Line:
        """The line of a task whose process died (an xdist worker that crashed)."""
        task_id, _, number = report.nodeid.partition("::")[2].partition("#")
        text = str(report.longrepr).strip().splitlines()
        return Line(
            task_id=task_id,
            run=int(number or 1),
            entry_point="",
            is_complete=False,
            zero_shot=False,
            equivalent=None,
            confidence=None,
            termination_reason="infrastructure",
            reason=text[-1][:300] if text else "its process died",
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        counted = self.progress is not None and self.progress.counts
        if counted and getattr(report, "when", "") == "call" and hasattr(report, ATTRIBUTE):
            return report.outcome, "", report.outcome.upper()
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self.progress is not None:
            self.progress.end()
        if self.writer is not None:
            self.results_path = self.writer.close()

    # ------------------------------------------------------------------ telling

    def pytest_report_header(self) -> list[str]:
        suite = self.suite
        head = f"self-heal benchmark: {suite.name}, {len(suite.tasks)} tasks from {suite.origin}, model {self.settings.model}"
        dropped = [record for record in suite.malformed if record.dropped]
        lines = [head, *_misread(self.config)]
        for kind, records in (
            ("left out", dropped),
            ("run with a remark", [r for r in suite.malformed if not r.dropped]),
        ):
            if records:
                shown = "; ".join(f"{record.task_id}: {record.reason}" for record in records[:3])
                more = f"; and {len(records) - 3} more" if len(records) > 3 else ""
                lines.append(f"  {len(records)} records {kind} ({shown}{more})")
        return lines

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.writer is None or self.results_path is None:
            return
        from pytest_selfheal.bench.summary import for_terminal

        terminalreporter.write_sep("=", "self-heal benchmark")
        if self.mismatch:
            terminalreporter.write_line(
                f"results of {', '.join(sorted(self.mismatch))} were left out: its data is another version; copy the same file to every machine."
            )
        results = Results(self.writer.metadata, self.writer.models, in_order(self.writer.lines))
        for line in for_terminal([results], terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)
        path = self.results_path
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        terminalreporter.write_line(f"results: {shown}   selfheal bench summary|compare|plot reads them")

    def _metadata(self) -> dict[str, Any]:
        settings, suite = self.settings, self.suite
        return {
            "benchmark": suite.name,
            "data_sha256": suite.data_sha256,
            "visible": settings.bench_visible,
            "num_problems": len(suite.tasks),
            "runs": settings.bench_runs,
            "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "versions": _versions(settings),
            "few_shot": list(suite.few_shot_ids),
            "malformed": [record.__dict__ for record in suite.malformed],
            "seed": SEED,
            "prompts_sha256": _prompts_fingerprint() if settings.model != "builtin" else None,
            "effort": settings.effort,
        }

    def _models(self) -> dict[str, Any]:
        settings = self.settings
        model, critic = settings.model != "builtin", settings.critic is not None
        return {
            "coder": settings.model,
            "critic": settings.critic,
            "strategy": settings.strategy,
            "attempts": settings.attempts,
            "coder_max_tokens": settings.coder_max_tokens if model else 0,
            "critic_max_tokens": settings.critic_max_tokens if critic else 0,
            "coder_temperature": settings.coder_temperature if model else 0.0,
            "critic_temperature": settings.critic_temperature if critic else 0.0,
        }


def _misread(config: pytest.Config) -> list[str]:
    """What to say when the data's path, given as a word of its own, led pytest to another place for its ini file.

    pytest looks before any plugin can tell it that the word is an option's value.
    """
    given, here = config.invocation_params.args, config.invocation_params.dir
    place = config.inipath.parent if config.inipath is not None else config.rootpath
    if "--selfheal-bench-data" not in given or here == place or (place in here.parents and config.inipath is not None):
        return []
    found = f"read {config.inipath}" if config.inipath is not None else "read no ini file"
    return [
        f"  pytest took the data's path for the place to look for its settings and {found}; write --selfheal-bench-data=PATH"
    ]


def _versions(settings: Settings) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"pytest-selfheal": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in ("pytest", "litellm") if settings.model != "builtin" else ("pytest",):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _prompts_fingerprint() -> str:
    """SHA-256 of all prompt templates: the same model with other prompts is another configuration."""
    from pytest_selfheal.bench.suites import hub
    from pytest_selfheal.propose import model

    return hub.fingerprint(Path(model.__file__).parent / "templates")
