"""Records of a JSON Lines file, each with what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_selfheal.bench.task import Malformed
from pytest_selfheal.errors import UsageError


def read(path: Path, texts: Sequence[str], suite: str) -> Iterator[Mapping[str, Any] | Malformed]:
    """Each line's record, or why it is unusable. ``texts`` names the fields that must hold text.

    ``path`` is a ``.jsonl`` file, or a folder with exactly one.
    """
    if path.is_dir():
        found = sorted(path.glob("*.jsonl"))
        if len(found) != 1:
            raise UsageError(
                f"--selfheal-bench-data: {path} holds {len(found)} .jsonl files; name the one with the tasks of {suite}."
            )
        path = found[0]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--selfheal-bench-data: cannot read {path} ({error}); give a UTF-8 JSON Lines file."
        ) from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _record(line, number, texts)


def _record(line: str, number: int, texts: Sequence[str]) -> Mapping[str, Any] | Malformed:
    place = f"line {number}"
    try:
        record = json.loads(line)
    except ValueError as error:
        return Malformed(place, f"not JSON ({error})")
    if not isinstance(record, dict):
        return Malformed(place, "not a JSON object")
    task_id = str(record.get("task_id", place))
    wrong = [name for name in texts if not isinstance(record.get(name), str)]
    if wrong:
        return Malformed(task_id, f"field {', '.join(wrong)} missing or not text")
    return record
