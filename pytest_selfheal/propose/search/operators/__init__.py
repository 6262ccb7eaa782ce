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
from pytest_selfheal.propose.search.operators import (
    arithmetic,
    assign,
    boolean,
    borrow,
    call,
    compare,
    compose,
    comprehension,
    condition,
    constant,
    control,
    copy,
    difference,
    exception,
    guard,
    mining,
    offset,
    operands,
    placeholder,
    project,
    regex,
    replicate,
    rewrap,
    statement,
    subscript,
    synthesis,
    variable,
    wrap,
)
from pytest_selfheal.propose.search.source import Region


class Family(NamedTuple):
    """A named operator; the name is the first part of its drafts' keys."""

    name: str
    propose: Callable[[Region, Context], Iterator[Draft]]


FAMILIES: tuple[Family, ...] = (
    Family("compare", compare.propose),
    Family("constant", constant.propose),
    Family("difference", difference.propose),
    Family("arithmetic", arithmetic.propose),
    Family("boolean", boolean.propose),
    Family("variable", variable.propose),
    Family("offset", offset.propose),
    Family("operands", operands.propose),
    Family("call", call.propose),
    Family("subscript", subscript.propose),
    Family("placeholder", placeholder.propose),
    Family("compose", compose.propose),
    Family("assign", assign.propose),
    Family("control", control.propose),
    Family("statement", statement.propose),
    Family("comprehension", comprehension.propose),
    Family("wrap", wrap.propose),
    Family("rewrap", rewrap.propose),
    Family("mining", mining.propose),
    Family("project", project.propose),
    Family("guard/expression", guard.expressions),
    Family("exception", exception.propose),
    Family("regex", regex.propose),
    Family("borrow", borrow.propose),
    Family("condition", condition.propose),
    Family("guard/held", guard.held),
    Family("guard/raise", guard.raising),
    Family("guard/return", guard.returning),
    Family("guard/value", guard.values),
    Family("guard/set", guard.setting),
    Family("guard/skip", guard.skipping),
    Family("guard/only", guard.conditional),
    Family("copy/branch", copy.branches),
    Family("copy/twin", copy.twins),
    Family("copy/statement", copy.statements),
    Family("replicate", replicate.propose),
    Family("replicate/rename", replicate.rename),
    Family("synthesis/add", synthesis.extended),
    Family("synthesis/new", synthesis.replaced),
)
