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
import collections
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from mutation import BATCH, DIFFERENT, RIGHT, WRONG, Judge, Program, mutants

from pytest_selfheal.propose.search.candidate import apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import generate
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Suspect

PSEUDO = 300.0
"""Pseudo-candidates with which a key's parent speaks."""


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
