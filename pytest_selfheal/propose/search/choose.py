"""Order plausible patches, and say how sure one can be of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search.search import Plausible
from pytest_selfheal.types import Confidence


@dataclass
class Choice:
    """A plausible patch in its place in the order."""

    plausible: Plausible
    confidence: Confidence
    note: str = ""
    alternatives: tuple[tuple[Plausible, str], ...] = ()
    """Patches that behave differently, with an input that shows it."""


def choose(found: Sequence[Plausible]) -> list[Choice]:
    ordered = sorted(found, key=lambda p: -p.candidate.weight)
    return [Choice(p, "medium") for p in ordered]
