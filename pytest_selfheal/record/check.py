"""``selfheal check``: what works on this machine, in lines that begin with ``ok``, ``note`` or ``problem``."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
from pathlib import Path

from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.record import git
from pytest_selfheal.record.ini import read_settings
from pytest_selfheal.record.patch import find_top


def findings(folder: Path, model: str | None = None, api_base: str | None = None) -> list[str]:
    """Look at Python, pytest, git, the sandbox, where runs are kept, and the model. Sends no source code anywhere."""
    import pytest

    from pytest_selfheal import __version__

    folder = folder.resolve()
    lines = [f"ok: pytest-selfheal {__version__}, Python {platform.python_version()}, pytest {pytest.__version__}"]
    try:
        settings = read_settings(folder, selfheal_model=model, selfheal_api_base=api_base)
    except SelfhealError as error:
        return [*lines, f"problem: {error}"]
    lines += [_git(folder), *_sandbox(), _writable(settings.run_dir(folder)), *_timeouts()]
    if settings.model == "builtin" and settings.critic is None:
        return [*lines, "ok: model builtin: the embedded engine, no network and no key needed"]
    try:
        from pytest_selfheal.propose.model import check_model

        return [*lines, *check_model(settings)]
    except (SelfhealError, ImportError) as error:
        return [*lines, f"problem: {error}"]


def _git(folder: Path) -> str:
    if not git.available():
        return "note: git is not installed: all files count as the project's, and patches are applied by our own reader"
    try:
        version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.split()[-1]
    except (OSError, IndexError):
        version = "of an unknown version"
    top, inside = find_top(folder)
    return (
        f"ok: git {version}, repository {top}" if inside else f"note: git {version}, but {folder} is in no repository"
    )


def _sandbox() -> list[str]:
    from pytest_selfheal.judge.sandbox import find_bwrap

    sandbox, why = find_bwrap()
    if sandbox is not None:
        return ["ok: sandbox bwrap: no network but loopback, the rest of the system read-only"]
    return [f"note: sandbox process: {why}; proposed code runs with resource limits only, under your user's rights"]


def _writable(base: Path) -> str:
    place = next(path for path in (base, *base.parents) if path.exists())
    if place.is_dir() and os.access(place, os.W_OK):
        return f"ok: runs are kept in {base}"
    return f"problem: {base} cannot be written; give --selfheal-dir another folder"


def _timeouts() -> list[str]:
    if importlib.util.find_spec("pytest_timeout") is None:
        return ["note: pytest-timeout is not installed, so that an endless loop cannot become a failure"]
    return []
