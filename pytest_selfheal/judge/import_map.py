"""Who imports whom among a project's Python files, read off their source; nothing is imported."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest_selfheal
from pytest_selfheal import parsing

FORMAT = f"{pytest_selfheal.__version__} {sys.version_info.major}.{sys.version_info.minor}"
"""What parses depends on the version of Python."""

_DYNAMIC = re.compile(
    rb"\b(?:subprocess|runpy|pytester|testdir|os\.system|os\.exec|multiprocessing|__import__|import_module|pkgutil|"
    rb"spec_from_file_location|entry_points|getsource|open\(__file__)\b"
)
"""A file with one of these may reach code that it does not import."""


class Imported(NamedTuple):
    """What the source of one file says, wherever it lies."""

    dynamic: bool
    """It may reach any other file."""
    names: tuple[tuple[int, str], ...]
    """Level of the import (0: absolute) and dotted name; of ``from a import b`` both ``a`` and ``a.b``."""


class Known:
    """What was read off sources, by their digests: an earlier run's, and this one's for the next."""

    def __init__(self, store: Path | None = None) -> None:
        self._store = store
        self._of_earlier = _load(store)
        self._of_this: dict[str, Imported] = {}

    def of(self, source: bytes) -> Imported:
        """What a file with this source imports."""
        digest = hashlib.sha256(source).hexdigest()
        found = self._of_this[digest] = self._of_earlier.get(digest) or read(source)
        return found

    def save(self) -> None:
        """Write it for the next run, without what no file says any more. What cannot be written is read again."""
        from pytest_selfheal.record.run_dir import replace_file

        if self._store is None or self._of_this == self._of_earlier:
            return
        data = {"format": FORMAT, "files": self._of_this}
        with contextlib.suppress(OSError):
            self._store.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._store, json.dumps(data, separators=(",", ":")).encode("ascii"))


def _load(store: Path | None) -> dict[str, Imported]:
    if store is None:
        return {}
    try:
        data = json.loads(store.read_text("ascii"))
        if data["format"] != FORMAT:
            return {}
        return {
            str(digest): Imported(bool(dynamic), tuple((int(level), str(name)) for level, name in names))
            for digest, (dynamic, names) in data["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}  # none yet, of another version, or damaged


def read(source: bytes) -> Imported:
    """What a source imports. One that cannot be parsed might import anything."""
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Imported(True, ())
    names: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(((0, alias.name), None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names[node.level, base] = None
            names.update(((node.level, f"{base}.{alias.name}" if base else alias.name), None) for alias in node.names)
    return Imported(_DYNAMIC.search(source) is not None, tuple(names))


class ImportMap:
    """Who imports whom among the Python files of a tree. Files are paths relative to ``top``."""

    def __init__(self, top: Path, files: Iterable[str], known: Known | None = None) -> None:
        self.top = top
        self._known = known or Known()
        self.files = tuple(name for name in files if name.endswith(".py"))
        self._by_module: dict[str, list[str]] = defaultdict(list)
        for name in self.files:
            for module in _module_names(name):
                self._by_module[module].append(name)
        self.importers: dict[str, set[str]] = defaultdict(set)
        self.imports: dict[str, set[str]] = defaultdict(set)
        self.dynamic: set[str] = set()
        """Files that may reach any other: by a name computed at run time, or in another process."""
        for name in self.files:
            self._read(name)

    @classmethod
    def of(cls, top: Path, known: Known | None = None) -> ImportMap:
        """The map of all Python files below ``top``."""
        return cls(top, [path.relative_to(top).as_posix() for path in sorted(top.rglob("*.py"))], known)

    def _read(self, name: str) -> None:
        try:
            found = self._known.of((self.top / name).read_bytes())
        except OSError:
            found = Imported(True, ())
        if found.dynamic:
            self.dynamic.add(name)
        package = PurePosixPath(name).parent.parts
        for level, module in found.names:
            above = package[: len(package) - level + 1] if level else ()
            self._link(name, ".".join((*above, *([module] if module else []))))

    def _link(self, importer: str, module: str) -> None:
        # `import a.b.c` runs a and a.b as well.
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            for target in self._by_module.get(".".join(parts[:end]), ()):
                if target != importer:
                    self.importers[target].add(importer)
                    self.imports[importer].add(target)

    def closure(self, changed: Iterable[str]) -> set[str]:
        """The changed files, all that import them, directly or not, and what a conftest among these serves."""
        found: set[str] = set()
        queue = list(changed)
        while queue:
            name = queue.pop()
            if name in found:
                continue
            found.add(name)
            queue += self.importers.get(name, ())
            if PurePosixPath(name).name == "conftest.py":
                folder = str(PurePosixPath(name).parent)
                queue += [other for other in self.files if folder == "." or other.startswith(folder + "/")]
        return found

    def needs(self, name: str) -> frozenset[str]:
        """A test file, the conftests above it, and all that these import, directly or not."""
        found: set[str] = set()
        folders = {str(folder) for folder in PurePosixPath(name).parents}
        queue = [name, *(f for f in self._conftests if str(PurePosixPath(f).parent) in folders)]
        while queue:
            current = queue.pop()
            if current not in found:
                found.add(current)
                queue += self.imports.get(current, ())
        return frozenset(found)

    @cached_property
    def _conftests(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if PurePosixPath(name).name == "conftest.py")

    def reach(self, changed: Iterable[str]) -> set[str]:
        """:meth:`closure`, widened to what uses a file that may reach any other."""
        return self.closure([*changed, *self.dynamic])


def _module_names(name: str) -> Iterable[str]:
    """Every dotted name under which a file may be imported: its path from any of its parents."""
    path = PurePosixPath(name)
    parts = path.parts[:-1] if path.name == "__init__.py" else (*path.parts[:-1], path.stem)
    for start in range(len(parts)):
        yield ".".join(parts[start:])
