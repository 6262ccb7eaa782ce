"""Paths: a patch stays inside the project, follows no symlink, and adds no file that Python or pytest would pick up by its name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path, PurePosixPath

from pytest_selfheal.guard.facts import Facts
from pytest_selfheal.types import FileChange

_PICKED_UP = frozenset(
    ("sitecustomize", "usercustomize", "conftest", "pytest", "_pytest", "pluggy", "unittest", "mock")
)
_CODE_OUTSIDE_SOURCE = frozenset(
    (".pth", ".egg-link", ".so", ".pyd", ".dll", ".dylib", ".pyc", ".pyo", ".sh", ".bat", ".exe")
)
_INSTALLED = (".dist-info", ".egg-info", ".data")


def check(facts: Facts) -> str | None:
    if not facts.patch.changes:
        return "the patch changes nothing"
    for change in facts.patch.changes:
        reason = _outside(facts, change.path) or _disguised(facts, change)
        if reason:
            return reason
    return None


def _outside(facts: Facts, path: str) -> str | None:
    pure = PurePosixPath(path)
    if not path or "\0" in path or "\\" in path or pure.is_absolute() or ".." in pure.parts or ":" in pure.parts[0]:
        return f"{path!r} is not a plain path inside the project"
    if any(part.lower() == ".git" for part in pure.parts):
        return f"{path} belongs to git"
    if facts.root is None:
        return None
    root = facts.root.resolve()
    folder = facts.root
    for part in pure.parts:
        folder = folder / part
        if folder.is_symlink():
            return f"{path} leads through a symbolic link"
    return None if folder.resolve().is_relative_to(root) else f"{path} leads out of the project"


def _disguised(facts: Facts, change: FileChange) -> str | None:
    pure = PurePosixPath(change.path)
    if pure.suffix.lower() in _CODE_OUTSIDE_SOURCE:
        return f"{change.path} is run or loaded without being source code that can be reviewed"
    if any(part.endswith(_INSTALLED) for part in pure.parts):
        return f"{change.path} would change what is installed"
    if change.before is not None or change.after is None:
        return None
    name = pure.parent.name if pure.stem == "__init__" else pure.stem
    if name in _PICKED_UP:
        return f"a new {change.path} would be picked up by Python or pytest itself"
    if facts.root is None or pure.suffix != ".py":
        return None
    holder = facts.root / (pure.parent.parent if pure.stem == "__init__" else pure.parent)
    if _sibling(holder, name, is_package=pure.stem == "__init__"):
        return f"a new {change.path} would hide the module {name} that is there already"
    if not (holder / "__init__.py").exists() and _exists_elsewhere(name, facts.root):
        return f"a new {change.path} would hide the installed module {name}"
    return None


def _sibling(holder: Path, name: str, is_package: bool) -> bool:
    return (holder / f"{name}.py").exists() if is_package else (holder / name / "__init__.py").exists()


def _exists_elsewhere(name: str, root: Path) -> bool:
    if name in sys.stdlib_module_names:
        return True
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None and (spec.origin is None or not Path(spec.origin).is_relative_to(root))
