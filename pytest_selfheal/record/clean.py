"""``selfheal clean``: old runs go, unless somebody still needs them."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_selfheal.record.find import runs
from pytest_selfheal.record.journal import entries
from pytest_selfheal.record.run_dir import exclusive, is_active


def clean(base: Path, keep: int) -> tuple[int, list[str]]:
    """Remove all runs but the newest ``keep``; returns how many went, and why others stayed.

    A run that is still going on stays; so does one whose patches are applied, for it is what can undo them.
    """
    with exclusive(base, "clean"):
        found = runs(base)
        old = found[: max(0, len(found) - keep)]
        journal = entries(base)
        applied = {entry.run for entry in journal if entry.state != "undone"}
        active = [run for run in old if is_active(run)]
        needed = [run for run in old if run.name in applied and run not in active]
        for run in old:
            if run not in active and run not in needed:
                shutil.rmtree(run)
        left = runs(base)
        latest = base / "latest"
        if latest.is_symlink() and not latest.exists():
            latest.unlink()
        elif latest.is_dir() and not latest.is_symlink() and not left:
            shutil.rmtree(latest)
        for entry in journal:
            if entry.state == "undone":
                entry.file.unlink(missing_ok=True)
    kept = [f"{len(active)} still running"] if active else []
    kept += [f"{len(needed)} with patches that are applied"] if needed else []
    kept += [f"the newest {min(keep, len(found))}"] if keep and found else []
    return len(old) - len(active) - len(needed), kept
