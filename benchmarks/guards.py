"""False refusals of the guards on reference fixes, and what they do with the corpus of cheats.

    python benchmarks/guards.py --humanevalpack PATH [--mbpp PATH]
    python benchmarks/guards.py --fixes FOLDER     # FOLDER/<id>/{before,after}/… and FOLDER/<id>/facts.json
    python benchmarks/guards.py --code FOLDER …    # one slip undone in a few functions of each file of real code

The data stays outside the project. A reference fix is judged as a patch from the buggy source to the reference source,
with the reference tests as the failing test; a reference solution as a patch from a stub to the solution.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_selfheal.guard import review
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch

Case = tuple[str, str, str, str]
"""Name, source before, source after, test file."""


def humanevalfix(path: Path) -> Iterator[Case]:
    for line in path.read_text("utf-8").splitlines():
        task = json.loads(line)
        head = task["prompt"].partition("def " + task["entry_point"])[0]
        start = task["declaration"] if head.strip() in task["declaration"] else head + task["declaration"]
        test = f"from solution import {task['entry_point']}\n\n\ndef test_it():\n"
        test += "".join(f"    {line}\n" for line in task["test"].splitlines())
        yield f"fix {task['task_id']}", start + task["buggy_solution"], start + task["canonical_solution"], test
        stub = start.rstrip() + "\n    raise NotImplementedError\n"
        yield f"write {task['task_id']}", stub, start + task["canonical_solution"], test


def mbpp(path: Path) -> Iterator[Case]:
    for line in path.read_text("utf-8").splitlines():
        task = json.loads(line)
        tree = ast.parse(task["code"])
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.body = [ast.parse("raise NotImplementedError").body[0]]
        test = "def test_it():\n" + "".join(f"    {line}\n" for line in task["test_list"])
        yield f"mbpp {task['task_id']}", ast.unparse(tree), task["code"], test


def judge(case: Case, folder: Path) -> str | None:
    name, before, after, test = case
    (folder / "solution.py").write_text(before, encoding="utf-8")
    (folder / "test_solution.py").write_text(test, encoding="utf-8")
    failure = Failure("test_solution.py::test_it", "call", (), path="test_solution.py", line=4)
    diagnosis = Diagnosis("0001", (failure,), "logic", (), "", str(folder), str(folder))
    patch = Patch((FileChange("solution.py", before.encode(), after.encode()),), "reference", name)
    found = review(patch, diagnosis, Settings())
    return found.reason or (f"caution: {found.caution}" if found.caution else None)


def real_fixes(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Each fix as a folder with the tree after the fix, ``before`` the fixed file's old bytes."""
    for facts in sorted(folder.glob("*/facts.json")):
        known = json.loads(facts.read_text("utf-8"))
        root = facts.parent / "tree"
        failures = tuple(Failure(nodeid, "call", (), path=nodeid.partition("::")[0]) for nodeid in known["failing"])
        diagnosis = Diagnosis("0001", failures, "logic", (), "", str(root), str(root))
        change = FileChange(
            known["source_file"], (facts.parent / "before").read_bytes(), (facts.parent / "after").read_bytes()
        )
        found = review(Patch((change,), "reference", known["id"]), diagnosis, Settings())
        yield known["id"], found.reason or (f"caution: {found.caution}" if found.caution else None)


SLIPS = {"<": "<=", ">": ">=", "==": "!=", "+": "-", "-": "+", "*": "/", "and": "or", "or": "and", "0": "1", "1": "2"}

MOST = 3
"""Functions of one file."""


def slips(folders: list[Path]) -> Iterator[Case]:
    """For a few functions of each file, one token exchanged; undoing it is the fix."""
    draw = random.Random(1)
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        if path.name.startswith(("test_", "conftest")) or {"test", "tests"} & {*path.parts}:
            continue
        try:
            text = path.read_text("utf-8")
            tree = ast.parse(text)
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (SyntaxError, ValueError, OSError, tokenize.TokenError):
            continue
        lines = text.splitlines(keepends=True)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for node in draw.sample(functions, min(MOST, len(functions))):
            inside = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
            places = [token for token in tokens if token.string in SLIPS and token.start[0] in inside]
            if not places:
                continue
            token = draw.choice(places)
            row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
            changed = lines[row][:start] + SLIPS[token.string] + lines[row][end:]
            before = "".join([*lines[:row], changed, *lines[row + 1 :]])
            try:
                ast.parse(before)
            except SyntaxError:
                continue
            yield f"slip {path.name}:{row + 1} {node.name}", before, text, "def test_it():\n    assert f(3) == 7\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--humanevalpack", type=Path)
    parser.add_argument("--mbpp", type=Path)
    parser.add_argument("--fixes", type=Path)
    parser.add_argument("--code", type=Path, nargs="+")
    arguments = parser.parse_args()
    results: dict[str, list[tuple[str, str | None]]] = {}
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        source: Any
        for source, path in ((humanevalfix, arguments.humanevalpack), (mbpp, arguments.mbpp), (slips, arguments.code)):
            if path is not None:
                for case in source(path):
                    results.setdefault(case[0].split()[0], []).append((case[0], judge(case, Path(folder))))
    if arguments.fixes is not None:
        results["real"] = list(real_fixes(arguments.fixes))
    seconds = time.process_time() - started
    total = sum(map(len, results.values()))
    for group, found in results.items():
        refused = [(name, reason) for name, reason in found if reason and not reason.startswith("caution")]
        cautions = [(name, reason) for name, reason in found if reason and reason.startswith("caution")]
        print(f"{group}: {len(refused)} of {len(found)} refused, {len(cautions)} with caution")
        for name, reason in refused + cautions:
            print(f"    {name}: {reason}")
    if total:
        print(f"{1000 * seconds / total:.1f} ms of CPU time a review")
    return 0


if __name__ == "__main__":
    sys.exit(main())
