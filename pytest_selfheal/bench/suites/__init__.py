"""The suites, by name. Each loader turns a path into tasks and answers; what it cannot use it reports."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.bench.task import Answer, Malformed, Suite, Task, Visible
from pytest_selfheal.errors import UsageError
from pytest_selfheal.settings import Settings
from pytest_selfheal.surroundings import parsing_is_quiet

Loaded = tuple[list[tuple[Task, Answer]], list[Malformed]]
Loader = Callable[[Path, Visible], Loaded]

BUNDLED = Path(__file__).parent.parent / "data"
"""Small samples of our own, one a suite: what ``--selfheal-bench-data sample`` stands for, and ``scripts`` by default."""


def load(settings: Settings) -> Suite:
    """The suite that the settings ask for, limited and with its few-shot examples taken out.

    Raises :class:`UsageError` when the data is missing, unreachable or holds no task.
    """
    from pytest_selfheal.bench.suites import hub

    name = settings.bench or ""
    path, origin = hub.locate(name, settings.bench_data)
    load_pairs: Loader = importlib.import_module(f"pytest_selfheal.bench.suites.{name}").load
    with parsing_is_quiet():
        pairs, malformed = load_pairs(path, settings.bench_visible)
    pairs, malformed = _unique(pairs, malformed)
    if not pairs:
        why = f" ({malformed[0].task_id}: {malformed[0].reason})" if malformed else ""
        raise UsageError(
            f"--selfheal-bench {name}: no usable task in {origin}{why}; "
            "docs/benchmarks.md describes the layout that the suite needs."
        )
    shots, pairs = pairs[: settings.few_shot], pairs[settings.few_shot :]
    if not pairs:
        raise UsageError(
            f"--selfheal-few-shot {settings.few_shot} leaves no task to score in {origin}; give a smaller number."
        )
    if settings.bench_limit is not None:
        pairs = pairs[: settings.bench_limit]
    if settings.bench_impossible:
        from pytest_selfheal.bench.suites.impossible import contradict

        pairs, more = contradict(pairs)
        malformed += more
        name += "-impossible"
    return Suite(
        name=name,
        tasks=tuple(task for task, _ in pairs),
        answers={task.task_id: answer for task, answer in pairs},
        data_sha256=hub.fingerprint(path),
        origin=origin,
        malformed=tuple(malformed),
        few_shot=_worked_examples(shots),
        few_shot_ids=tuple(task.task_id for task, _ in shots),
    )


def _unique(pairs: Sequence[tuple[Task, Answer]], malformed: Sequence[Malformed]) -> Loaded:
    kept: dict[str, tuple[Task, Answer]] = {}
    reported = list(malformed)
    for task, answer in pairs:
        if task.task_id in kept:
            reported.append(Malformed(task.task_id, "its id was used by an earlier record"))
        else:
            kept[task.task_id] = (task, answer)
    return list(kept.values()), reported


def _worked_examples(shots: Sequence[tuple[Task, Answer]]) -> str:
    parts: list[str] = []
    for task, answer in shots:
        if answer.reference is None:
            raise UsageError(
                f"--selfheal-few-shot: {task.task_id} has no reference solution to show; this suite has no few-shot examples."
            )
        before = task.files[task.path].decode("utf-8", "replace").strip()
        parts.append(f"Worked example {len(parts) + 1}. Before:\n{before}\nAfter:\n{answer.reference.strip()}\n")
    return "\n".join(parts)


def replace_tests(task: Task, tests: dict[str, bytes], *notes: str) -> Task:
    return replace(task, tests=tests, notes=(*task.notes, *notes))
