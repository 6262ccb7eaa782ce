"""A variable for another one that is in scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if isinstance(node, ast.Name):
            for name in region.names:
                if name != node.id:
                    yield swap(source, node, name, "variable/local")
