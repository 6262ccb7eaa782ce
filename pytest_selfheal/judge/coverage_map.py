"""Which test executes which lines: measured in a child while others search for a repair, kept under ``.selfheal/``.

An entry stays valid for as long as every function that the test executed, and all that runs at import in the files that
its own file can import, are what they were when it was measured; other functions may change. So the map survives edits,
and only tests that the edits concern are measured again.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_selfheal.judge.import_map import ImportMap
from pytest_selfheal.judge.outline import Outline, digest_of, outline

FORMAT = 2
Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Executed:
    """What one test executed."""

    lines: Lines
    """Path (relative to top) → 1-based lines, as the file was when it was measured."""
    blocks: Mapping[str, Mapping[str, str]]
    """Path → function → digest of its body then."""
    versions: Mapping[str, str]
    """Path → digest of the whole file then; where it is another now, line numbers say nothing, functions do."""
    own: str
    """The test's file."""
    surroundings: str
    """Digest of the test's file and of the import-time code of all that it can import."""
    opaque: bool = False
    """It starts processes."""
    reads: Mapping[str, str] = field(default_factory=dict)
    """Source files that it reads → digest then."""

    def is_as_measured(self, path: str, digest: str) -> bool:
        return self.versions.get(path) == digest


class Files:
    """Outlines and digests of a tree's files, each read once."""

    def __init__(self, top: Path, imports: ImportMap) -> None:
        self.top = top
        self.imports = imports
        self._surroundings: dict[str, str] = {}
        self._outlines: dict[str, Outline | None] = {}
        self._digests: dict[str, str] = {}

    def outline(self, path: str) -> Outline | None:
        if path not in self._outlines:
            try:
                self._outlines[path] = outline((self.top / path).read_bytes())
            except OSError:
                self._outlines[path] = None
        return self._outlines[path]

    def digest(self, path: str) -> str:
        if path not in self._digests:
            try:
                self._digests[path] = digest_of((self.top / path).read_bytes())
            except OSError:
                self._digests[path] = ""
        return self._digests[path]

    def surroundings(self, own: str) -> str:
        """Digest of a test file and of the import-time code of all that it can import."""
        if own not in self._surroundings:
            seen = [self.digest(own)]
            for path in sorted(self.imports.needs(own)):
                found = self.outline(path)
                seen.append(f"{path} {found.digest if found is not None else ''}")
            self._surroundings[own] = digest_of("\n".join(seen).encode("utf-8", "surrogateescape"))
        return self._surroundings[own]


class CoverageMap:
    """The measured tests of one project, for the tree as it lies below ``top``. Safe to use from several threads."""

    def __init__(self, top: Path, store: Path, imports: ImportMap) -> None:
        self.files = Files(top, imports)
        self.store = store
        self._lock = threading.Lock()
        self._tests: dict[str, Executed] = {}
        self._fixtures: dict[str, dict[str, set[int]]] = {}
        self._at_import: dict[str, set[str]] = {}
        self._changed = False
        self._load()

    def get(self, nodeid: str) -> Executed | None:
        """What a test executes; ``None`` when it was not measured, or not as the code is now."""
        with self._lock:
            found = self._tests.get(nodeid)
        return found if found is not None and self._is_valid(found) else None

    def executed_at_import(self, path: str) -> frozenset[str]:
        """Functions of a file that ran outside of any test when it was measured."""
        with self._lock:
            return frozenset(self._at_import.get(path, ()))

    def _is_valid(self, entry: Executed) -> bool:
        for path, blocks in entry.blocks.items():
            now = self.files.outline(path)
            if now is None:
                return False
            digests = {block.name: block.digest for block in now.blocks}
            if any(digests.get(name) != digest for name, digest in blocks.items()):
                return False
        if any(self.files.digest(path) != digest for path, digest in entry.reads.items()):
            return False
        return entry.surroundings == self.files.surroundings(entry.own)

    # ------------------------------------------------------------------ measuring

    def add(self, message: Mapping[str, Any], test_file: Callable[[str], str]) -> None:
        """Take in one batch of :mod:`.coverage_child`. ``test_file``: nodeid → its file, relative to top."""
        with self._lock:
            for path, lines in message["import"].items():
                self._at_import.setdefault(path, set()).update(self._functions(path, set(lines)))
            for name, files in message["fixtures"].items():
                for path, lines in files.items():
                    self._fixtures.setdefault(name, {}).setdefault(path, set()).update(lines)
            for nodeid, about in message["tests"].items():
                lines = {path: set(found) for path, found in about["lines"].items()}
                for name in about["fixtures"]:
                    for path, found in self._fixtures.get(name, {}).items():
                        lines.setdefault(path, set()).update(found)
                self._tests[nodeid] = self._entry(test_file(nodeid), lines, about)
                self._changed = True

    def _entry(self, own: str, lines: Mapping[str, set[int]], about: Mapping[str, Any]) -> Executed:
        kept = {path: frozenset(executed) for path, executed in lines.items() if path != own}
        blocks = {path: ran for path, executed in kept.items() if (ran := self._functions(path, executed))}
        versions = {path: self.files.digest(path) for path in kept}
        reads = {path: self.files.digest(path) for path in about["reads"] if path != own}
        return Executed(kept, blocks, versions, own, self.files.surroundings(own), about["opaque"], reads)

    def _functions(self, path: str, lines: Set[int]) -> dict[str, str]:
        """Functions of which one of ``lines`` is part, with their digests."""
        found = self.files.outline(path)
        blocks = found.blocks if found is not None else ()
        return {b.name: b.digest for b in blocks if not lines.isdisjoint(range(b.first, b.last + 1))}

    # ------------------------------------------------------------------ keeping

    def save(self) -> None:
        """Write the map for the next run. What cannot be written is measured again."""
        from pytest_selfheal.record.run_dir import replace_file

        with self._lock:
            if not self._changed:
                return
            paths = sorted({path for entry in self._tests.values() for path in entry.lines})
            index = {path: number for number, path in enumerate(paths)}
            data = {
                "format": FORMAT,
                "paths": paths,
                "import": {path: sorted(names) for path, names in self._at_import.items()},
                "tests": {
                    nodeid: {
                        "lines": {str(index[path]): _ranges(lines) for path, lines in entry.lines.items()},
                        "blocks": {str(index[path]): blocks for path, blocks in entry.blocks.items()},
                        "versions": {str(index[path]): digest for path, digest in entry.versions.items()},
                        "own": entry.own,
                        "surroundings": entry.surroundings,
                        "opaque": entry.opaque,
                        "reads": entry.reads,
                    }
                    for nodeid, entry in self._tests.items()
                },
            }
            self._changed = False
        with contextlib.suppress(OSError):
            self.store.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.store, json.dumps(data, separators=(",", ":")).encode("ascii"))

    def _load(self) -> None:
        try:
            data = json.loads(self.store.read_text("utf-8", "surrogateescape"))
            if data["format"] != FORMAT:
                return
            paths = data["paths"]
            self._at_import = {path: set(names) for path, names in data["import"].items()}
            for nodeid, about in data["tests"].items():
                self._tests[nodeid] = Executed(
                    {paths[int(n)]: frozenset(_unranged(ranges)) for n, ranges in about["lines"].items()},
                    {paths[int(n)]: blocks for n, blocks in about["blocks"].items()},
                    {paths[int(n)]: digest for n, digest in about["versions"].items()},
                    about["own"],
                    about["surroundings"],
                    bool(about["opaque"]),
                    about["reads"],
                )
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            self._tests, self._at_import = {}, {}  # none yet, of another version, or damaged


def _ranges(lines: Iterable[int]) -> list[int]:
    """Sorted lines as ``[first, last, first, last, …]``."""
    found: list[int] = []
    for line in sorted(lines):
        if found and line == found[-1] + 1:
            found[-1] = line
        else:
            found += [line, line]
    return found


def _unranged(ranges: list[int]) -> Iterable[int]:
    for first, last in zip(ranges[::2], ranges[1::2], strict=True):
        yield from range(first, last + 1)
