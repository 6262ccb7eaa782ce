"""How many candidates a second the embedded engine screens, how soon the first plausible patch is there, and what it takes.

    python benchmarks/screening.py [--seconds 10]

Two projects that no small change heals, so that the engine screens until its CPU seconds are spent: one test function
with several asserts and no fixtures, one with function-scoped fixtures. Then a project with a small bug, for the time
from the collected session to the screened patch. Candidates a second are per CPU second of one core: first of screening
alone (forks, swaps, tests), then with generating and compiling; fresh imports (the slow path) are left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_selfheal.diagnose import diagnose
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.propose.search.orders import Orders
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis

BODY = """\
def shuffle(values, low, high):
    out = []
    for index, value in enumerate(values):
        if value < low:
            value = low
        elif value > high:
            value = high
        if index % 2 == 0 and value != low:
            out.append(value + index)
        else:
            out.insert(0, value - index)
    return out[1:] + out[:1]
"""
BARE = """\
from m import shuffle


def test_it():
    assert shuffle([], 0, 9) == []
    assert shuffle([4], 0, 9) == [4]
    assert shuffle([4, 5, 6], 0, 9) == [41, 7, 11]
    assert shuffle([1, 2, 3, 4, 5], 2, 4) == [3, 77, 1, 10, 2]
    assert shuffle([10, -10], 0, 5) == ["a", 12]
"""
FIXTURES = """\
import pytest
from m import shuffle


@pytest.fixture
def values():
    return [4, 5, 6]


@pytest.fixture
def bounds(values):
    yield min(values), max(values) + 3
    values.clear()


def test_it(values, bounds):
    assert len(values) == 3
    assert shuffle(values, *bounds) == [41, 7, 11]
"""
BUG = {
    "m.py": "def clamp(x, low, high):\n    if x < low:\n        return low\n    if x > high:\n        return low\n    return x\n",
    "test_m.py": "from m import clamp\n\n\ndef test_it():\n    assert clamp(1, 0, 5) == 1\n    assert clamp(9, 0, 5) == 5\n    assert clamp(-1, 0, 5) == 0\n",
}


@contextmanager
def failing(files: dict[str, str]) -> Iterator[tuple[Workshop, Diagnosis]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        root.mkdir()
        for name, text in files.items():
            (root / name).write_text(text)
        project = Project(root, root, False, None, root, (), (root,), sys.executable)
        with Workshop(project, Settings(sandbox="process")) as workshop:
            run = run_tests(workshop, workshop.pristine, None)
            yield workshop, diagnose(1, run.failures, root=str(root), rootdir=str(root))


def engine(files: dict[str, str], cpu: float) -> list[dict[str, Any]]:
    """The engine's messages, each with the wall second at which it came."""
    messages: list[dict[str, Any]] = []
    with failing(files) as (workshop, diagnosis), workshop.fresh() as workspace:
        folder = Path(tempfile.mkdtemp(dir=workshop.folder))
        (folder / "go-on").write_text("99")
        orders = Orders(
            diagnosis=diagnosis,
            passing=(),
            others=(),
            durations={},
            top=str(workspace.seen_top),
            rootdir=str(workspace.seen_rootdir),
            editable=("m.py",),
            cpu_seconds=cpu,
            wall_seconds=600.0,
            go_on=str(folder / "go-on"),
            test_timeout=60.0,
        )
        run_tests(
            workshop,
            workspace,
            diagnosis.nodeids,
            timeout=900,
            plugins=["pytest_selfheal.propose.search.engine"],
            config=orders.to_json(),
            on_message=lambda message: messages.append({**message, "at": time.monotonic()}),
            tmp=folder,
        )
    return messages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds for each of the two long searches")
    parser.add_argument("--repeats", type=int, default=5, help="searches of the project with the small bug")
    options = parser.parse_args()
    print(
        f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs, Python {sys.version.split()[0]}"
    )
    for name, test in (("no fixtures, several asserts", BARE), ("function-scoped fixtures", FIXTURES)):
        messages = engine({"m.py": BODY, "test_m.py": test}, options.seconds)
        ready, last = messages[0], messages[-1]
        spent = last["cpu"] - ready["cpu"] - last["slow"]
        tried, screening = last["tried"], last["screening"]
        own, child = last["memory_mib"]
        print(
            f"{name}: {tried} candidates, {tried / screening:,.0f} a second screened, "
            f"{tried / spent:,.0f} a second generated, compiled and screened "
            f"({', '.join(ready['ways'])}; peak memory {own:.0f} MiB, of a screening child {child:.0f} MiB)"
        )
    cpu = []
    for _ in range(options.repeats):
        found = next(message for message in engine(BUG, 2.0) if message["event"] == "patches")
        cpu.append(found["first"])
    print(f"from the collected session to the first plausible patch: median {statistics.median(cpu):.2f} CPU s")


if __name__ == "__main__":
    main()
