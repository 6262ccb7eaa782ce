"""Text that looks like a literal and is none (``{[1]}``, ``{{}: 1}``): reading it must not end the work on a cause."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_selfheal
from pytest_selfheal.guard.testfacts import _parts

PACKAGE = Path(pytest_selfheal.__file__).parent
NEEDED = {"ValueError", "SyntaxError", "TypeError"}


@pytest.mark.parametrize("text", ["{[1, 2]}", "{{}: 1}", "{{1}: 2}", "1 +", "f(x)", "[" * 300])
def test_parts_of_what_is_no_literal(text: str) -> None:
    assert list(_parts(text)) == []


def test_every_reader_of_literals_expects_what_literal_eval_raises() -> None:
    """``literal_eval`` raises TypeError for an unhashable member, not only the two that its documentation names first."""
    careless = []
    for path in PACKAGE.rglob("*.py"):
        if "data" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.Try):
                continue
            reads = any(
                isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("literal_eval")
                for statement in node.body
                for inner in ast.walk(statement)
            )
            caught = {
                name.id
                for handler in node.handlers
                for name in ast.walk(handler.type or node)
                if isinstance(name, ast.Name)
            }
            if reads and not (caught >= NEEDED or "Exception" in caught):
                careless.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert careless == []
