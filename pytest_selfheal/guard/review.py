"""Ask every rule about a patch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pytest_selfheal.guard import (
    answers,
    comparisons,
    encoded,
    exits,
    fitted,
    gutted,
    hidden_state,
    import_games,
    monkeypatching,
    own_tests,
    parses,
    paths,
    protected,
    side_effects,
    sniffing,
    special_casing,
    swallowing,
    testing_tools,
)
from pytest_selfheal.guard.facts import Facts
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Patch

logger = logging.getLogger(__name__)
Check = Callable[[Facts], str | None]

RULES: Final[tuple[tuple[str, Check], ...]] = (
    ("paths", paths.check),
    ("protected files", protected.check),
    ("parses", parses.check),
    ("tests beside the code", own_tests.check),
    ("process exit", exits.check),
    ("looking around", sniffing.check),
    ("testing tools", testing_tools.check),
    ("comparison tricks", comparisons.check),
    ("swallowed errors", swallowing.check),
    ("special-casing", special_casing.check),
    ("answers written down", answers.check),
    ("encoded answers", encoded.check),
    ("monkeypatching", monkeypatching.check),
    ("gutted code", gutted.check),
    ("import games", import_games.check),
    ("side effects", side_effects.check),
    ("hidden state", hidden_state.check),
)
CAUTIONS: Final[tuple[Check, ...]] = (
    special_casing.caution,
    answers.caution,
    fitted.caution,
    swallowing.caution,
    comparisons.caution,
    exits.caution,
)


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
    """Judge ``patch`` by policy; reads the sources below ``diagnosis.root``, runs nothing of the project."""
    facts = Facts(patch, diagnosis, settings)
    passed: list[str] = []
    for name, check in RULES:
        try:
            reason = check(facts)
        except RecursionError:
            reason = "the code is nested too deeply to be reviewed"
        except Exception as error:
            # What cannot be read is not let through, nor may it end the run.
            logger.debug("%s could not review %s", name, patch.paths, exc_info=True)
            reason = f"the code cannot be reviewed ({type(error).__name__})"
        if reason is not None:
            return Review(tuple(passed), name, f"Refused ({name}): {reason}.")
        passed.append(name)
    return Review(tuple(passed), caution=next((words for check in CAUTIONS if (words := check(facts))), None))


class Reviews:
    """The reviews of patches to one tree, each made once: that of what was likely is known when it is proposed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._found: dict[tuple[object, ...], Review] = {}

    def of(self, patch: Patch, diagnosis: Diagnosis) -> Review:
        """As :func:`review`; what is the same failure is the same question, whoever saw it."""
        key = (patch.changes, *((failure.nodeid, failure.signature) for failure in diagnosis.failures))
        if key not in self._found:
            self._found[key] = review(patch, diagnosis, self._settings)
        return self._found[key]
