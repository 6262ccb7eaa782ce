"""What the engine tells the parent, as JSON types."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.choose import Choice
from pytest_selfheal.propose.search.files import Files
from pytest_selfheal.propose.search.search import Plausible, Search


def described(choices: Sequence[Choice], files: Files) -> list[dict[str, Any]]:
    """Plausible patches in their order, each with the whole file's bytes after it."""
    return [
        {
            **_change(choice.plausible.candidate, files),
            "function": choice.plausible.candidate.function,
            "operator": choice.plausible.candidate.operator,
            "weight": choice.plausible.candidate.weight,
            "number": choice.plausible.number,
            "group": choice.group,
            "confidence": choice.confidence,
            "note": choice.note,
            "alternatives": [{**_change(p.candidate, files), "input": shown} for p, shown in choice.alternatives],
        }
        for choice in choices
    ]


def likely(plausible: Plausible, files: Files) -> dict[str, Any]:
    """A plausible patch, before it is known what else there is."""
    return {**_change(plausible.candidate, files), "function": plausible.candidate.function}


def _change(candidate: Candidate, files: Files) -> dict[str, Any]:
    return {
        "path": candidate.path,
        "after": b64encode(files.after(candidate)).decode("ascii"),
        "description": candidate.description,
    }


def evidence(search: Search) -> list[str]:
    """Sentences on what came near, for the report and for a model."""
    found = [
        f"{_named(partial.candidate)} brings the failing tests nearer to passing: {partial.fitness:.0%} of what they check holds"
        for partial in search.pool[:3]
    ]
    found += [
        f"{_named(candidate)} makes them pass but breaks {broken[0]}" for candidate, broken in search.regressed[:3]
    ]
    return found


def _named(candidate: Candidate) -> str:
    return f"{candidate.description} in {candidate.function} ({candidate.path}:{candidate.line})"
