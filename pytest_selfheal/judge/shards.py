"""Run many tests in several children at once, where children cannot meet: shares of about the same length, file by file."""

from __future__ import annotations

import concurrent.futures
import math
from collections.abc import Callable, Mapping, Sequence

from pytest_selfheal.judge.run import ChildRun

SHARE_SECONDS = 4.0
"""Tests that take less are not worth another interpreter and another copy of the project."""


def shares(nodeids: Sequence[str], durations: Mapping[str, float], cores: int) -> list[tuple[str, ...]]:
    """At most ``cores`` shares of the tests, the longest first; a file's tests stay together and in their order.

    ``durations``: seconds by nodeid, of which all shares but the shortest get :data:`SHARE_SECONDS` at least.
    """
    by_file: dict[str, list[str]] = {}
    for nodeid in nodeids:
        by_file.setdefault(nodeid.partition("::")[0], []).append(nodeid)
    seconds = {name: sum(durations.get(nodeid, 0.0) for nodeid in held) for name, held in by_file.items()}
    count = max(1, min(cores, len(by_file), math.ceil(sum(seconds.values()) / SHARE_SECONDS)))
    filled = [0.0] * count
    share_of: dict[str, int] = {}
    for name in sorted(by_file, key=lambda name: -seconds[name]):  # the longest file first, to where least is
        share_of[name] = least = filled.index(min(filled))
        filled[least] += seconds[name]
    found = [tuple(n for name, held in by_file.items() if share_of[name] == i for n in held) for i in range(count)]
    order = sorted(range(count), key=lambda i: -filled[i])
    return [found[i] for i in order if found[i]]


def side_by_side(jobs: Sequence[Callable[[], ChildRun]]) -> ChildRun:
    """Run the jobs at once and sum up: what one of them says against the code is said of the whole."""
    # Each child ends with the thread that started it, so each has one.
    with concurrent.futures.ThreadPoolExecutor(len(jobs), thread_name_prefix="selfheal-share") as pool:
        runs = [future.result() for future in [pool.submit(job) for job in jobs]]
    worst = next((run for run in runs if run.tampered or not run.finished), runs[0])
    whole = ChildRun(
        finished=all(run.finished for run in runs),
        exit_status=worst.exit_status,
        timed_out=any(run.timed_out for run in runs),
        enough=any(run.enough for run in runs),
        tampered=worst.tampered or next((run.tampered for run in runs if run.tampered), ""),
        output=worst.output,
        seconds=max(run.seconds for run in runs),
    )
    for run in runs:
        whole.outcomes.update(run.outcomes)
        whole.durations.update(run.durations)
        whole.assertions.update(run.assertions)
        whole.failures += run.failures
        whole.collected += run.collected
        whole.deselected += run.deselected
        whole.outside += run.outside
        whole.altered += run.altered
    return whole
