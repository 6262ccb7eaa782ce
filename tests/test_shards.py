"""Many affected tests run in several children at once, and what one of them says is said of the whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from healing_helpers import heal_with

from pytest_selfheal.judge import repeats as judging
from pytest_selfheal.judge import shards
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.shards import shares, side_by_side

WALLS = find_bwrap()[0] is not None and (os.cpu_count() or 1) > 1


def test_shares_are_of_about_the_same_length_and_keep_files_together() -> None:
    nodeids = [f"test_{name}.py::test_{n}" for name in "abcd" for n in range(3)]
    durations = dict.fromkeys(nodeids, 1.0) | {"test_c.py::test_0": 4.0}
    found = shares(nodeids, durations, 2)
    assert sorted(n for share in found for n in share) == nodeids
    files = [{n.partition("::")[0] for n in share} for share in found]
    assert files[0].isdisjoint(files[1])
    seconds = [sum(durations[n] for n in share) for share in found]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] - seconds[1] <= 3.0
    assert all(list(share) == sorted(share) for share in found)


@pytest.mark.parametrize(
    ("seconds", "cores", "count"), [(0.0, 8, 1), (3.0, 8, 1), (9.0, 8, 3), (900.0, 8, 4), (900.0, 1, 1), (9.0, 2, 2)]
)
def test_only_what_takes_long_is_divided(seconds: float, cores: int, count: int) -> None:
    nodeids = [f"test_{name}.py::test" for name in "abcd"]
    assert len(shares(nodeids, dict.fromkeys(nodeids, seconds / 4), cores)) == count


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (ChildRun(finished=True, tampered="forged"), ("forged", True)),
        (ChildRun(finished=False, exit_status=-9), ("", False)),
    ],
)
def test_one_bad_child_speaks_for_all(bad: ChildRun, expected: tuple[str, bool]) -> None:
    good = ChildRun(finished=True, outcomes={"a": "passed"}, exit_status=0)
    for order in ((good, bad), (bad, good)):
        whole = side_by_side([lambda run=run: run for run in order])  # type: ignore[misc]
        assert (whole.tampered, whole.finished) == expected
        assert whole.exit_status == bad.exit_status


def test_all_outcomes_are_there() -> None:
    one = ChildRun(finished=True, outcomes={"a": "passed"}, collected=("a",), altered=("x",), assertions={"a": 1})
    two = ChildRun(finished=True, outcomes={"b": "failed"}, collected=("b",), outside=("/m.py",))
    whole = side_by_side([lambda: one, lambda: two])
    assert whole.outcomes == {"a": "passed", "b": "failed"}
    assert (whole.collected, whole.altered, whole.outside) == (("a", "b"), ("x",), ("/m.py",))
    assert whole.finished
    assert whole.assertions == {"a": 1}


FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef same(a):\n    return add(a, 0)\n",
    "test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "test_one.py": "from calc import same\n\n\ndef test_one():\n    assert same(4) == 4\n",
    "test_two.py": "from calc import same\n\n\ndef test_two():\n    assert same(5) == 5\n",
}


@pytest.mark.skipif(not WALLS, reason="children run side by side only with bubblewrap and two cores")
@pytest.mark.parametrize(("new", "status"), [("a + b", "healed"), ("a + b + (a > 4)", "unhealed")])
def test_affected_tests_run_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: str, status: str
) -> None:
    monkeypatch.setattr(shards, "SHARE_SECONDS", 1e-6)
    asked: list[set[str]] = []

    def watched(workshop: Any, workspace: Any, nodeids: Sequence[str], **more: Any) -> Any:
        asked.append({nodeid.rpartition("::")[2] for nodeid in nodeids})
        return run_tests(workshop, workspace, nodeids, **more)

    monkeypatch.setattr(judging, "run_tests", watched)
    report = heal_with(tmp_path, monkeypatch, FILES, {"test_add": ("calc.py", "a - b", new)}, sandbox="bwrap")
    [outcome] = report.outcomes
    assert outcome.status == status
    assert asked[0] == {"test_add"}
    assert sorted(map(sorted, asked[1:3])) in (
        [["test_add", "test_one"], ["test_two"]],
        [["test_add", "test_two"], ["test_one"]],
    )
    if status == "healed":
        assert outcome.verdict is not None
        assert outcome.verdict.affected_pass == 2
    else:
        # `same(5)` breaks: only the one of the two children that runs it has seen that.
        assert "test_two passed before and fails now" in outcome.attempts[0].reason
