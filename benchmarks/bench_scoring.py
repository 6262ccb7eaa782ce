"""The scorer alone: every reference must be scored right and equivalent, wrong programs never right; time a task.

``python benchmarks/bench_scoring.py SUITE DATA [--every N]``
"""

from __future__ import annotations

import argparse
import statistics
import time

from pytest_selfheal.bench import scoring, suites
from pytest_selfheal.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("data")
    parser.add_argument("--every", type=int, default=1, help="only every N-th task")
    arguments = parser.parse_args()
    settings = Settings(bench=arguments.suite, bench_data=arguments.data)
    suite = suites.load(settings)
    tasks = suite.tasks[:: arguments.every]
    right = wrong = broken = equivalent = compared = 0
    oracle_seconds, score_seconds = [], []
    for task in tasks:
        answer = suite.answers[task.task_id]
        assert answer.reference is not None
        start = time.perf_counter()
        oracle = scoring.ask_oracle(task, answer, settings)
        middle = time.perf_counter()
        found = scoring.score(task, answer, {**task.files, task.path: answer.reference.encode()}, settings, oracle)
        end = time.perf_counter()
        oracle_seconds.append(middle - start)
        score_seconds.append(end - middle)
        right += found.passed
        compared += found.equivalent is not None
        equivalent += found.equivalent is True
        nothing = f"def {task.entry_point}(*_, **__):\n    return object()\n"
        wrong += scoring.score(task, answer, {**task.files, task.path: nothing.encode()}, settings).passed
        broken += scoring.score(task, answer, task.files, settings).passed
    print(f"{suite.name}: {len(tasks)} tasks")
    print(f"  references scored right            {right}/{len(tasks)}")
    print(f"  … and equivalent to themselves     {equivalent}/{compared} (null for {len(tasks) - compared})")
    print(f"  wrong replies scored right         {wrong}/{len(tasks)}")
    print(f"  given programs scored right        {broken}/{len(tasks)}")
    print(f"  scoring, median                    {1000 * statistics.median(score_seconds):.0f} ms")
    print(f"  asking the reference, median       {1000 * statistics.median(oracle_seconds):.0f} ms")


if __name__ == "__main__":
    main()
