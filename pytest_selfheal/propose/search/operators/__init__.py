"""Mutation operators: one family a file, each a function from a region and its context to drafts.

To add one, write ``operators/<family>.py`` with a generator ``propose(region, context)`` that yields
:class:`~pytest_selfheal.propose.search.candidate.Draft` objects whose keys begin with the family's name, list it in
:data:`FAMILIES`, add its weight to ``priors.json`` (or run ``benchmarks/learn_priors.py``), and a before → after twin in
``tests/test_operators_*.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators import arithmetic, compare, constant, variable
from pytest_selfheal.propose.search.source import Region


class Family(NamedTuple):
    """A named operator; the name is the first part of its drafts' keys."""

    name: str
    propose: Callable[[Region, Context], Iterator[Draft]]


FAMILIES: tuple[Family, ...] = (
    Family("compare", compare.propose),
    Family("constant", constant.propose),
    Family("arithmetic", arithmetic.propose),
    Family("variable", variable.propose),
)
