"""Affected tests against the truth: break one line, run the whole suite, and see whether all tests that changed were in the set.

    python benchmarks/affected.py FOLDER... [--changes 10] [--seed 0] [--python PYTHON] [--calls]

Each FOLDER is a project whose tests run with a bare ``pytest``, in an environment (``--python``) that has it, its test
dependencies and pytest-selfheal. A change replaces one statement that runs in a test by ``raise``, so that every test that
executes it shows: the truth is what no longer ends as it did. *Missed* are tests of the truth that the set lacks (of those
that change in two runs out of two); *size* is the set's size by the truth's, *time* that of its tests by theirs.

With ``--calls`` the set is the one of a first red run from Python 3.12 on: by the calls that the run itself has shown.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.calls import Calls
from pytest_selfheal.judge import affected as affected_module
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import FileChange


def project_of(folder: Path, python: str, **facts: object) -> Project:
    root = folder.resolve()
    ini = next(
        (root / n for n in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg") if (root / n).exists()), None
    )
    return Project(
        rootdir=root,
        top=root,
        git=False,
        inipath=ini,
        invocation_dir=root,
        pytest_args=(),
        import_roots=(root, *(path for path in [root / "src"] if path.is_dir())),
        python=python,
        **facts,  # type: ignore[arg-type]
    )


def statements(source: bytes) -> Iterator[tuple[int, int]]:
    """Line and column of simple statements on one line of their own, inside functions."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr))
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if simple and not docstring and node.lineno == node.end_lineno:
                yield node.lineno, node.col_offset


def broken(source: bytes, line: int, column: int) -> bytes | None:
    lines = source.splitlines(keepends=True)
    text = lines[line - 1]
    if text[:column].strip() or b";" in text:
        return None
    end = b"\r\n" if text.endswith(b"\r\n") else b"\n"
    lines[line - 1] = text[:column] + b"raise RuntimeError('broken')" + end
    return b"".join(lines)


def calls_of(folder: Path, python: str) -> Calls:
    """Of a run with ``--selfheal`` of the tests, which must all pass."""
    with tempfile.TemporaryDirectory() as name:
        told = Path(name, "calls.json")
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "CALLS_DUMP": str(told)}
        command = [python, "-m", "pytest", "-q", "--selfheal", "-p", "calls_dump"]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True)
        wire = json.loads(told.read_text("utf-8"))
    wire["groups"] = [bytes(numbers) for numbers in wire["groups"]]
    wire["reads"] = {int(group): paths for group, paths in wire["reads"].items()}
    calls = Calls()
    calls.add(wire)
    return calls


def measure(folder: Path, python: str, count: int, seed: int, by_calls: bool) -> list[tuple[str, int, int, int, float]]:
    """(place, size of the truth, size of the set, missed, seconds of the set by those of the truth) of each change."""
    affected_module.WORTH_MEASURING_SECONDS = 0.0  # also where the plugin would simply run all tests
    settings = Settings(sandbox="process", dir=".selfheal-benchmark", memory=8192.0)
    with Workshop(project_of(folder, python), settings) as workshop:
        started = time.monotonic()
        plain = run_tests(workshop, workshop.pristine, None)
        seconds = time.monotonic() - started
        stable = {n: o for n, o in plain.outcomes.items() if o in ("passed", "xfailed", "skipped")}
        print(f"{folder.name}: {len(stable)} tests, plain run {seconds:.1f} s", flush=True)
        workshop.project = project_of(folder, python, outcomes=stable, durations=plain.durations)
        tests = AffectedTests(workshop.project, workshop.pristine.top, workshop)
        started = time.monotonic()
        names = [path.relative_to(workshop.pristine.top).as_posix() for path in workshop.pristine.top.rglob("*.py")]
        code = sorted(name for name in names if not workshop.project.is_test_file(name) and "docs" not in name)
        tests.measure(code)
        assert tests._thread is not None
        tests._thread.join()
        _, coverage = tests._maps()
        assert coverage is not None
        known = {nodeid: entry for nodeid in stable if (entry := coverage.get(nodeid)) is not None}
        print(f"  coverage of {len(known)} tests in {time.monotonic() - started:.1f} s", flush=True)
        if by_calls:
            calls = calls_of(folder, python)
            print(f"  calls of {len(calls.tests)} tests in {len(calls.groups)} groups", flush=True)
            tests = AffectedTests(replace(workshop.project, calls=calls), workshop.pristine.top, workshop)
        places = [
            (name, line, column)
            for name in code
            for line, column in sorted(set(statements((workshop.pristine.top / name).read_bytes())))
            if any(line in entry.lines.get(name, ()) for entry in known.values())
        ]
        random.Random(seed).shuffle(places)
        found = []
        for name, line, column in places:
            if len(found) == count:
                break
            before = (workshop.pristine.top / name).read_bytes()
            after = broken(before, line, column)
            if after is None:
                continue
            change = FileChange(name, before, after)
            affected = set(tests.of([name], (), [change]).nodeids)
            with workshop.fresh([change]) as workspace:
                run = run_tests(workshop, workspace, None)
                truth = {n for n, o in stable.items() if run.outcomes.get(n) != o}
                missed = truth - affected
                if missed:  # a flaky test is nobody's miss
                    again = run_tests(workshop, workspace, None)
                    missed = {n for n in missed if again.outcomes.get(n) != stable[n]}
            took = [sum(plain.durations.get(n, 0.0) for n in part) for part in (affected, truth)]
            found.append((f"{name}:{line}", len(truth), len(affected), len(missed), took[0] / max(took[1], 0.01)))
            print(
                f"  {name}:{line}: truth {len(truth)} ({took[1]:.2f} s), set {len(affected)} ({took[0]:.2f} s), "
                f"missed {sorted(missed)[:3]}",
                flush=True,
            )
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    everything = [
        result
        for folder in options.folders
        for result in measure(folder, options.python, options.changes, options.seed, options.calls)
    ]
    ratios = [size / truth for _, truth, size, *_ in everything if truth]
    times = [time for _, truth, _, _, time in everything if truth]
    missed = sum(missed for _, _, _, missed, _ in everything)
    print(
        f"{len(everything)} changes: {missed} tests missed; size of the set by the truth, median {statistics.median(ratios):.2f}, "
        f"its time {statistics.median(times):.2f}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
