"""An input whose answer a test could assert, and what the process around it offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from pytest_selfheal.propose.search.fork import Usage
from pytest_selfheal.propose.search.swap import LiveFunctions
from pytest_selfheal.testgen.inside.evaluate import Answer, Prepared
from pytest_selfheal.testgen.inside.render import Renderer
from pytest_selfheal.testgen.job import Input, Job, Name

MADE_UP = 14
"""What an input costs that no test used: inputs of people say more to people."""
SAID_ALREADY = 200
"""What a case costs that an existing test asserts word for word."""


@dataclass
class Candidate:
    """An input with an answer that a test could assert."""

    prepared: Prepared
    answer: Answer
    expected: str
    """Source of the value, or the exception's name."""
    approximate: bool = False
    imports: frozenset[Name] = frozenset()
    asserted: bool = False
    """An existing test says the very same."""
    differs: bool = False
    """The code before answers otherwise."""
    before: str = ""
    """The old code's answer, as text; empty where it could not be asked."""

    @property
    def input(self) -> Input:
        return self.prepared.input

    @property
    def cost(self) -> int:
        extra = SAID_ALREADY if self.asserted else 0 if self.input.observed else MADE_UP
        return self.input.cost + len(self.expected) + extra


@dataclass
class Surroundings:
    """What exploring needs of the process it happens in."""

    job: Job
    live: LiveFunctions
    texts: Mapping[str, str]
    """The code's source by path relative to top."""
    tests: Mapping[str, pytest.Item]
    test_texts: Mapping[str, str]
    """Sources of the test files."""
    renderer: Callable[[], Renderer]
    close: tuple[int, ...] = ()
    """File descriptors that forked children must not have."""
    usage: Usage = field(default_factory=Usage)
