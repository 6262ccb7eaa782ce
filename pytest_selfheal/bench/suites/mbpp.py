"""MBPP: a function is written from one sentence; its name and parameters are known, its tests visible or not."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_selfheal.bench.suites import Loaded, records, source
from pytest_selfheal.bench.suites.humaneval import STUB
from pytest_selfheal.bench.task import Answer, Malformed, Task, Visible


def load(path: Path, visible: Visible) -> Loaded:
    pairs: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for record in records.read(path, ("text", "code"), "mbpp"):
        made = record if isinstance(record, Malformed) else _make(record, visible)
        if isinstance(made, Malformed):
            malformed.append(made)
        else:
            pairs.append(made)
    return pairs, malformed


def _make(record: Mapping[str, Any], visible: Visible) -> tuple[Task, Answer] | Malformed:
    task_id = f"MBPP/{record.get('task_id', '?')}"
    asserts, setup, code = record.get("test_list"), str(record.get("test_setup_code") or ""), record["code"]
    if not isinstance(asserts, list) or not asserts or not all(isinstance(text, str) for text in asserts):
        return Malformed(task_id, "test_list is missing, empty or not a list of texts")
    for name, text in (("code", code), ("test_setup_code", setup), ("test_list", "\n".join(asserts))):
        problem = source.syntax_problem(text)
        if problem:
            return Malformed(task_id, f"{name} does not parse: {problem}")
    node = _tested_function(code, asserts)
    if node is None:
        return Malformed(task_id, "no function of its code is called by its tests")
    header = ast.get_source_segment(code, node) or ""
    header = header[: _body_offset(code, node, header)].replace("\r\n", "\n").rstrip()
    stub = source.with_docstring(header, record["text"], STUB)
    problem = source.syntax_problem(stub)
    if problem:
        return Malformed(task_id, f"its signature cannot be cut out: {problem}")
    if visible == "none":
        shown = source.implemented_test(node.name)
    else:
        shown = source.assert_tests(asserts if visible == "tests" else asserts[:1], node.name, setup)
    task = Task(
        task_id, node.name, source.MODULE_PATH, {source.MODULE_PATH: stub.encode()}, {source.TEST_PATH: shown.encode()}
    )
    # The setup runs after the code: it builds objects of the code's own classes.
    return task, Answer("asserts", tests="\n".join(asserts), setup=setup, reference=code)


def _tested_function(code: str, asserts: list[str]) -> ast.FunctionDef | None:
    defined = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    for text in asserts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
                return defined[node.func.id]
    return None


def _body_offset(code: str, node: ast.FunctionDef, segment: str) -> int:
    """Where the header ends within the function's text: after the colon that its body follows."""
    arguments_end = max(
        [(node.lineno, node.col_offset)]
        + [
            (part.end_lineno or 0, part.end_col_offset or 0)
            for part in (*ast.walk(node.args), *([node.returns] if node.returns else []))
            if isinstance(part, (ast.expr, ast.arg))
        ]
    )
    lines = segment.splitlines(keepends=True)
    row = arguments_end[0] - node.lineno
    column = arguments_end[1] - (node.col_offset if row == 0 else 0)
    start = sum(len(line) for line in lines[:row]) + len(lines[row].encode()[:column].decode())
    closing = segment.index(")", start) if node.returns is None else start
    return segment.index(":", closing) + 1
