"""Whether generated tests earn their place: fresh interpreters decide, for each test by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pytest_selfheal import parsing
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.types import FileChange

REPEATS = 5
TEST_SECONDS = 5.0
"""Wall seconds for one generated test."""
SUITE_SECONDS = 60.0
"""A suite that takes longer is represented by the tests that the change affects."""
PLUGIN = "pytest_selfheal.testgen.inside.repeat"


@dataclass
class Verdict:
    """What became of the tests of some new files; nodeids are relative to rootdir."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """nodeid → why it is dropped."""
    fails_before: set[str] = field(default_factory=set)
    broken: str = ""
    """Why nothing could be judged."""


def judge(
    workshop: Workshop,
    patch: Iterable[FileChange],
    files: Sequence[FileChange],
    others: Sequence[str],
    *,
    before: bool,
    prefix: str,
) -> Verdict:
    """Run new test ``files`` on the code with ``patch``: five times alone in random order, once among ``others``; and, with
    ``before``, on the code without it."""
    names = [_from_rootdir(change.path, prefix) for change in files]
    verdict = Verdict()

    def run(number: int, changes: Sequence[FileChange], nodeids: Sequence[str], times: int) -> ChildRun:
        with workshop.fresh([*changes, *files]) as workspace:
            orders = orders_for(names, times, number)
            return run_tests(workshop, workspace, nodeids, plugins=[PLUGIN], config=orders)

    patched = list(patch)
    with ThreadPoolExecutor(2, thread_name_prefix="selfheal-tests") as pool:
        alone = pool.submit(run, 1, patched, names, REPEATS)
        among = pool.submit(run, 2, patched, [*names, *others], 1) if others else None
        old = pool.submit(run, 3, [], names, 1) if before else None
        runs = [("fails when it is repeated", alone.result())]
        if among is not None:
            runs.append(("fails among the other tests", among.result()))
        first = runs[0][1]
        if first.tampered or first.outside or not first.finished:
            verdict.broken = first.tampered or (
                "the copy's code was not what was imported"
                if first.outside
                else "the tests' process did not end by itself"
            )
            return verdict
        ours = [n for n in first.collected if n.partition("::")[0] in names]
        for nodeid in ours:
            for why, result in runs:
                if result.finished and result.outcomes.get(nodeid) != "passed":
                    verdict.failed[nodeid] = why
                    break
            else:
                verdict.passed.add(nodeid)
        if old is not None:
            result = old.result()
            whole = any(result.outcomes.get(name) == "error" for name in names)
            verdict.fails_before = {
                n for n in ours if whole or result.outcomes.get(n) in ("failed", "error") or not result.finished
            }
    if not ours:
        verdict.broken = "the generated tests could not be collected"
    return verdict


def orders_for(files: Sequence[str], times: int, seed: int) -> dict[str, object]:
    """What the judging child is told: how often, in which order, and how long a test of the new ``files`` may take."""
    return {"repeat": {"times": times, "seed": seed, "files": list(files), "seconds": TEST_SECONDS}}


def others_for(workshop: Workshop, affected: Sequence[str]) -> list[str]:
    """The rest of the suite: tests that passed, all of them where that is quick, else those that the change affects."""
    project = workshop.project
    passing = [nodeid for nodeid, outcome in project.outcomes.items() if outcome == "passed"]
    if sum(project.durations.get(nodeid, 0.0) for nodeid in passing) <= SUITE_SECONDS:
        return passing
    return [nodeid for nodeid in affected if nodeid in set(passing)]


_FORBIDDEN_IMPORTS = frozenset(
    ("socket", "requests", "urllib", "http", "httpx", "aiohttp", "ftplib", "smtplib", "random", "secrets")
)
_FORBIDDEN_CALLS = re.compile(
    r"\b(?:datetime|date)\.(?:now|today|utcnow)\(|\btime\.(?:time|sleep|monotonic|perf_counter|localtime)\(|\buuid\.uuid[14]\(|"
    r"\bos\.(?:urandom|getpid|getcwd|system)\(|\bsubprocess\.|\bhash\(|\bid\("
)
_ABSOLUTE = re.compile(r"^(?:/(?:home|tmp|usr|var|etc|root|Users|opt|mnt|private)/|[A-Za-z]:\\)")


def refused(text: str, modules: Mapping[str, bool]) -> str:
    """Why a test file may not be kept whatever it does; empty when nothing speaks against it.

    ``modules`` names the project's test helpers (modules that only tests define) and whether they exist.
    """
    try:
        tree = parsing.parse(text)
    except (SyntaxError, ValueError):
        return "it does not parse"
    if found := _FORBIDDEN_CALLS.search(text):
        return f"it depends on the moment or the machine ({found.group().rstrip('(')})"
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for name in names:
                if name.partition(".")[0] in _FORBIDDEN_IMPORTS:
                    return f"it imports {name}"
                if modules.get(name) is False:
                    return f"it imports {name}, which does not exist"
            if isinstance(node, ast.ImportFrom) and node.level:
                return "it imports relatively"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _ABSOLUTE.match(node.value):
            return f"it names an absolute path ({node.value[:40]})"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_empty_test(node):
            return f"{node.name} asserts nothing"
    return ""


def _is_empty_test(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function.name.startswith("test") and not _asserts(function)


def _asserts(function: ast.AST) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, ast.Attribute) and (node.attr in ("raises", "warns") or node.attr.startswith("assert")):
            return True
    return False


def _from_rootdir(path: str, prefix: str) -> str:
    return path.removeprefix(f"{prefix}/") if prefix else path
