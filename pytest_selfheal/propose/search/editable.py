"""Which files of a copy the search may change: Python sources that the guard against protected files would let pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_selfheal.guard.protected import ALWAYS, matches
from pytest_selfheal.settings import Settings

SKIPPED = frozenset((".tox", ".nox", "venv", "node_modules", "__pycache__", "build", "dist", "site-packages"))
MAX_FILES = 20_000


def editable_files(top: Path, prefix: str, settings: Settings) -> tuple[str, ...]:
    """POSIX paths relative to ``top``. ``prefix`` leads from top to rootdir, which the user's globs are relative to."""
    found: list[str] = []
    for path in _python_files(top):
        here = path.removeprefix(f"{prefix}/") if prefix else path
        if any(matches(path, glob) for glob in ALWAYS) or any(matches(here, glob) for glob in settings.protect):
            continue
        if settings.allow and not any(matches(here, glob, anchored=True) for glob in settings.allow):
            continue
        found.append(path)
        if len(found) >= MAX_FILES:
            break
    return tuple(found)


def _python_files(top: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(names):
            if name.endswith(".py"):
                yield Path(folder, name).relative_to(top).as_posix()
