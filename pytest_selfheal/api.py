"""Healing from Python: notebooks, scripts, the benchmark mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.errors import UsageError
from pytest_selfheal.healing import heal_run
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project, import_roots
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import RunReport

INI_FILES = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def heal(
    paths: Iterable[str | os.PathLike[str]] = (),
    settings: Settings | None = None,
    *,
    rootdir: str | os.PathLike[str] | None = None,
) -> RunReport:
    """Run the tests below ``paths`` (default: all of rootdir) in a child pytest, then heal what failed.

    Does what ``pytest --selfheal`` does, with the tests' first run in a copy of the project as well. ``rootdir``
    defaults to the current folder. Raises :class:`pytest_selfheal.errors.SelfhealError`.

    >>> from pytest_selfheal import Settings, heal
    >>> report = heal(["tests/test_cart.py"], Settings(effort="fast"))  # doctest: +SKIP
    >>> [outcome.patch_file for outcome in report.healed]  # doctest: +SKIP
    ['patches/0001-off-by-one.patch']
    """
    settings = settings or Settings(selfheal=True)
    root = Path(rootdir if rootdir is not None else Path.cwd()).resolve()
    if not root.is_dir():
        raise UsageError(f"rootdir {str(root)!r} is not a folder; give the folder that holds the project.")
    project = project_at(root)
    names = [_relative(Path(os.fspath(path)), root) for path in paths]
    with Workshop(project, settings) as workshop:
        targets = [str(workshop.pristine.seen_rootdir / name) for name in names] or [
            str(workshop.pristine.seen_rootdir)
        ]
        first = run_tests(workshop, workshop.pristine, None, arguments=targets)
    project = replace(project, outcomes=first.outcomes, durations=first.durations)
    return heal_run(first.failures, project, settings, exit_status=first.exit_status or 0)


def project_at(root: Path) -> Project:
    """The project whose rootdir is ``root``, for children that need no options of a user's pytest run."""
    from pytest_selfheal.record.patch import find_top

    top, git = find_top(root)
    return Project(
        rootdir=root,
        top=top,
        git=git,
        inipath=next((root / name for name in INI_FILES if (root / name).is_file()), None),
        invocation_dir=root,
        pytest_args=(),
        import_roots=import_roots(sys.path, Path.cwd(), top),
        python=sys.executable,
    )


def _relative(path: Path, root: Path) -> str:
    path = (root / path).resolve()
    if not path.exists():
        raise UsageError(f"{str(path)!r} does not exist; give files or folders of tests below rootdir.")
    if not path.is_relative_to(root):
        raise UsageError(f"{str(path)!r} is not below rootdir {str(root)!r}; give that folder's parent as rootdir.")
    return path.relative_to(root).as_posix()
