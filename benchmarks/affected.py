"""Affected tests against the truth: break one line, run the whole suite, and see whether all tests that changed were in the set.

    python benchmarks/affected.py FOLDER... [--changes 10] [--seed 0] [--python PYTHON]

Each FOLDER is a project whose tests run with a bare ``pytest``, in an environment (``--python``) that has it, its test
dependencies and pytest-selfheal. A change replaces one statement that runs in a test by ``raise``, so that every test that
executes it shows: the truth is what no longer ends as it did. *Missed* are tests of the truth that the set lacks (of those
that change in two runs out of two); *size* is the set's size by the truth's.
"""

from __future__ import annotations

import argparse
import ast
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


def measure(folder: Path, python: str, count: int, seed: int) -> list[tuple[str, int, int, int]]:
    """(place, size of the truth, size of the set, missed) of each change."""
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
            found.append((f"{name}:{line}", len(truth), len(affected), len(missed)))
            print(f"  {name}:{line}: truth {len(truth)}, set {len(affected)}, missed {sorted(missed)[:3]}", flush=True)
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    everything = [
        result
        for folder in options.folders
        for result in measure(folder, options.python, options.changes, options.seed)
    ]
    ratios = [size / truth for _, truth, size, _ in everything if truth]
    missed = sum(missed for *_, missed in everything)
    print(
        f"{len(everything)} changes: {missed} tests missed; size of the set by the truth, median {statistics.median(ratios):.2f}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
