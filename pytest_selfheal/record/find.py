"""Where runs are: in a folder, its parents, then below it; the newest wins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record.patch import IGNORABLE

_DEPTH = 4


def find_base(start: Path) -> Path | None:
    """The folder of all runs that holds the newest run; ``None`` where there is none.

    ``start`` may itself be such a folder (``--selfheal-dir``).
    """
    bases = list(dict.fromkeys(base.resolve() for base in _candidates(start.resolve())))
    return max(bases, key=lambda base: max(run.name for run in runs(base)), default=None)


def _candidates(start: Path) -> Iterable[Path]:
    for folder in (start, *(parent / ".selfheal" for parent in (start, *start.parents))):
        if runs(folder):
            yield folder
    for here, folders, _files in os.walk(start):
        depth = len(Path(here).relative_to(start).parts)
        if ".selfheal" in folders and runs(Path(here, ".selfheal")):
            yield Path(here, ".selfheal")
        folders[:] = (
            [name for name in folders if name not in IGNORABLE and not name.startswith(".")] if depth < _DEPTH else []
        )


def runs(base: Path) -> list[Path]:
    """Folders of the runs below ``base``, oldest first."""
    try:
        return sorted(
            folder
            for folder in (base / "runs").iterdir()
            if (folder / "trace.jsonl").exists() or (folder / "report.json").exists()
        )
    except OSError:
        return []


def find_run(start: Path) -> Path:
    """Folder of the newest run that is to be found from ``start``. Raises :class:`RecordError` without one."""
    base = find_base(start)
    if base is None:
        raise RecordError(
            f"no run was found in {start}, above or below it: run 'pytest --selfheal' first, or name the folder with -C."
        )
    return runs(base)[-1]
