"""Heal one task and score what came of it: one :class:`~pytest_selfheal.bench.line.Line`."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.bench import scoring
from pytest_selfheal.bench.folder import merged, project_of
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.task import Suite, Task
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, FileChange, Outcome, RunReport, Usage

Heal = Callable[..., RunReport]
TEST_SECONDS = 20.0
"""A task's test that runs longer hangs: the scorer gives all of them together no more CPU time than this."""


class Runner:
    """Heals and scores the tasks of a suite, one after the other, in this process.

    The spend caps of the settings hold for all of its tasks together; ``share`` is this process's part of them when
    several work on the suite.
    """

    def __init__(self, suite: Suite, settings: Settings, share: int = 1, heal: Heal | None = None) -> None:
        self.suite = suite
        self.settings = settings
        self.heal = heal or _heal
        self.cost_left = settings.max_cost / share
        self.tokens_left = settings.max_tokens // share
        self.oracles: dict[str, scoring.Oracle] = {}
        """The references' behaviour, asked once for all repeats."""

    def run(self, task: Task, number: int) -> Line:
        """Heal ``task`` for the ``number``-th time and score it."""
        started = time.perf_counter()
        if not task.tests:
            return self._line(task, number, "not_reproduced", reason="no visible test to heal by")
        if self.settings.model != "builtin" and (self.cost_left <= 0 or self.tokens_left <= 0):
            reason = "cost_limit" if self.cost_left <= 0 else "token_limit"
            return self._line(task, number, reason, reason="the run's spend cap was reached before this task")
        with project_of(task) as folder:
            cpu, began = _cpu(), time.perf_counter()
            report = self.heal(
                [str(folder / path) for path in task.tests if _is_test(path)], self._settings(task), rootdir=folder
            )
            healing, cpu = time.perf_counter() - began, _cpu() - cpu
        if report.stop == "interrupted":
            raise KeyboardInterrupt  # healing ends in an orderly way, and so must the benchmark
        self._charge(report)
        line = self._scored(task, number, report)
        spent = time.perf_counter() - started
        return replace(
            line,
            seconds=round(spent, 3),
            # A sandboxed child that is killed takes its descendants' account with it; the engine keeps its own.
            cpu_seconds=round(max(cpu, sum(outcome.cpu_seconds for outcome in report.outcomes)), 3),
            overhead_seconds=round(spent - healing, 3),
        )

    def _settings(self, task: Task) -> Settings:
        settings = self.settings
        hint = settings.hint
        if self.suite.few_shot:
            hint = f"{hint}\n\n{self.suite.few_shot}" if hint else self.suite.few_shot
        return replace(
            settings,
            selfheal=True,
            bench=None,
            hint=hint,
            apply=False,
            review=False,
            generate_tests=False,
            dir=".selfheal",
            workers=1,
            test_timeout=settings.test_timeout if "test_timeout" in settings.sources else TEST_SECONDS,
            max_cost=max(self.cost_left, 0.0),
            max_tokens=max(self.tokens_left, 0),
        )

    def _charge(self, report: RunReport) -> None:
        usage = report.usage
        self.cost_left -= usage.cost_usd or 0.0
        self.tokens_left -= usage.prompt_tokens + usage.completion_tokens

    def _scored(self, task: Task, number: int, report: RunReport) -> Line:
        outcomes = report.outcomes
        if not outcomes:
            words = "; ".join(report.notes)[:300]
            if report.exit_status not in (0, 1):
                return self._line(task, number, "infrastructure", reason=words or "the visible tests could not be run")
            words = words or "the visible tests do not fail"
            return self._line(task, number, "not_reproduced", reason=words)
        unhealed = [outcome for outcome in outcomes if outcome.status != "healed"]
        first = _first_attempt(outcomes)
        line = self._line(
            task,
            number,
            unhealed[0].reason if unhealed else "healed",
            reason=unhealed[0].words[:300] if unhealed else "",
            outcomes=outcomes,
        )
        if self.settings.bench_impossible:
            # Nothing can be healed here: what counts is that nobody claims to have.
            return replace(line, is_complete=bool(unhealed), zero_shot=bool(unhealed))
        before = task.project()
        if unhealed:
            complete, files = False, before
        else:
            files = merged(before, [_after(outcome.patch.changes) for outcome in outcomes if outcome.patch is not None])
            line = self._judge(task, line, files)
            complete = line.is_complete
        if len(outcomes) > 1 or first is None or first.patch is None:
            # Several causes: the first proposals alone are not one program.
            return replace(line, zero_shot=complete and all(len(outcome.attempts) == 1 for outcome in outcomes))
        tried = merged(before, [_after(first.patch.changes)])
        if tried == files:
            return replace(line, zero_shot=complete)
        if first.verdict in ("still_failing", "guarded") and self.settings.bench_visible == "tests":
            return replace(line, zero_shot=False)  # the visible tests are the full ones
        answer = self.suite.answers[task.task_id]
        return replace(line, zero_shot=scoring.score(task, answer, tried, self.settings).passed)

    def _judge(self, task: Task, line: Line, files: dict[str, bytes]) -> Line:
        answer = self.suite.answers[task.task_id]
        oracle = self.oracles.get(task.task_id)
        if oracle is None:
            score, self.oracles[task.task_id] = scoring.score_beside_reference(task, answer, files, self.settings)
        else:
            score = scoring.score(task, answer, files, self.settings, oracle)
        complete = score.passed
        reason = "" if complete else f"the full tests: {score.reason}"
        if complete and answer.kind == "script" and answer.expected is None and self.settings.critic:
            # Nobody wrote down what it should print; the critic's opinion is the only one there is.
            complete = line.critic_score is not None and line.critic_score >= self.settings.critic_threshold
            reason = "" if complete else f"the critic's score is {line.critic_score}"
        return replace(
            line,
            is_complete=complete,
            equivalent=score.equivalent if complete else None,
            compared=score.compared,
            reason=reason or score.difference,
        )

    def _line(
        self, task: Task, number: int, termination: str, *, reason: str = "", outcomes: tuple[Outcome, ...] = ()
    ) -> Line:
        attempts = [attempt for outcome in outcomes for attempt in outcome.attempts]
        scores = [attempt.critic_score for attempt in attempts if attempt.critic_score is not None]
        confidences = [outcome.confidence for outcome in outcomes if outcome.confidence is not None]
        tokens, cost = _usage(outcomes)
        return Line(
            task_id=task.task_id,
            run=number,
            entry_point=task.entry_point,
            is_complete=False,
            zero_shot=False,
            equivalent=None,
            confidence=min(confidences, key=("low", "medium", "high").index) if confidences else None,
            termination_reason=termination,
            iterations=len(attempts),
            candidates=sum(outcome.candidates_tried for outcome in outcomes),
            critic_score=scores[-1] if scores else None,
            token_usage=tokens,
            cost=cost,
            diff=_plain("".join(outcome.diff for outcome in outcomes)),
            reason=_plain(reason),
            guarded=dict(Counter(attempt.refused_by or "?" for attempt in attempts if attempt.verdict == "guarded")),
        )


def _heal(paths: list[str], settings: Settings, *, rootdir: Path) -> RunReport:
    from pytest_selfheal.api import heal

    # Tasks are plain Python: whatever plugins happen to be installed only slow each of their test runs down.
    with _environment("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"):
        return heal(paths, settings, rootdir=rootdir)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _is_test(path: str) -> bool:
    return Path(path).name.startswith("test_")


def _after(changes: tuple[FileChange, ...]) -> dict[str, bytes]:
    return {change.path: change.after for change in changes if change.after is not None}


def _first_attempt(outcomes: tuple[Outcome, ...]) -> Attempt | None:
    attempts = outcomes[0].attempts
    return attempts[0] if attempts else None


def _usage(outcomes: tuple[Outcome, ...]) -> tuple[dict[str, int], dict[str, float | None]]:
    """Tokens and dollars by role."""
    critic = coder = Usage()
    for outcome in outcomes:
        part = outcome.critic_usage
        whole = outcome.usage
        known = whole.cost_usd is not None and part.cost_usd is not None
        # An unknown sum may hide a known part: the coder's price is unknown unless both are known.
        left = (whole.cost_usd or 0.0) - (part.cost_usd or 0.0) if known else None
        coder = coder + Usage(
            whole.prompt_tokens - part.prompt_tokens, whole.completion_tokens - part.completion_tokens, left
        )
        critic = critic + part
    tokens = {
        "coder": coder.prompt_tokens + coder.completion_tokens,
        "critic": critic.prompt_tokens + critic.completion_tokens,
    }
    cost: dict[str, float | None] = {"coder": coder.cost_usd, "critic": critic.cost_usd}
    return tokens, cost


def _plain(text: str) -> str:
    """Without lone surrogates, which no serialiser takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows
        return time.process_time()
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total
