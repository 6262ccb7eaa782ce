"""Literal values: neighbours of numbers, other constants of the function, values in docstrings and in the tests' inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    nodes = [n for n in region.expressions if isinstance(n, ast.Constant)]
    for node in nodes:
        value = node.value
        if isinstance(value, bool):
            yield swap(source, node, str(not value), "constant/bool")
        elif isinstance(value, int):
            for new, key in ((value + 1, "plus1"), (value - 1, "minus1"), (0, "zero"), (1, "one"), (-value, "negated")):
                if new != value:
                    yield swap(source, node, repr(new), f"constant/int/{key}")
