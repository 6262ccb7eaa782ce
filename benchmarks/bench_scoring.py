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
    seconds = []
    for task in tasks:
        answer = suite.answers[task.task_id]
        assert answer.reference is not None
        start = time.perf_counter()
        files = {**task.files, task.path: answer.reference.encode()}
        found, _ = scoring.score_beside_reference(task, answer, files, settings)
        seconds.append(time.perf_counter() - start)
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
    print(f"  asking the reference and scoring   {1000 * statistics.median(seconds):.0f} ms (median)")


if __name__ == "__main__":
    main()
