"""What a benchmark task is, split in two: the :class:`Task` that a healer gets, and the :class:`Answer` that it never sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Visible = Literal["tests", "examples", "none"]


@dataclass(frozen=True)
class Task:
    """What the healer's project is made of."""

    task_id: str
    entry_point: str
    """Name of the function (or script) under repair."""
    path: str
    """The file under repair, relative to the project."""
    files: Mapping[str, bytes]
    """The project without its tests: path → content."""
    tests: Mapping[str, bytes]
    """Visible tests; empty when there is none to show, and then there is nothing to heal."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know (a broken example test, say)."""

    def project(self) -> dict[str, bytes]:
        return {**self.files, **self.tests}


@dataclass(frozen=True)
class Answer:
    """What only the scorer sees."""

    kind: Literal["asserts", "pytest", "script"]
    tests: str = ""
    """``asserts``: source that runs in the module's namespace and raises when the module is wrong."""
    setup: str = ""
    """``asserts``: runs after the module and before the tests."""
    reference: str | None = None
    """Source of a right module; ``None`` when there is none: then no equivalence is measured."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """``pytest``: test files laid over the healed project. ``script``: data files."""
    targets: tuple[str, ...] = ()
    """``pytest``: the test files among ``files`` to run."""
    expected: bytes | None = None
    """``script``: its right output; ``None``: nobody knows, the critic judges."""
    calls: tuple[str, ...] = ()
    """JSON lists of arguments that the tests use, where the suite has them apart from the tests."""


@dataclass(frozen=True)
class Malformed:
    """A record that cannot be used, or not wholly."""

    task_id: str
    reason: str
    dropped: bool = True
    """False: the task runs all the same, without the broken part."""


@dataclass(frozen=True)
class Suite:
    """All tasks of a benchmark, in the order of its data."""

    name: str
    tasks: tuple[Task, ...]
    answers: Mapping[str, Answer]
    data_sha256: str
    origin: str
    """Path or address that the data came from."""
    malformed: tuple[Malformed, ...] = ()
    few_shot: str = ""
    """Worked examples for the model's prompt; their tasks are not among ``tasks``."""
    few_shot_ids: tuple[str, ...] = ()
