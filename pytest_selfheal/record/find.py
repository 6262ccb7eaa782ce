"""Where runs are: in a folder, its parents, then below it; the newest wins."""

from __future__ import annotations

import os
import time
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
    return max(bases, key=lambda base: _age(runs(base)[-1]), default=None)


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
        found = [
            folder
            for folder in (base / "runs").iterdir()
            if (folder / "trace.jsonl").exists() or (folder / "report.json").exists()
        ]
    except OSError:
        return []
    return sorted(found, key=_age)


def _age(run: Path) -> tuple[bool, str, int, str]:
    """Sorts runs by age. One with a date to come was made before somebody set the clock back: older than today's.

    Names tell seconds; of runs of one second the one that wrote its trace last is the newest.
    """
    try:
        written = (run / "trace.jsonl").stat().st_mtime_ns
    except OSError:
        written = 0
    second, _, _ = run.name.partition("-")
    return run.name <= time.strftime("%Y%m%dT%H%M%S~", time.gmtime()), second, written, run.name


def find_run(start: Path) -> Path:
    """Folder of the newest run that is to be found from ``start``. Raises :class:`RecordError` without one."""
    base = find_base(start)
    if base is None:
        raise RecordError(
            f"no run was found in {start}, above or below it: run 'pytest --selfheal' first, or name the folder with -C."
        )
    return runs(base)[-1]
