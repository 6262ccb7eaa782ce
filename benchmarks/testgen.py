"""Regression tests for healed HumanEvalFix tasks: do they fail on the bug, hold on the reference, kill mutants, stay stable?

    pytest --selfheal-bench humanevalfix --selfheal-bench-data PATH     # heals, writes RESULTS.jsonl
    python benchmarks/testgen.py --data PATH --results RESULTS.jsonl [--limit N] [--repeats 20] [--workers 2]

Takes the tasks that were healed by an equivalent patch and generates tests for that patch, as ``--generate-tests`` does.
The reference solution is used after the fact only: the kept tests are run on it. The data stays outside the project.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_selfheal.api import project_at
from pytest_selfheal.bench.suites.humanevalfix import load
from pytest_selfheal.bench.task import Answer, Task
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.record.patch import apply_to
from pytest_selfheal.settings import Settings
from pytest_selfheal.testgen.inside import repeat
from pytest_selfheal.testgen.judge import orders_for
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.regression import with_tests
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Outcome, Patch, Verdict


@dataclass
class Row:
    """One task's figures."""

    task_id: str
    kept: int = 0
    fail_before: int = 0
    hold_on_reference: int = 0
    unstable: int = 0
    mutants: int = 0
    killed: int = 0
    seconds: float = 0.0
    words: str = ""
    broken: list[str] = field(default_factory=list)


def healed(data: Path, results: Path) -> Iterator[tuple[Task, Answer, dict[str, bytes]]]:
    """Tasks with an equivalent patch, and the files after it."""
    tasks = {task.task_id: (task, answer) for task, answer in load(data, "tests")[0]}
    for line in results.read_text("utf-8").splitlines():
        record = json.loads(line)
        if record.get("equivalent") and record.get("diff") and record["task_id"] in tasks:
            task, answer = tasks[record["task_id"]]
            after = apply_to(dict(task.files), record["diff"].encode())
            yield task, answer, {path: content for path, content in after.items() if content is not None}


def measure(task: Task, answer: Answer, after: dict[str, bytes], repeats: int) -> Row:
    """Generate tests for one task and try them on the bug, on the reference and many times."""
    row = Row(task.task_id)
    with tempfile.TemporaryDirectory(prefix="selfheal-bench-") as name:
        root = Path(name).resolve()
        for path, content in {"pytest.ini": b"[pytest]\nfilterwarnings =\n", **task.project()}.items():
            (root / path).write_bytes(content)
        [(test_file, text)] = task.tests.items()
        nodeids = tuple(f"{test_file}::{n}" for n in re.findall(r"^def (test_\w+)", text.decode(), re.MULTILINE))
        project = replace(project_at(root), outcomes=dict.fromkeys(nodeids, "failed"))
        changes = tuple(FileChange(path, task.files.get(path), content) for path, content in after.items())
        outcome = _outcome(nodeids, test_file, changes)
        with Workshop(project, Settings(selfheal=True, generate_tests=True)) as workshop:
            started = time.perf_counter()
            places = Places(project, workshop.pristine.top, [*task.files, *task.tests])
            done = with_tests(workshop, places, outcome, AffectedTests(project, workshop.pristine.top))
            row.seconds = time.perf_counter() - started
            row.words = "; ".join(str(f["reason"]) for f in done.functions if f["reason"])
            row.mutants = sum(f["mutants"]["total"] for f in done.functions)
            row.killed = sum(f["mutants"]["killed_alone"] for f in done.functions)
            assert done.outcome.patch is not None
            files = [c for c in done.outcome.patch.changes if c.path in done.outcome.generated_tests]
            if files:
                reference = (answer.reference or "").encode()
                _try(workshop, row, files, changes, reference, repeats)
    return row


def _outcome(nodeids: tuple[str, ...], test_file: str, changes: tuple[FileChange, ...]) -> Outcome:
    failure = Failure(nodeids[0], "call", (), path=test_file)
    patch = Patch(changes, "search", "as healed before")
    verdict = Verdict("healed", "as healed before", failing_now_pass=nodeids)
    diagnosis = Diagnosis("0001", (failure,), "logic", (), "")
    return Outcome(diagnosis, "healed", "healed", "", patch=patch, verdict=verdict)


def _try(
    workshop: Workshop,
    row: Row,
    files: list[FileChange],
    changes: tuple[FileChange, ...],
    reference: bytes,
    repeats: int,
) -> None:
    names = [change.path for change in files]

    def run(code: list[FileChange], times: int) -> dict[str, str]:
        with workshop.fresh([*code, *files]) as workspace:
            orders = orders_for(names, times, 7)
            return run_tests(workshop, workspace, names, plugins=[repeat.__name__], config=orders).outcomes

    before = run([], 1)
    right = run([FileChange(changes[0].path, None, reference)], 1)
    again = run(list(changes), repeats)
    tests = [nodeid for nodeid in again if "::" in nodeid]
    row.kept = len(tests)
    row.fail_before = sum(before.get(nodeid) != "passed" for nodeid in tests)
    row.broken = [nodeid for nodeid in tests if right.get(nodeid) != "passed"]
    row.hold_on_reference = len(tests) - len(row.broken)
    row.unstable = sum(again[nodeid] != "passed" for nodeid in tests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    tasks = list(healed(arguments.data, arguments.results))[: arguments.limit]
    rows: list[Row] = []
    with ThreadPoolExecutor(arguments.workers) as pool:
        for row in pool.map(lambda task: measure(*task, arguments.repeats), tasks):
            rows.append(row)
            print(
                f"{row.task_id}: kept {row.kept}, fail before {row.fail_before}, hold {row.hold_on_reference}, "
                f"mutants {row.killed}/{row.mutants}, {row.seconds:.1f} s {row.words} {row.broken or ''}",
                flush=True,
            )
    kept = sum(row.kept for row in rows)
    proving = sum(row.fail_before > 0 for row in rows)
    holding = sum(row.hold_on_reference for row in rows)
    shares = [row.killed / row.mutants for row in rows if row.mutants]
    print(f"tasks: {len(rows)}")
    print(f"with a kept test that fails on the bug: {proving} ({proving / max(len(rows), 1):.1%})")
    print(f"kept tests that hold on the reference: {holding} of {kept} ({holding / max(kept, 1):.1%})")
    print(f"mutants killed by the kept tests alone, median: {statistics.median(shares or [0.0]):.1%}")
    print(f"kept tests that fail in {arguments.repeats} repeats: {sum(row.unstable for row in rows)}")
    print(f"seconds a task, median: {statistics.median([row.seconds for row in rows] or [0.0]):.1f}")


if __name__ == "__main__":
    main()
