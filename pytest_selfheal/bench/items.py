"""Tasks as pytest items: one collector for the suite, one item for each task and run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_selfheal.bench.healing import Runner
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.task import Suite, Task
from pytest_selfheal.errors import SelfhealError


class NotSolved(Exception):
    """The item fails: the task was not healed, or the scorer found the healed program wrong."""


class SuiteCollector(pytest.Collector):
    """All tasks of a suite, as often as they are to run."""

    suite: Suite
    runs: int
    runner: Callable[[], Runner]

    @classmethod
    def of(cls, session: pytest.Session, suite: Suite, runs: int, runner: Callable[[], Runner]) -> SuiteCollector:
        made: SuiteCollector = cls.from_parent(session, name=suite.name, nodeid=suite.name)
        made.suite, made.runs, made.runner = suite, runs, runner
        return made

    def collect(self) -> Iterator[TaskItem]:
        # Whole repeats one after the other: an interrupted benchmark leaves complete repeats behind.
        for number in range(1, self.runs + 1):
            for task in self.suite.tasks:
                name = task.task_id if number == 1 else f"{task.task_id}#{number}"
                item: TaskItem = TaskItem.from_parent(self, name=name)
                item.task, item.number = task, number
                yield item


class TaskItem(pytest.Item):
    """Heals and scores one task; passes when it was healed and scored right."""

    task: Task
    number: int
    line: Line | None = None

    def runtest(self) -> None:
        assert isinstance(self.parent, SuiteCollector)
        runner = self.parent.runner()
        try:
            line = runner.run(self.task, self.number)
        except SelfhealError as error:
            line = broken(self.task, self.number, str(error))
        except Exception as error:
            logging.getLogger("pytest_selfheal").warning("benchmark task %s", self.task.task_id, exc_info=error)
            line = broken(self.task, self.number, f"{type(error).__name__}: {error}")
        self.line = replace(line, metrics=self._metrics(line))
        for name in ("termination_reason", "confidence", "equivalent", "candidates", "cpu_seconds"):
            self.user_properties.append((name, getattr(line, name)))  # JUnit files carry them
        if not line.is_complete:
            claim = "wrongly claimed healed" if line.claimed else f"not healed: {line.termination_reason}"
            raise NotSolved(f"{claim}{f' ({line.reason})' if line.reason else ''}")

    def _metrics(self, line: Line) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        found = self.config.hook.pytest_selfheal_bench_metrics(task_id=self.task.task_id, result=line.to_json())
        for metrics in reversed(found):
            merged.update(metrics or {})
        return merged

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotSolved):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.config.rootpath, None, self.nodeid


def broken(task: Task, number: int, reason: str) -> Line:
    """The line of a task whose run broke down."""
    return Line(
        task_id=task.task_id,
        run=number,
        entry_point=task.entry_point,
        is_complete=False,
        zero_shot=False,
        equivalent=None,
        confidence=None,
        termination_reason="infrastructure",
        reason=reason[:300].encode("utf-8", "replace").decode("utf-8"),
    )
