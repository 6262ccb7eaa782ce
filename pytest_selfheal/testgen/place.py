"""Where generated tests go and how they import: what the project's own tests do, as far as they agree."""

from __future__ import annotations

import ast
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pytest_selfheal import parsing
from pytest_selfheal.project import Project
from pytest_selfheal.testgen.job import Name


class Places:
    """Chooses file names for one run; none is given twice. Paths are relative to top."""

    def __init__(self, project: Project, top: Path, files: Iterable[str]) -> None:
        self._project = project
        self._top = top
        self._lock = threading.Lock()
        self._taken = set(files)
        self._tests = [f for f in self._taken if f.endswith(".py") and project.is_test_file(f) and _is_test_name(f)]
        self._imports = _imported_names(top, self._tests)
        self._suffix = sum(PurePosixPath(f).stem.endswith("_test") for f in self._tests) > len(self._tests) / 2

    def file_for(self, path: str, near: str = "") -> str:
        """A new test file for the code in ``path``; ``near`` is a test file that tests it already."""
        stem = PurePosixPath(path).stem
        if stem in ("__init__", "__main__"):
            stem = PurePosixPath(path).parent.name or "package"
        folder = PurePosixPath(near).parent if near and _is_test_name(near) else self._folder(path)
        plain = f"{stem}_test.py" if self._suffix else f"test_{stem}.py"
        healed = f"{stem}_selfheal_test.py" if self._suffix else f"test_{stem}_selfheal.py"
        numbered = (healed.replace("selfheal", f"selfheal_{n}") for n in range(2, 1000))
        for name in (*([] if near else [plain]), healed, *numbered):
            wanted = (folder / name).as_posix()
            # Without __init__.py, pytest wants the names of test files to differ even between folders.
            with self._lock:
                if not any(PurePosixPath(other).name == name for other in self._taken):
                    self._taken.add(wanted)
                    return wanted
        raise AssertionError("a thousand generated files for one module")

    def near(self, path: str) -> str:
        """An existing test file of the code in ``path``: by name, else by what it imports; empty when unsure."""
        stem = PurePosixPath(path).stem
        named = [f for f in self._tests if PurePosixPath(f).stem in (f"test_{stem}", f"{stem}_test")]
        return sorted(named)[0] if named else ""

    def _folder(self, path: str) -> PurePosixPath:
        """The mirror of the code's folder below the tests' folder where there is one, else where most tests are."""
        if not self._tests:
            base = PurePosixPath(self._project.prefix or ".")
            return base / "tests" if (self._top / base / "tests").is_dir() else base
        inner = [part for part in PurePosixPath(path).parent.parts if part not in ("src", "lib")]
        folders = Counter(PurePosixPath(f).parent for f in self._tests)
        for length in range(len(inner), 0, -1):
            ending = tuple(inner[-length:])
            mirrors = [f for f in folders if f.parts[-length:] == ending]
            if mirrors:
                return mirrors[0]
        return folders.most_common(1)[0][0]

    def imported_as(self, name: Name) -> Name:
        """The module from which the project's tests import a name, where they do; else ``name`` itself."""
        module, attribute = name
        if not attribute:
            return name
        ways = self._imports.get(attribute, Counter())
        package = module.partition(".")[0]
        for way, _ in ways.most_common():
            if way.partition(".")[0] == package and module.startswith(way):
                return way, attribute
        return name


def _is_test_name(path: str) -> bool:
    stem = PurePosixPath(path).stem
    return stem.startswith("test_") or stem.endswith("_test")


def _imported_names(top: Path, tests: Iterable[str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for test in tests:
        try:
            tree = parsing.parse((top / test).read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if alias.asname is None:
                        found.setdefault(alias.name, Counter())[node.module] += 1
    return found
