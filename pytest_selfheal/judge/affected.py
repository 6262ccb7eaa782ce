"""Which tests a change can affect: the static import closure bounds them."""

from __future__ import annotations

import ast
import re
import threading
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pytest_selfheal.judge.verify import Affected
from pytest_selfheal.project import Project

_DYNAMIC = re.compile(
    rb"\b(?:subprocess|runpy|pytester|testdir|os\.system|os\.exec|multiprocessing|__import__|import_module|"
    rb"spec_from_file_location|entry_points|getsource|open\(__file__)\b"
)
"""A test file with one of these may reach code that it does not import."""


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
        self.dynamic: set[str] = set()
        for name in self.files:
            self._read(name)

    def _read(self, name: str) -> None:
        try:
            source = (self.top / name).read_bytes()
            tree = ast.parse(source)
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

    def closure(self, changed: Iterable[str]) -> set[str]:
        """The changed files and all that import them, directly or not."""
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


def _module_names(name: str) -> Iterable[str]:
    """Every dotted name under which a file may be imported: its path from any of its parents."""
    path = PurePosixPath(name)
    parts = path.parts[:-1] if path.name == "__init__.py" else (*path.parts[:-1], path.stem)
    for start in range(len(parts)):
        yield ".".join(parts[start:])


class AffectedTests:
    """Answers for one run; the import map is read once, when first asked."""

    def __init__(self, project: Project, top: Path) -> None:
        self.project = project
        self.top = top
        self._map: ImportMap | None = None
        self._lock = threading.Lock()

    def of(self, changed: Iterable[str], failing: Iterable[str]) -> Affected:
        """Passing, skipped and xfailed tests of the first run that may execute a changed file (relative to top)."""
        changed, failing = tuple(changed), frozenset(failing)
        with self._lock:
            if self._map is None:
                self._map = ImportMap(self.top, [p.relative_to(self.top).as_posix() for p in self.top.rglob("*.py")])
        closure = self._map.closure(changed)
        files = closure | self._map.dynamic
        nodeids = [
            nodeid
            for nodeid, outcome in self.project.outcomes.items()
            if outcome in ("passed", "xfailed", "xpassed", "skipped")
            and nodeid not in failing
            and self._file_of(nodeid, files)
        ]
        names = ", ".join(changed)
        return Affected(nodeids, f"import closure of {names}: {len(nodeids)} tests")

    def _file_of(self, nodeid: str, files: set[str]) -> bool:
        path = self.project.from_top(nodeid.partition("::")[0])
        return path in files or not path.endswith(".py")
