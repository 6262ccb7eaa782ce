"""Small stand-ins for what a pytest run would tell about a project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings


def project_at(folder: Path, **facts: Any) -> Project:
    """The project in ``folder``: no git, configured by its pytest.ini."""
    root = folder.resolve()
    defaults: dict[str, Any] = {
        "rootdir": root,
        "top": root,
        "git": False,
        "inipath": root / "pytest.ini" if (root / "pytest.ini").exists() else None,
        "invocation_dir": root,
        "pytest_args": (),
        "import_roots": (),
        "python": sys.executable,
    }
    return Project(**{**defaults, **facts})


@contextmanager
def workshop_at(folder: Path, settings: Settings | None = None, **facts: Any) -> Iterator[Workshop]:
    with Workshop(project_at(folder, **facts), settings or Settings(sandbox="process", effort="fast")) as workshop:
        yield workshop
