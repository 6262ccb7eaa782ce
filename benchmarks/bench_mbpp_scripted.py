"""MBPP or HumanEval generation with a scripted model: right replies must all be scored right, wrong replies none.

The replies come from the references (``--replies right``), or from a function that returns what no test expects
(``--replies wrong``); everything between prompt and score is real: litellm, HTTP on loopback, parsing, verification,
the scorer's own process. ``python benchmarks/bench_mbpp_scripted.py DATA [--replies right|wrong] [--limit N] [--resume]``;
``--suite humaneval`` does the same for that suite, ``--few-shot K`` shows the model solved tasks first; ``--resume``
leaves out the tasks that stand in the output folder already, and the summary adds the parts up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from pytest_selfheal.bench import suites
from pytest_selfheal.bench.suites.source import MODULE_PATH, function
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Request, ScriptedModel


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--replies", choices=["right", "wrong"], default="right")
    parser.add_argument("--suite", choices=["mbpp", "humaneval"], default="mbpp")
    parser.add_argument("--few-shot", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--output", default="selfheal-bench")
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    asked = Settings(
        bench=arguments.suite, bench_data=arguments.data, bench_limit=arguments.limit, few_shot=arguments.few_shot
    )
    suite = suites.load(asked)
    answers = {}
    for task in suite.tasks:
        stub = task.files[MODULE_PATH].decode()
        node = function(stub, task.entry_point)
        assert node is not None
        header = stub.splitlines()[node.lineno - 1]
        tests = [line.strip() for line in suite.answers[task.task_id].tests.splitlines() if "assert" in line]
        answers[header, tests[0] if tests else ""] = (task, suite.answers[task.task_id])

    def reply(request: Request) -> str:
        for (header, text), (_, answer) in answers.items():
            if header in request.prompt and text in request.prompt:
                code = answer.reference or ""
                if arguments.replies == "wrong":
                    code = f"{header}\n    return object()\n"
                return f"The stub has to be written.\n\n```python\n# FILE: {MODULE_PATH}\n{code}\n```\n"
        return "I do not know."

    with ScriptedModel(reply) as model:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--selfheal-bench", arguments.suite]
        command += [
            f"--selfheal-bench-data={arguments.data}",
            "--selfheal-strategy",
            "model",
            "--selfheal-effort",
            "fast",
        ]
        command += ["--selfheal-max-cost", "1000", "--selfheal-max-tokens", "100000000", *model.options]
        command += ["--selfheal-time-limit", "3600"]  # wall time, of which a busy machine takes any amount
        command += [f"--selfheal-bench-output={arguments.output}", "-n", arguments.workers]
        if arguments.few_shot:
            command += ["--selfheal-few-shot", str(arguments.few_shot)]
        if arguments.limit:
            command += ["--selfheal-bench-limit", str(arguments.limit)]
        if arguments.resume:
            done = finished(Path(arguments.output))
            command += [f"{arguments.suite}::{task.task_id}" for task in suite.tasks if task.task_id not in done]
        return subprocess.run(command, check=False).returncode


def finished(folder: Path) -> set[str]:
    """The tasks that have a line in a results file of ``folder``."""
    lines = (line for path in folder.glob("*.jsonl") for line in path.read_text("utf-8").splitlines())
    return {record["task_id"] for record in map(json.loads, lines) if "task_id" in record}


if __name__ == "__main__":
    raise SystemExit(main())
