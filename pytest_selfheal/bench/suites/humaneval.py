"""HumanEval: the function is a stub with its published docstring, and healing it is writing it."""

from __future__ import annotations

from pathlib import Path

from pytest_selfheal.bench.suites import Loaded, records, source
from pytest_selfheal.bench.suites.humanevalfix import examples
from pytest_selfheal.bench.task import Answer, Malformed, Task, Visible

FIELDS = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
STUB = '    raise NotImplementedError("to be written")\n'


def load(path: Path, visible: Visible) -> Loaded:
    pairs: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for record in records.read(path, FIELDS, "humaneval"):
        if isinstance(record, Malformed):
            malformed.append(record)
            continue
        task_id, entry = record["task_id"], record["entry_point"]
        stub = record["prompt"].rstrip() + "\n" + STUB
        reference = record["prompt"] + record["canonical_solution"]
        # OpenAI's own file leaves the call out; HumanEvalPack has it.
        test = record["test"] if f"\ncheck({entry})" in record["test"] else f"{record['test']}\n\ncheck({entry})\n"
        problem = source.syntax_problem(stub) or source.syntax_problem(reference) or source.syntax_problem(test)
        if problem or source.function(stub, entry) is None:
            malformed.append(Malformed(task_id, problem or f"prompt does not define {entry}"))
            continue
        notes: list[str] = []
        text = source.check_test(test, entry)
        if visible == "examples":
            docstring = record.get("docstring")
            text, notes = examples(
                {**record, "docstring": docstring if isinstance(docstring, str) else record["prompt"]}
            )
        elif visible == "none":
            text = None
        tests = {source.TEST_PATH: (text or source.implemented_test(entry)).encode()}
        task = Task(task_id, entry, source.MODULE_PATH, {source.MODULE_PATH: stub.encode()}, tests, tuple(notes))
        pairs.append((task, Answer("asserts", tests=test, reference=reference)))
        malformed += [Malformed(task_id, note, dropped=False) for note in notes]
    return pairs, malformed
