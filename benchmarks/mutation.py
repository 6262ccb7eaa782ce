"""Faulty programs made by a foreign mutation tool, and a judge for them: what the scripts that learn and measure share.

Needs, beside the package: mutmut==3.8.1 (``pip install mutmut==3.8.1``). POSIX only (fork).
"""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
import json
import mmap
import os
import random
import resource
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

BATCH = 250
SECONDS = 0.02
"""CPU time of one candidate."""
WRONG, DIFFERENT, RIGHT = 1, 2, 3


@dataclass(frozen=True)
class Program:
    """A faulty program, its tests (source text) and its reference."""

    name: str
    code: str
    reference: str
    tests: str
    entry: str
    share: float
    """How much one right candidate of it counts."""


def mutants(
    path: Path, most: int, seed: int, parity: int = 0, of_each: int = 3, twice: float = 0.0
) -> Iterator[Program]:
    """About ``most`` mutants of the even-numbered (``parity`` 0) or odd-numbered MBPP solutions, ``of_each`` of one; the share
    ``twice`` of them with two edits. They may be as good as their origin: ask :class:`Judge`."""
    from mutmut.mutation.file_mutation import create_mutations, deep_replace  # type: ignore[import-not-found]

    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # the tool reads its configuration from the current folder
        Path(folder, "setup.cfg").write_text("[mutmut]\nsource_paths=.\n", "utf-8")
        try:
            os.chdir(folder)
            create_mutations("task.py", "x = 1\n")
        finally:
            os.chdir(home)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["task_id"] % 2 == parity]
    chance = random.Random(seed)
    chance.shuffle(rows)
    found = 0
    for row in rows:
        code = row["code"].replace("\r\n", "\n").replace("\t", "    ")
        tests = "\n".join([row["test_setup_code"].replace("\r\n", "\n"), *row["test_list"]])
        calls = [
            n.func.id for n in ast.walk(ast.parse(tests)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        ]
        names = {n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)}
        entry = next((c for c in calls if c in names), "")
        for _ in range(of_each):
            text = code
            for _ in range(1 + (chance.random() < twice)):
                module, mutations, *_ = create_mutations("task.py", text)
                if mutations:
                    mutation = chance.choice(list(mutations))
                    text = deep_replace(module, mutation.original_node, mutation.mutated_node).code
            with contextlib.suppress(SyntaxError):
                if entry and ast.dump(ast.parse(text)) != ast.dump(ast.parse(code)):
                    found += 1
                    yield Program(f"mbpp/{row['task_id']}", text, code, tests, entry, 1.0)
        if found >= most:
            return


class _Late(BaseException):
    """A candidate's CPU time is over."""


def _late(*_: object) -> None:
    raise _Late


def inputs(program: Program, most: int = 60) -> list[tuple[Any, ...]]:
    """Argument lists of the tests' calls, and mutations of them."""
    seeds = []
    for node in ast.walk(ast.parse(program.tests)):
        if isinstance(node, ast.Call) and node.args and not node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in (program.entry, "candidate"):
                with contextlib.suppress(ValueError, TypeError, SyntaxError):
                    seeds.append(tuple(ast.literal_eval(a) for a in node.args))
    chance = random.Random(program.name)
    found = list(seeds)
    while seeds and len(found) < most:
        row = list(copy.deepcopy(chance.choice(seeds)))
        for _ in range(chance.choice((1, 1, 2))):
            i = chance.randrange(len(row))
            row[i] = _mutated(row[i], chance)
        found.append(tuple(row))
    return found


def _mutated(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return chance.choice([value + 1, value - 1, 0, 1, -value, value * 2, chance.randint(0, 20)])
    if isinstance(value, (str, list, tuple)) and value:
        row: Any = value
        i = chance.randrange(len(row))
        options: list[Any] = [row[:i] + row[i + 1 :], row[::-1], row + row[i : i + 1], row[:i], row[i:], row[:0]]
        if not isinstance(row, str):
            options.append(row[:i] + type(row)([_mutated(row[i], chance)]) + row[i + 1 :])
        return chance.choice(options)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        return {**value, key: _mutated(value[key], chance)}
    return value


def _outputs(function: Any, rows: list[tuple[Any, ...]]) -> list[str]:
    found = []
    for row in rows:
        try:
            found.append(repr(function(*copy.deepcopy(row)))[:500])
        except Exception as error:
            found.append(type(error).__name__)
    return found


class Judge:
    """Runs candidates of one program in forked batches."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tests = compile(program.tests, "tests", "exec")
        self.rows = inputs(program)
        self.shared = mmap.mmap(-1, BATCH + 8)

    def verdicts(self, texts: list[str]) -> list[int]:
        """WRONG, DIFFERENT (green, but not the reference's behaviour) or RIGHT for each text."""
        results = [WRONG] * len(texts)
        start = 0
        while start < len(texts):
            self.shared[:] = b"\0" * len(self.shared)
            child = os.fork()
            if child == 0:
                try:
                    self._run(texts[start:])
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            done = list(itertools.takewhile(bool, self.shared[: len(texts) - start]))
            for i, verdict in enumerate(done):
                results[start + i] = verdict
            start += len(done) + 1  # the one that killed the child counts as wrong
        return results

    def _run(self, texts: list[str]) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        signal.signal(signal.SIGVTALRM, _late)
        expected: list[str] = []
        with contextlib.suppress(BaseException):
            signal.setitimer(signal.ITIMER_VIRTUAL, 3.0)
            space: dict[str, Any] = {"__name__": "task"}
            exec(compile(self.program.reference, "task", "exec"), space)
            expected = _outputs(space[self.program.entry], self.rows)
        for i, text in enumerate(texts):
            self.shared[i] = self._one(text, expected)

    def _one(self, text: str, expected: list[str]) -> int:
        verdict = WRONG
        try:
            signal.setitimer(
                signal.ITIMER_PROF, SECONDS * 4
            )  # kills what swallows the exception or never returns to Python
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            code: CodeType = compile(text, "task", "exec")
            space: dict[str, Any] = {"__name__": "task"}
            exec(code, space)
            exec(self.tests, space)
            verdict = DIFFERENT
            signal.setitimer(signal.ITIMER_PROF, 4.0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)
            space = {"__name__": "task"}
            exec(code, space)
            if _outputs(space[self.program.entry], self.rows) == expected:
                verdict = RIGHT
        except BaseException:
            pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        return verdict
