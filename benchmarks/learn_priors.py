"""Learn the priors of the repair operators: how often a candidate of each kind is the fix.

    python benchmarks/learn_priors.py --mbpp mbpp.jsonl --humanevalfix humanevalpack-python.jsonl

Faulty programs are mutants of the even-numbered MBPP solutions, made by a mutation tool that is not ours, and the even-numbered
HumanEvalFix tasks; odd-numbered tasks are never read. Each candidate is run on the task's tests and, when they pass, compared
with the reference on inputs mutated from the tests'. Per key we count candidates tried, right ones, and green ones that are wrong.

weight = (right + K · parent) / (tried + K) · (right + 1) / (right + wrong + 1), with K pseudo-candidates; the root is the family's base
rate (``--base``, from reading real fixes), half of which is also the least that the family keeps.

Needs, beside the package: mutmut==3.8.1 (``pip install mutmut==3.8.1``). POSIX only (fork).
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import copy
import itertools
import json
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from pytest_selfheal.propose.search.candidate import apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import generate
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Suspect

PSEUDO = 300.0
"""Pseudo-candidates with which a key's parent speaks."""
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


def humanevalfix(path: Path) -> Iterator[Program]:
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        if number % 2:
            continue
        row = json.loads(line)
        yield Program(
            row["task_id"],
            row["declaration"] + row["buggy_solution"],
            row["declaration"] + row["canonical_solution"],
            row["test"],
            row["entry_point"],
            3.0,
        )


def mutants(path: Path, most: int, seed: int) -> Iterator[Program]:
    """One or two mutants of each of ``most`` even-numbered MBPP solutions."""
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
    rows = [row for row in rows if row["task_id"] % 2 == 0]
    chance = random.Random(seed)
    chance.shuffle(rows)
    found = 0
    for row in rows:
        code = row["code"].replace("\r\n", "\n").replace("\t", "    ")
        tests = "\n".join([row["test_setup_code"].replace("\r\n", "\n"), *row["test_list"]])
        entry = next(
            (n.func.id for n in ast.walk(ast.parse(tests)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)),
            "",
        )
        names = {n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)}
        calls = [
            n.func.id for n in ast.walk(ast.parse(tests)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        ]
        entry = next((c for c in calls if c in names), entry)
        module, mutations, *_ = create_mutations("task.py", code)
        for mutation in chance.sample(list(mutations), min(3, len(mutations))):
            text = deep_replace(module, mutation.original_node, mutation.mutated_node).code
            with contextlib.suppress(SyntaxError):
                if ast.dump(ast.parse(text)) != ast.dump(ast.parse(code)):
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


def count(program: Program, most: int, totals: dict[str, list[float]]) -> int:
    """Add one program's candidates to the totals; returns how many were right, -1 when its tests do not fail.

    A program's right candidates share its credit (each counts 1/√n), so that a program with many equivalent repairs does not
    outvote those with one.
    """
    judge = Judge(program)
    if judge.verdicts([program.code, program.reference]) not in ([WRONG, RIGHT], [WRONG, DIFFERENT]):
        return -1
    source = Source("task.py", program.code)
    context = Context.build([], {"task.py": source}, [program.tests])
    suspects = [Suspect("task.py", 0, name, 1.0) for name in source.functions if "<locals>" not in name]
    stream = itertools.islice(generate({"task.py": source}, suspects, context), most)
    seen: list[tuple[str, int]] = []
    while batch := list(itertools.islice(stream, BATCH)):
        verdicts = judge.verdicts([apply(program.code, c.edits) for c in batch])
        seen += [(c.operator, v) for c, v in zip(batch, verdicts, strict=True)]
    right = sum(v == RIGHT for _, v in seen)
    green = sum(v != WRONG for _, v in seen)
    credit = program.share / max(green, 1) ** 0.5
    for operator, verdict in seen:
        key = operator
        while key:
            row = totals[key]
            row[0] += 1
            row[1] += credit * (verdict == RIGHT)
            row[2] += credit * (verdict == DIFFERENT)
            key = key.rpartition("/")[0]
    return right


def weights(totals: dict[str, list[float]], base: dict[str, float]) -> dict[str, float]:
    """Smoothed weights, parents first; families that were never tried keep their base rate."""
    found: dict[str, float] = dict(base)
    for key in sorted(totals, key=lambda k: k.count("/")):
        tried, right, wrong = totals[key]
        up = key.rpartition("/")[0]
        while up and up not in found:
            up = up.rpartition("/")[0]
        parent = base.get(key, found.get(up, 0.001))
        rate = (right + PSEUDO * parent) / (tried + PSEUDO)
        learned = rate * (right + 1) / (right + wrong + 1)
        found[key] = max(learned, base.get(key, 0.0) / 2)  # tasks and mutants show little of what real fixes need
    return {key: float(f"{value:.3g}") for key, value in found.items() if keeps(key, value, found)}


def keeps(key: str, value: float, found: dict[str, float]) -> bool:
    """Whether a key says something that its parent does not."""
    up = key.rpartition("/")[0]
    parent = found.get(up)
    return parent is None or not 0.8 < value / parent < 1.25


def main() -> None:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbpp", type=Path, required=True, help="MBPP, one JSON object a line")
    parser.add_argument(
        "--humanevalfix", type=Path, required=True, help="HumanEvalPack (Python), one JSON object a line"
    )
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--candidates", type=int, default=3000, help="most candidates of one program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=Path, default=here / "base_rates.json", help="JSON: base rate per family")
    shipped = here.parent / "pytest_selfheal" / "propose" / "search" / "priors.json"
    parser.add_argument("--output", type=Path, default=shipped)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    totals: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0, 0.0])
    programs = [*humanevalfix(options.humanevalfix), *mutants(options.mbpp, options.mutants, options.seed)]
    healed = used = 0
    for program in programs:
        right = count(program, options.candidates, totals)
        used += right >= 0
        print(f"\r{used} programs, {healed} healed", end="", file=sys.stderr, flush=True)
        healed += right > 0
    base = json.loads(options.base.read_text("utf-8"))
    learned = weights(totals, base)
    data = {"programs": used, "candidates": options.candidates, "weights": dict(sorted(learned.items()))}
    options.output.write_text(json.dumps(data, indent=0) + "\n", "utf-8")
    print(
        f"{used} programs, {healed} with a right candidate among the first {options.candidates}; {len(learned)} weights"
    )


if __name__ == "__main__":
    main()
