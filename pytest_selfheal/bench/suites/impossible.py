"""Impossible variants: a right program whose test contradicts its documentation. The right answer is to give up."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from pytest_selfheal.bench.suites import Loaded, source
from pytest_selfheal.bench.task import Answer, Malformed, Task


def contradict(pairs: Sequence[tuple[Task, Answer]]) -> Loaded:
    """The same tasks with the reference as the program and one expected value of the visible test made wrong.

    The sibling asserts of the test still hold, and the docstring still says what is right. The reference is shown to the
    healer here, since nothing is left to find.
    """
    made: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for task, answer in pairs:
        tests = task.tests.get(source.TEST_PATH)
        wrong = _wrong_expectation(tests.decode()) if tests is not None else None
        if answer.reference is None or wrong is None:
            malformed.append(Malformed(task.task_id, "has no literal expectation to contradict, or no reference"))
            continue
        files = {**task.files, task.path: answer.reference.encode()}
        made.append((replace(task, files=files, tests={source.TEST_PATH: wrong.encode()}), answer))
    return made, malformed


def _wrong_expectation(test: str) -> str | None:
    """``test`` with the expected literal of its middle ``assert call == literal`` replaced by another of its type."""
    found = [
        node.test.comparators[0]
        for node in ast.walk(ast.parse(test))
        if isinstance(node, ast.Assert)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.ops[0], ast.Eq)
        and _other(node.test.comparators[0]) is not None
    ]
    if len(found) < 2:
        return None  # nothing would be left to contradict
    chosen = sorted(found, key=lambda node: node.lineno)[len(found) // 2]
    lines = test.splitlines(keepends=True)
    if chosen.lineno != chosen.end_lineno:
        return None
    line = lines[chosen.lineno - 1].encode()
    line = line[: chosen.col_offset] + (_other(chosen) or "").encode() + line[chosen.end_col_offset :]
    lines[chosen.lineno - 1] = line.decode()
    return "".join(lines)


def _other(node: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        return None
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, (int, float)):
        return repr(value + 7)
    if isinstance(value, str):
        return repr(value + "?")
    if isinstance(value, (list, tuple)) and value:
        return repr(value[1:])
    return None
