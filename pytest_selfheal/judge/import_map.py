"""Who imports whom among a project's Python files, read off their source; nothing is imported."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath

from pytest_selfheal import parsing

_DYNAMIC = re.compile(
    rb"\b(?:subprocess|runpy|pytester|testdir|os\.system|os\.exec|multiprocessing|__import__|import_module|pkgutil|"
    rb"spec_from_file_location|entry_points|getsource|open\(__file__)\b"
)
"""A file with one of these may reach code that it does not import."""


class ImportMap:
    """Who imports whom among the Python files of a tree. Files are paths relative to ``top``."""

    def __init__(self, top: Path, files: Iterable[str]) -> None:
        self.top = top
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
    def of(cls, top: Path) -> ImportMap:
        """The map of all Python files below ``top``."""
        return cls(top, [path.relative_to(top).as_posix() for path in sorted(top.rglob("*.py"))])

    def _read(self, name: str) -> None:
        try:
            source = (self.top / name).read_bytes()
            tree = parsing.parse(source)
        except (OSError, SyntaxError, ValueError, RecursionError):
            self.dynamic.add(name)  # unreadable: it might import anything
            return
        if _DYNAMIC.search(source):
            self.dynamic.add(name)
        package = PurePosixPath(name).parent.parts
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._link(name, alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package[: len(package) - node.level + 1]
                    base = ".".join((*above, *([base] if base else [])))
                self._link(name, base)
                for alias in node.names:
                    self._link(name, f"{base}.{alias.name}")

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
