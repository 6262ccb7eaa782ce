"""Repairs that the failure itself names: syntax, imports, names, attributes, call signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure


def direct(
    failure: Failure, sources: Mapping[str, Source], context: Context, broken: Mapping[str, str] | None = None
) -> Iterator[Candidate]:
    """Best first. ``broken`` maps paths of files that do not parse to their text (they cannot be a :class:`Source`)."""
    yield from ()
