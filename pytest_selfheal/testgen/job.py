"""What the parent and the child that explores functions tell each other."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any, Literal

Name = tuple[str, str]
"""A name to import: module and attribute; ``(module, "")`` stands for ``import module``."""


@dataclass(frozen=True)
class Target:
    """A function that shall get tests."""

    path: str
    """Relative to top."""
    qualname: str
    """``f`` or ``Class.method``; a nested function is reached through the one that holds it."""
    changed: frozenset[int] = frozenset()
    """1-based lines that changed; empty: all of the function counts."""

    @property
    def label(self) -> str:
        return f"{self.path}::{self.qualname}"


@dataclass(frozen=True)
class Job:
    """One exploration: which functions, against which old text, for how long. Travels pickled on the private channel."""

    top: str
    """The top as the child sees it."""
    targets: tuple[Target, ...]
    code: tuple[str, ...]
    """The project's Python files that are not tests, relative to top."""
    use: Literal["regression", "changed"]
    before: dict[str, str] = field(default_factory=dict)
    """Text of files before the change, by path, where swapping code objects can show the old behaviour."""
    cpu_seconds: float = 2.0
    """For one function."""

    def to_json(self) -> dict[str, Any]:
        return {"testgen": b64encode(pickle.dumps(self)).decode("ascii")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Job:
        job = pickle.loads(b64decode(data["testgen"]))
        assert isinstance(job, cls)
        return job


@dataclass(frozen=True)
class Argument:
    """One argument of a call, as source."""

    name: str
    """The parameter; ``self`` for the object of a method. ``()`` before it: of the function that is the result."""
    source: str
    keyword: bool = False

    @property
    def level(self) -> int:
        """0: an argument of the target; 1: of the function that it returned; 2: of the one that this returned."""
        return (len(self.name) - len(self.name.lstrip("()"))) // 2


@dataclass(frozen=True)
class Input:
    """A call of a target as source: evaluated anew for every version of the code."""

    arguments: tuple[Argument, ...]
    setup: tuple[str, ...] = ()
    """Statements that come first and bind the names that the arguments use."""
    imports: frozenset[Name] = frozenset()
    observed: bool = False
    """Seen in a test rather than made."""
    levels: int = 0
    """How often what comes back is called in turn: ``f(1)(2)`` has one level."""

    @property
    def key(self) -> tuple[int, tuple[str, ...], tuple[tuple[str, str], ...]]:
        return self.levels, self.setup, tuple((a.name, a.source) for a in self.arguments)

    @property
    def cost(self) -> int:
        """Characters that a reader has to take in; empty texts say little and count like words."""
        texts = [*(a.source for a in self.arguments), *self.setup]
        return sum(len(text) + 2 + 6 * text.count('""') for text in texts) + 10 * len(self.setup)


@dataclass(frozen=True)
class Case:
    """An input and what the verified code makes of it, ready to be written."""

    input: Input
    call: str
    """The call as an expression with ``{0}``, ``{1}``, … for the arguments."""
    kind: Literal["value", "raises"]
    expected: str
    """Source of the value, or name of the exception."""
    approximate: bool = False
    """Compare with ``pytest.approx``."""
    after: tuple[tuple[int, str, str], ...] = ()
    """What the call has to leave of its arguments: number, what is compared (``{0}`` or ``vars({0})``), source."""
    imports: frozenset[Name] = frozenset()
    """Names that ``call`` and ``expected`` need."""
    fails_before: bool = False
    kills: frozenset[int] = frozenset()
    """Numbers of the mutants that this case alone tells from the code."""
    covers: frozenset[tuple[int, int]] = frozenset()
    """Lines ``(0, line)`` and branches ``(from, to)`` of interest that it executes."""
    backed: Literal["", "docstring", "tests"] = ""
    """Who else says that the expected value is right."""


@dataclass
class Found:
    """What came of one target."""

    target: Target
    cases: list[Case] = field(default_factory=list)
    reason: str = ""
    """Why there are no cases."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Reasons why inputs did not become cases, and how many."""
    lines: int = 0
    branches: int = 0
    lines_before: int = 0
    branches_before: int = 0
    lines_after: int = 0
    missed: tuple[int, ...] = ()
    """1-based lines that neither the existing tests nor the cases execute."""
    branches_after: int = 0
    mutants: int = 0
    killed_before: int | None = None
    killed_after: int | None = None
    """By the existing tests and the cases together."""
    killed_alone: int = 0
    """By the cases alone."""
    alive: list[str] = field(default_factory=list)
    """Mutants that no case kills, in words."""
    tried: int = 0
    wanted: frozenset[tuple[int, int]] = frozenset()
    """Lines ``(0, line)`` and branching lines ``(line, 0)`` that changed and that no test executes (wholly)."""
    covered: bool = False
    """Nothing is wanted: the existing tests execute all that changed."""


@dataclass
class Measured:
    """What one test does with a function."""

    lines: frozenset[int]
    branches: frozenset[tuple[int, int]]
    kills: frozenset[int] = frozenset()

    def reaches(self, wanted: frozenset[tuple[int, int]]) -> bool:
        """Whether it executes any of the wanted lines; anything at all where nobody could say what is wanted."""
        if not wanted:
            return bool(self.lines)
        return any(
            (line in self.lines) if not first else any(b[0] == first for b in self.branches) for first, line in wanted
        )


def pack(value: Any) -> str:
    """Our own dataclasses as text for the channel."""
    return b64encode(pickle.dumps(value)).decode("ascii")


def unpack(text: str) -> Any:
    return pickle.loads(b64decode(text))
