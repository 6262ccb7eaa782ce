"""Loads our own modules as they were installed. Importing this module, before any other of ours, is all it takes.

Pytest's import hook rewrites the assertions of every plugin, and so compiles its modules anew in each process that cannot
keep the bytecode: in images and CI, where nothing may or does write it. Ours assert nothing on a user's behalf, and what
the installation compiled serves. (A child imports its modules before there is such a hook: see ``judge/start.py``.)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_OURS = f"{__name__.partition('.')[0]}."


class AsInstalled:
    """Finds modules of this package, and no others."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_OURS) else None


sys.meta_path.insert(0, AsInstalled)
