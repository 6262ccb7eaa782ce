"""Figures for generated tests: regression tests of healed HumanEvalFix tasks, and tests for functions of real libraries.

    pytest --selfheal-bench humanevalfix --selfheal-bench-data PATH     # heals, writes RESULTS.jsonl
    python benchmarks/testgen.py --data PATH --results RESULTS.jsonl [--limit N] [--repeats 20] [--workers 2]
    python benchmarks/testgen.py --libraries FOLDER/toolz FOLDER/inflection … [--functions 10]

The first takes the tasks that were healed by an equivalent patch and generates tests for that patch, as ``--generate-tests``
does. The reference solution is used after the fact only: the kept tests are run on it. The data stays outside the project.

The second takes a sample of the public functions of each package (a folder, copied to a project without any test) and
generates tests as for changed logic; none of the library's own tests is there to learn from.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_selfheal.api import project_at
from pytest_selfheal.bench.suites.humanevalfix import load
from pytest_selfheal.bench.task import Answer, Task
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.record.patch import apply_to
from pytest_selfheal.settings import Settings
from pytest_selfheal.testgen.changed import explored
from pytest_selfheal.testgen.common import Settled
from pytest_selfheal.testgen.inside import repeat
from pytest_selfheal.testgen.job import Target
from pytest_selfheal.testgen.judge import orders_for
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.regression import with_tests
from pytest_selfheal.testgen.summary import entry
from pytest_selfheal.testgen.targets import functions
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


@dataclass
class Library:
    """One package's figures."""

    name: str
    functions: list[dict[str, Any]]
    unstable: int
    seconds: float


def measure_library(package: Path, count: int, repeats: int) -> Library:
    """Generate tests for ``count`` public functions of a package that comes without tests."""
    with tempfile.TemporaryDirectory(prefix="selfheal-bench-") as name:
        root = Path(name).resolve()
        (root / "pytest.ini").write_text("[pytest]\nfilterwarnings =\npythonpath = src\n")
        (root / "tests").mkdir()
        (root / "tests" / "test_nothing.py").write_text("def test_nothing():\n    assert 1 + 1 == 2\n")
        ignored = shutil.ignore_patterns("tests", "test", "__pycache__", "*.so")
        shutil.copytree(package, root / "src" / package.name, ignore=ignored)
        project = project_at(root)
        started = time.perf_counter()
        with Workshop(project, Settings(generate_tests=True)) as workshop:
            files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
            targets = public_functions(root, files, count)
            found = explored(workshop, targets, [])
            places = Places(project, workshop.pristine.top, files)
            settled = Settled(
                workshop, places, [], [], lambda one: (f"{one.target.qualname} has no test", ""), before=False
            )
            kept = settled.settle(found)
            seconds = time.perf_counter() - started
            row = Row(package.name)
            if kept.files:
                names = [change.path for change in kept.files]
                with workshop.fresh(kept.files) as workspace:
                    orders = orders_for(names, repeats, 7)
                    again = run_tests(workshop, workspace, names, plugins=[repeat.__name__], config=orders).outcomes
                row.unstable = sum(outcome != "passed" for outcome in again.values())
        return Library(package.name, [entry(one, kept) for one in found], row.unstable, seconds)


def public_functions(root: Path, files: Iterable[str], count: int) -> list[Target]:
    """A sample, always the same, of the public module-level functions with at least two statements."""
    found = []
    for name in files:
        if name.startswith("src/") and not any(
            part.startswith("_") and part != "__init__.py" for part in name.split("/")
        ):
            for function, node in functions((root / name).read_text("utf-8")).items():
                statements = [n for n in ast.walk(node) if isinstance(n, ast.stmt)]
                if "." not in function and not function.startswith("_") and len(statements) > 3:
                    found.append(Target(name, function))
    return sorted(random.Random(0).sample(found, min(count, len(found))), key=lambda target: target.label)


def libraries(packages: Iterable[Path], count: int, repeats: int) -> None:
    everything: list[dict[str, Any]] = []
    for package in packages:
        library = measure_library(package, count, repeats)
        everything += library.functions
        for function in library.functions:
            lines, mutants = function["lines"], function["mutants"]
            print(
                f"  {function['function']}: kept {function['kept']}, lines {lines['after']}/{lines['total']}, "
                f"mutants {mutants['killed_alone']}/{mutants['total']} {function['reason'] or ''}"
            )
        share = library.seconds / max(len(library.functions), 1)
        print(
            f"{library.name}: {_shares(library.functions)}, unstable {library.unstable}, {share:.1f} s a function",
            flush=True,
        )
    print(f"all: {_shares(everything)}")


def _shares(functions: Sequence[dict[str, Any]]) -> str:
    kept = [f for f in functions if f["kept"]]
    lines = sum(f["lines"]["after"] for f in kept) / max(sum(f["lines"]["total"] for f in kept), 1)
    mutants = sum(f["mutants"]["killed_alone"] for f in kept) / max(sum(f["mutants"]["total"] for f in kept), 1)
    return f"{len(kept)} of {len(functions)} functions with kept tests, lines {lines:.0%}, mutants {mutants:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--libraries", type=Path, nargs="+")
    parser.add_argument("--functions", type=int, default=10)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.libraries:
        libraries(arguments.libraries, arguments.functions, arguments.repeats)
        return
    if not (arguments.data and arguments.results):
        parser.error("give --data and --results, or --libraries")
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
