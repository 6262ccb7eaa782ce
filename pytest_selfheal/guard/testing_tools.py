"""Testing tools in source code: code under test has no business with pytest, unittest or mocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, imports, starts_with

_TOOLS = (
    *(
        "pytest",
        "_pytest",
        "pluggy",
        "py.test",
        "unittest",
        "mock",
        "nose",
        "hypothesis",
        "doctest",
        "xdist",
        "coverage",
    ),
    *(
        "pytest_selfheal",
        "pytest_timeout",
        "pytest_mock",
        "faker",
        "freezegun",
        "responses",
        "test",
        "tests",
        "conftest",
    ),
)


def check(facts: Facts) -> str | None:
    found = facts.new(_imports)
    return f"new code {found[0].words}; code under test must not know its testing tools" if found else None


def _imports(module: Module) -> Iterator[Finding]:
    for statement, name in imports(module):
        if starts_with(name, _TOOLS):
            yield Finding(f"import {name}", f"imports {name}", statement.lineno)
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id in ("pytest", "unittest") and node.id not in module.aliases:
            yield Finding(f"name {node.id}", f"uses {node.id}", node.lineno)
