"""HumanEvalFix (the Python part of HumanEvalPack): a published function with a bug put in.

With the tests visible the program is the published one, without documentation; with examples or nothing visible the
docstring stands in the function, as in the published docstring variant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_selfheal.bench.suites import Loaded, records, source
from pytest_selfheal.bench.task import Answer, Malformed, Task, Visible

FIELDS = ("task_id", "declaration", "buggy_solution", "canonical_solution", "test", "entry_point", "docstring")


def load(path: Path, visible: Visible) -> Loaded:
    pairs: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for record in records.read(path, FIELDS, "humanevalfix"):
        if isinstance(record, Malformed):
            malformed.append(record)
            continue
        made = make(record, visible, broken=record["declaration"] + record["buggy_solution"])
        if isinstance(made, Malformed):
            malformed.append(made)
            continue
        pairs.append(made)
        malformed += [Malformed(made[0].task_id, note, dropped=False) for note in made[0].notes]
    return pairs, malformed


def make(record: Mapping[str, Any], visible: Visible, broken: str) -> tuple[Task, Answer] | Malformed:
    """One task from a record of HumanEvalPack; ``broken`` is its program without documentation."""
    task_id, entry = record["task_id"], record["entry_point"]
    reference = record["declaration"] + record["canonical_solution"]
    for name, text in (("canonical_solution", reference), ("test", record["test"]), ("buggy_solution", broken)):
        problem = source.syntax_problem(text)
        if problem:
            return Malformed(task_id, f"{name} does not parse: {problem}")
    if source.function(reference, entry) is None:
        return Malformed(task_id, f"declaration does not define {entry}")
    shown = source.check_test(record["test"], entry)
    if shown is None:
        return Malformed(task_id, "test has no final call of its check function")
    module = broken
    notes: list[str] = []
    if visible == "tests":
        tests = {source.TEST_PATH: shown.encode()}
    else:
        module = source.with_docstring(record["declaration"], record["docstring"], _body(broken, record["declaration"]))
        if visible == "examples":
            text, notes = examples(record)
            tests = {source.TEST_PATH: text.encode()} if text else {}
        else:
            digest = hashlib.sha256(module.encode()).hexdigest()
            tests = {source.TEST_PATH: source.changed_test(entry, digest).encode()}
    task = Task(task_id, entry, source.MODULE_PATH, {source.MODULE_PATH: module.encode()}, tests, tuple(notes))
    return task, Answer("asserts", tests=record["test"], reference=reference)


def _body(program: str, declaration: str) -> str:
    return program.removeprefix(declaration)


def examples(record: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """The visible example tests as a pytest file, and what was wrong with the published ones."""
    entry = record["entry_point"]
    notes: list[str] = []
    published = record.get("example_test")
    if isinstance(published, str) and published.strip():
        problem = source.syntax_problem(published)
        shown = None if problem else source.check_test(published, entry)
        if shown is not None:
            return shown, notes
        notes.append(f"example_test does not parse ({problem}); the docstring's examples are shown instead")
    else:
        notes.append("no example_test; the docstring's examples are shown instead")
    found = source.docstring_examples(record["docstring"], entry)
    if not found:
        notes[-1] = notes[-1].replace(
            "the docstring's examples are shown instead", "and the docstring has no example: nothing to heal by"
        )
        return None, notes
    return source.assert_tests(found, entry), notes
