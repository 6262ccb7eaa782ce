"""Ask every rule about a patch."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Patch


@dataclass(frozen=True)
class Review:
    """What the guards say of a patch."""

    passed: tuple[str, ...]
    """Names of the rules that let it pass."""
    refused_by: str | None = None
    """Name of the first rule that refused."""
    reason: str | None = None
    """Why, in a sentence for people and for the proposer's next round."""
    caution: str | None = None
    """Not refused, but no better than low confidence, and why."""


def review(patch: Patch, diagnosis: Diagnosis, settings: Settings) -> Review:
    """Judge ``patch`` by policy; reads the sources below ``diagnosis.root``, runs nothing."""
    return Review(passed=())
