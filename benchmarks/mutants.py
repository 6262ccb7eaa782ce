"""Write seeded faults as benchmark tasks: mutants of the odd-numbered MBPP solutions, a quarter of them with two edits.

    python benchmarks/mutants.py mbpp.jsonl --output mutants.jsonl [--count 400] [--seed 7]
    pytest --selfheal-bench humanevalfix --selfheal-bench-data=mutants.jsonl -n 2

Mutants come from mutmut, not from our own operators run backwards; those that the tests do not notice are left out. The
odd-numbered solutions were used for nothing else: neither the priors nor the operators have seen them.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import Any

from mutation import DIFFERENT, RIGHT, WRONG, Judge, Program, mutants


def record(number: int, program: Program) -> dict[str, Any]:
    """One line in the form of HumanEvalPack."""
    check = "check" if program.entry != "check" else "check_all"
    return {
        "task_id": f"{program.name}-{number}",
        "declaration": "\n",
        "buggy_solution": program.code.strip("\n") + "\n",
        "canonical_solution": program.reference.strip("\n") + "\n",
        # The parameter shadows the function, so that the asserts stay as they were published.
        "test": f"def {check}({program.entry}):\n{textwrap.indent(program.tests.strip(), '    ')}\n\n{check}({program.entry})\n",
        "entry_point": program.entry,
        "docstring": "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mbpp", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    lines: list[str] = []
    seen: set[str] = set()
    for program in mutants(options.mbpp, 100_000, options.seed, parity=1, of_each=2, twice=0.25):
        verdicts = Judge(program).verdicts([program.code, program.reference])
        if program.code not in seen and verdicts[0] == WRONG and verdicts[1] in (RIGHT, DIFFERENT):
            seen.add(program.code)
            lines.append(json.dumps(record(len(lines), program)))
        if len(lines) == options.count:
            break
    options.output.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(lines)} tasks in {options.output}")


if __name__ == "__main__":
    main()
