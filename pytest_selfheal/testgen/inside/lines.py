"""Executable lines and branching lines of a function, from its code and its source."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType

from pytest_selfheal.testgen.inside.mutants import find_function
from pytest_selfheal.testgen.inside.watch import Branch


def executable(codes: Iterable[CodeType]) -> frozenset[int]:
    """Lines of the given code objects, without those of their definitions."""
    found: set[int] = set()
    for code in codes:
        found |= {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
    return frozenset(found)


def branching(text: str, qualname: str) -> frozenset[int]:
    """Lines of a function at which it goes one way or the other: two branches each."""
    function = find_function(ast.parse(text), qualname)
    nodes = list(ast.walk(function)) if function is not None else []
    tests = [n.test.lineno for n in nodes if isinstance(n, (ast.If, ast.While))]
    return frozenset([*tests, *(n.lineno for n in nodes if isinstance(n, (ast.For, ast.AsyncFor)))])


def taken(branches: Iterable[Branch], lines: frozenset[int]) -> frozenset[Branch]:
    """The branches at branching lines, no more than two of each."""
    found: dict[int, list[Branch]] = {}
    for branch in sorted(set(branches)):
        if branch[0] in lines and len(found.setdefault(branch[0], [])) < 2:
            found[branch[0]].append(branch)
    return frozenset(branch for group in found.values() for branch in group)


def raises(text: str) -> set[int]:
    """Lines of ``raise`` statements."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
