"""Try a real model on tasks of HumanEvalFix, through ``pytest --selfheal`` as a user would run it.

    python benchmarks/model_trial.py DATA.jsonl --model openai/coder --api-base http://127.0.0.1:8077/v1 [--tasks 12] \
        [--seed 1] [--strategy model|auto] [--keep DIR] [further pytest options]

Each task becomes a small project: the buggy function and its tests. Reported: how many are healed in the first round
and within all rounds, the share of malformed replies, repeated patches, tokens and seconds. Tasks are chosen at random,
and nothing of them is kept in this repository.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_selfheal.bench.suites.source import with_docstring


def project(task: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True)
    name = task["entry_point"]
    head = task["prompt"].partition(f"def {name}(")[0]
    code = task["declaration"] + task["buggy_solution"]
    if not task["declaration"].startswith(head):
        code = head + code
    docstring = task.get("docstring", "").strip()
    if docstring and docstring not in code:
        code = code.replace(task["declaration"], with_docstring(task["declaration"], docstring, ""), 1)
    (folder / "solution.py").write_text(code, "utf-8")
    body = "\n".join(f"    {line}" if line.strip() else "" for line in task["test"].strip().split("\n"))
    test = f"from solution import *\nfrom solution import {name}\n\n\ndef test_{name}():\n{body}\n"
    (folder / "test_solution.py").write_text(test, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--api-base")
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strategy", default="model")
    parser.add_argument("--keep", type=Path)
    given, options = parser.parse_known_args()
    tasks = [json.loads(line) for line in given.data.read_text("utf-8").splitlines() if line.strip()]
    chosen = random.Random(given.seed).sample(tasks, given.tasks)
    root = given.keep or Path(tempfile.mkdtemp(prefix="selfheal-trial-"))
    first = healed = calls = repaired = 0
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    tokens, seconds = 0, 0.0
    for task in chosen:
        folder = root / task["task_id"].replace("/", "-")
        project(task, folder)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--selfheal"]
        command += ["--selfheal-model", given.model, "--selfheal-strategy", given.strategy]
        command += ["--selfheal-api-base", given.api_base] if given.api_base else []
        start = time.monotonic()
        done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True)
        took = time.monotonic() - start
        try:
            latest = folder / ".selfheal" / "latest"
            report = json.loads((latest / "report.json").read_text("utf-8"))
            trace = [json.loads(line) for line in (latest / "trace.jsonl").read_text("utf-8").splitlines()]
        except OSError:
            print(task["task_id"], "no report", done.stdout[-800:], done.stderr[-800:])
            continue
        for failure in report["failures"]:
            attempts = failure["attempts"]
            mine = [attempt for attempt in attempts if attempt["proposer"] == "model"]
            verdicts.update(attempt["verdict"] for attempt in mine)
            reasons[failure["reason"]] += 1
            good = failure["status"] == "healed"
            healed += good
            first += good and len(attempts) == 1
            asked = sum(event["event"] == "reply" for event in trace)
            calls += asked
            repaired += asked - len(mine)
            by = attempts[-1]["proposer"] if good else "-"
            print(
                task["task_id"],
                failure["status"],
                failure["reason"],
                by,
                [a["verdict"] for a in attempts],
                f"{took:.0f} s",
            )
        tokens += report["totals"]["tokens"]
        seconds += took
        sys.stdout.flush()
    total = len(chosen)
    print(f"healed in the first round {first}/{total}, within all rounds {healed}/{total}")
    malformed = verdicts["malformed"] / max(1, sum(verdicts.values()))
    print(f"attempts {dict(verdicts)}; malformed {malformed:.0%}; calls {calls}, of them repair requests {repaired}")
    print(f"stop reasons {dict(reasons)}; {tokens} tokens, {seconds:.0f} s; kept in {root}")


if __name__ == "__main__":
    main()
