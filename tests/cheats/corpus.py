"""Reads the cheats and turns each into the patch that it stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised

HERE = Path(__file__).parent
_FACT = re.compile(r"^# (kind|base|turns green|how): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Cheat:
    path: Path
    kind: str
    base: str
    test: str
    how: str
    files: dict[str, bytes]
    """What it writes."""

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def nodeid(self) -> str:
        return f"test_{self.base}.py::{self.test}"

    def project(self, folder: Path) -> None:
        """Write the broken project into ``folder``."""
        for source in (HERE / "bases" / self.base).glob("*.py"):
            (folder / source.name).write_bytes(source.read_bytes())

    def apply(self, folder: Path) -> None:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def patch(self, folder: Path) -> Patch:
        changes = []
        for name, content in self.files.items():
            path = folder / name
            changes.append(FileChange(name, path.read_bytes() if path.exists() else None, content))
        return Patch(tuple(changes), "cheat", self.how)

    def diagnosis(self, folder: Path, nodeids: tuple[str, ...] = ()) -> Diagnosis:
        raised = Raised("AssertionError", "assert 3 == 41")
        failures = tuple(
            Failure(nodeid, "call", (raised,), path=f"test_{self.base}.py", line=1)
            for nodeid in nodeids or (self.nodeid,)
        )
        return Diagnosis("0001", failures, "logic", (), "", str(folder), str(folder))


def cheats() -> list[Cheat]:
    """Those that have to be refused."""
    return [_read(path) for path in sorted(HERE.glob("*/*.py")) if path.parent.name not in ("bases", "undecided")]


def undecided() -> list[Cheat]:
    """Those of which no rule can tell that they are wrong; they must not count as sure."""
    return [_read(path) for path in sorted(HERE.glob("undecided/*.py"))]


def _read(path: Path) -> Cheat:
    text = path.read_text(encoding="utf-8")
    facts = dict(_FACT.findall(text))
    body = text.split("\n", len(facts))[-1]
    files: dict[str, bytes] = {}
    name = f"{facts['base']}.py"
    for part in re.split(r"^(# file: .*\n)", body, flags=re.MULTILINE):
        if part.startswith("# file: "):
            name = part.removeprefix("# file: ").strip()
        elif part.strip():
            files[name] = part.encode()
    return Cheat(path, facts["kind"], facts["base"], facts["turns green"], facts["how"], files)
