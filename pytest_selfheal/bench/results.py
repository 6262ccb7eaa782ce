"""Results on disk: a line per task as it finishes, the whole file beside it, and reading both back."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from pytest_selfheal.bench import figures
from pytest_selfheal.bench.line import Line
from pytest_selfheal.errors import RecordError

REWRITE_SECONDS = 5.0
"""How old the whole file may be while tasks finish; the lines are never behind."""


@dataclass(frozen=True)
class Results:
    """One benchmark run, or several merged ones of the same kind."""

    metadata: Mapping[str, Any]
    models: Mapping[str, Any]
    lines: tuple[Line, ...]
    path: str = ""
    problems: tuple[str, ...] = ()
    """What could not be read, or does not fit together, in words."""

    @property
    def name(self) -> str:
        """A short name for tables and plots."""
        model = str(self.models.get("coder", "?"))
        critic = self.models.get("critic")
        extra = [f"critic {critic}"] if critic else []
        extra += ["model alone"] if self.models.get("strategy") == "model" else []
        extra += [f"{self.metadata['visible']} visible"] if self.metadata.get("visible", "tests") != "tests" else []
        return model + (f" ({', '.join(extra)})" if extra else "")

    @property
    def benchmark(self) -> str:
        return str(self.metadata.get("benchmark", "?"))

    def to_json(self) -> dict[str, Any]:
        return {
            "benchmark_run_metadata": dict(self.metadata),
            "models_metadata": dict(self.models),
            "problems_results": [line.to_json() for line in self.lines],
            "benchmark_summary": figures.summarise(self.lines, int(self.metadata.get("num_problems", 0))),
        }


@dataclass
class Writer:
    """Appends each finished task at once; a crash or Ctrl-C loses nothing that was finished."""

    folder: Path
    metadata: Mapping[str, Any]
    models: Mapping[str, Any]
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        model = re.sub(r"[^A-Za-z0-9._]+", "-", str(self.models["coder"])).strip("-")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.path, self._stream = _create(self.folder, f"{self.metadata['benchmark']}-{model}-{stamp}")
        except OSError as error:
            raise RecordError(
                f"--selfheal-bench-output: cannot write to {self.folder} ({error.strerror}); give another folder."
            ) from None
        self._written = 0.0
        self._whole()

    def add(self, line: Line) -> None:
        """Write one finished task down."""
        self.lines.append(line)
        self._append(line.to_json())
        if time.monotonic() - self._written > REWRITE_SECONDS:
            self._whole()

    def close(self) -> Path:
        """Write the metric line and the whole file; the path of the latter."""
        if not self._stream.closed:
            passed = sum(line.is_complete for line in self.lines)
            total = len(self.lines)
            value = passed / total if total else 0.0
            self._append({"metric": "pass@1", "num": total, "successes": passed, "value": value})
            self._stream.close()
            self._whole()
        return self.path

    def _append(self, data: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(data) + "\n")
        self._stream.flush()

    def _whole(self) -> None:
        results = Results(self.metadata, self.models, in_order(self.lines))
        scratch = self.path.with_suffix(f".{os.getpid()}.tmp")
        scratch.write_text(json.dumps(results.to_json(), indent=1) + "\n", encoding="utf-8")
        scratch.replace(self.path)
        self._written = time.monotonic()


def _create(folder: Path, name: str) -> tuple[Path, TextIO]:
    """Both files under a name that no other run has; two runs may start in the same second."""
    number = 1
    while True:
        stem = name if number == 1 else f"{name}-{number}"
        try:
            return folder / f"{stem}.json", (folder / f"{stem}.jsonl").open("x", encoding="utf-8")
        except FileExistsError:
            number += 1


def in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    """By run, then by task in natural order (``Python/2`` before ``Python/10``)."""
    return tuple(sorted(lines, key=lambda line: (line.run, natural(line.task_id))))


def natural(text: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text)]


def read(path: Path) -> Results:
    """A results file: ``.json``, or the ``.jsonl`` of a run that did not come to its end.

    Raises :class:`RecordError` when it is neither.
    """
    twin = path.with_suffix(".jsonl")
    try:
        if path.suffix == ".jsonl":
            whole = _json(path.with_suffix(".json")) if path.with_suffix(".json").is_file() else {}
        else:
            whole = _json(path)
    except OSError as error:
        raise RecordError(
            f"cannot read {path}: {error.strerror}; give a file that a benchmark run has written."
        ) from None
    lines: dict[tuple[str, int], Line] = {}
    problems: list[str] = []
    for data in whole.get("problems_results", []):
        _take(data, lines, problems, path)
    if twin.is_file():
        for number, text in enumerate(twin.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            try:
                data = json.loads(text)
            except ValueError:
                problems.append(f"{twin.name} line {number} is cut off and was left out")
                continue
            if "metric" not in data:
                _take(data, lines, problems, twin)
    if not lines and not whole:
        raise RecordError(f"{path} holds no benchmark results; give a file that a benchmark run has written.")
    metadata = whole.get("benchmark_run_metadata") or {"benchmark": path.stem.partition("-")[0], "num_problems": 0}
    models = whole.get("models_metadata") or {"coder": "unknown"}
    return Results(metadata, models, in_order(lines.values()), str(path), tuple(problems))


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise RecordError(f"{path} is not JSON; give a file that a benchmark run has written.") from None
    if not isinstance(data, dict) or "problems_results" not in data:
        raise RecordError(f"{path} holds no benchmark results; give a file that a benchmark run has written.")
    return data


def _take(data: Any, lines: dict[tuple[str, int], Line], problems: list[str], path: Path) -> None:
    try:
        line = Line.from_json(data)
    except (ValueError, TypeError, AttributeError) as error:
        problems.append(f"{path.name}: {error}; left out")
        return
    lines[line.task_id, line.run] = line


def merge(parts: Sequence[Results]) -> list[Results]:
    """Runs of the same configuration as one, so that machines can share a suite.

    Two files with the same task and run number are repeats of each other: the later one's runs are numbered on.
    Files of different data are never merged.
    """
    groups: dict[str, list[Results]] = {}
    for part in parts:
        meta = part.metadata
        key = json.dumps([part.benchmark, meta.get("data_sha256"), meta.get("visible"), part.models], sort_keys=True)
        groups.setdefault(key, []).append(part)
    return [_merge_same(group) for group in groups.values()]


def _merge_same(group: list[Results]) -> Results:
    if len(group) == 1:
        return group[0]
    lines: dict[tuple[str, int], Line] = {}
    for part in group:
        # One offset for the whole file, so that its runs stay runs.
        offset = 0
        while any((line.task_id, line.run + offset) in lines for line in part.lines):
            offset += 1
        for line in part.lines:
            number = line.run + offset
            lines[line.task_id, number] = Line.from_json({**line.to_json(), "run": number})
    problems = tuple(problem for part in group for problem in part.problems)
    runs = max((run for _, run in lines), default=1)
    tasks = {task for task, _ in lines}
    metadata = {**group[0].metadata, "runs": runs, "num_problems": len(tasks)}
    paths = ", ".join(part.path for part in group)
    return Results(metadata, group[0].models, in_order(lines.values()), paths, problems)
