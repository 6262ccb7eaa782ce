"""Ask a verified patch of a model or another plugin about inputs beside the tests' own, and weigh its confidence by them.

The embedded engine compares its own patches with one another on such inputs; a patch from elsewhere comes alone, and is
compared with the faulty code that it replaces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from pytest_selfheal import parsing
from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.neighbours.judge import Asked, doubt
from pytest_selfheal.types import Confidence, FileChange, Patch, Verdict, lower

PLUGIN: Final = "pytest_selfheal.neighbours.inside"
MAX_SECONDS: Final = 3.0
"""Other tests are watched for their inputs as long as they take no longer than this together."""


def tried_elsewhere(
    workshop: Workshop, patch: Patch, verdict: Verdict, others: Sequence[str], timeout: float
) -> Verdict:
    """``verdict`` (healed), with less confidence where other inputs show that the patch fits its tests rather than the task.

    ``others``: nodeids of passing tests that may reach the change; ``timeout`` is in seconds of wall time.
    """
    before = {c.path: _text(c.before) for c in patch.changes if c.before and c.after and c.path.endswith(".py")}
    if not before or verdict.confidence == "low":
        return verdict
    rows: list[Asked] = []

    def on_message(message: dict[str, Any]) -> None:
        rows.extend(_asked(row) for row in message["neighbours"])

    nodeids = [*verdict.failing_now_pass, *_quick(workshop, others)]
    try:
        with workshop.fresh(patch.changes) as workspace:
            data = {"neighbours": {"top": str(workspace.seen_top), "before": before}}
            run = run_tests(
                workshop, workspace, nodeids, plugins=[PLUGIN], config=data, on_message=on_message, timeout=timeout
            )
    except SelfhealError:
        return verdict  # nothing could be asked; what was verified stands
    found: tuple[Confidence, str] | None = (
        ("low", run.tampered) if run.tampered else doubt(rows, _raised(patch.changes))
    )
    if found is None:
        return verdict
    level, words = found
    level = lower(level, verdict.confidence)
    most = "low" if level == "low" else "medium at most"
    return replace(verdict, confidence=level, reason=f"{verdict.reason}; confidence is {most}, since {words}")


def _asked(row: dict[str, Any]) -> Asked:
    """A row of the child's message. Raises ``KeyError``, ``TypeError``, ``ValueError`` for anything else."""
    texts = {name: str(row[name]) for name in ("shown", "function", "old", "new")}
    numbers = {str(name): float(value) for name, value in dict(row["numbers"]).items()}
    return Asked(**texts, observed=bool(row["observed"]), numbers=numbers)


def _quick(workshop: Workshop, nodeids: Iterable[str]) -> list[str]:
    durations = workshop.project.durations
    chosen, seconds = [], 0.0
    for nodeid in sorted(nodeids, key=lambda n: durations.get(n, 0.0)):
        seconds += durations.get(nodeid, 0.0)
        if seconds > MAX_SECONDS:
            break
        chosen.append(nodeid)
    return chosen


def _raised(changes: Iterable[FileChange]) -> frozenset[str]:
    """Names of the exceptions that the changed files raise by a statement of their own after the patch."""
    names: set[str] = set()
    for change in changes:
        try:
            tree = parsing.parse(change.after or b"")
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                names.add(ast.unparse(raised).rpartition(".")[2])
    return frozenset(names)


def _text(source: bytes) -> str:
    from pytest_selfheal.guard.facts import decode

    return decode(source)
