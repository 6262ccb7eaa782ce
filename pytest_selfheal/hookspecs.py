"""Hooks that other plugins may implement. They are always registered, so that a conftest may name them with the plugin idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_selfheal.propose import Proposer
    from pytest_selfheal.settings import Settings
    from pytest_selfheal.types import Attempt, Failure, Patch, RunReport, Verdict


@pytest.hookspec
def pytest_selfheal_proposers(settings: Settings) -> Sequence[Proposer] | None:
    """More proposers, asked after the embedded engine and before the model."""


@pytest.hookspec(firstresult=True)
def pytest_selfheal_guard(patch: Patch, failure: Failure) -> str | None:
    """A reason to refuse the patch, or ``None``; asked after the built-in guards, before it is judged."""


@pytest.hookspec
def pytest_selfheal_attempt(failure: Failure, attempt: Attempt) -> None:
    """Called after each judged attempt."""


@pytest.hookspec
def pytest_selfheal_healed(failure: Failure, patch: Patch, verdict: Verdict) -> None:
    """Called once for each cause that was healed, at the end of the run."""


@pytest.hookspec
def pytest_selfheal_report(report: RunReport) -> None:
    """Called with the whole report after it was written."""


@pytest.hookspec
def pytest_selfheal_bench_metrics(task_id: str, result: dict[str, Any]) -> dict[str, Any] | None:
    """Own figures for one scored benchmark task (JSON data); they are kept under ``metrics`` of its result line."""
