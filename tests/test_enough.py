"""A patch that breaks what passed is not run to the end, and what no patch can be blamed for ends nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.repeats import TOLD
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.shards import SHARE_SECONDS
from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, FileChange, Patch, Verdict

WALLS = find_bwrap()[0] is not None and (os.cpu_count() or 1) > 1
LONG = 60.0
CODE = "def add(a, b):\n    return a - b\n\n\ndef same(a):\n    return add(a, 0)\n"
ADD = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
BREAKS = "a + b + (a > 3)"
SLOW = f"import time\nfrom calc import add\n\n\ndef test_slow():\n    time.sleep({LONG} if add(4, 0) != 4 else 0)\n"
ELSEWHERE = (
    "import sys\nfrom calc import same\n\n\ndef test_elsewhere():\n"
    "    assert 'pytest_selfheal.judge.child' not in sys.modules\n    assert same(5) == 5\n"
)
"""It passes where the user runs it, and never in a copy."""


def broken(count: int = 1) -> str:
    return "from calc import same\n" + "".join(
        f"\n\ndef test_{n}():\n    assert same({n + 4}) == {n + 4}\n" for n in range(count)
    )


def judged(
    folder: Path,
    new: str,
    tests: Mapping[str, str],
    *,
    foreign: bool = False,
    cores: int = 1,
    noticed: tuple[str, ...] = (),
) -> Verdict:
    """The verdict on ``add`` with ``new``. ``tests``: what passes in the user's run and is affected, by file name."""
    files = {"pytest.ini": "[pytest]\npythonpath = .\n", "calc.py": CODE, "test_add.py": ADD, **tests}
    for name, content in files.items():
        (folder / name).write_text(content)
    with workshop_at(folder, Settings(sandbox="bwrap" if cores > 1 else "process", effort="fast")) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
        [failure] = [failure for failure in first.failures if failure.nodeid == "test_add.py::test_add"]
        passing = [nodeid for nodeid in first.collected if nodeid != failure.nodeid]
        workshop.project = replace(
            workshop.project,
            outcomes=dict.fromkeys(passing, "passed"),
            durations=dict.fromkeys(passing, SHARE_SECONDS),
        )
        workshop.notice(noticed)
        patch = Patch(
            (FileChange("calc.py", CODE.encode(), CODE.replace("a - b", new).encode()),),
            "model" if foreign else "search",
            "",
        )
        passing.sort(key=lambda nodeid: list(tests).index(nodeid.partition("::")[0]))
        return verify(
            workshop, patch, Diagnosis("0001", (failure,), "logic", (), ""), Affected(passing, ""), cores=cores
        )


@pytest.mark.parametrize(
    "cores", [1, pytest.param(2, marks=pytest.mark.skipif(not WALLS, reason="shares need bubblewrap and two cores"))]
)
def test_the_first_broken_test_ends_the_run_of_an_edit_of_the_engine(tmp_path: Path, cores: int) -> None:
    verdict = judged(tmp_path, BREAKS, {"test_b.py": broken(), "test_slow.py": SLOW}, cores=cores)
    assert (verdict.kind, verdict.regressed) == ("regressed", ("test_b.py::test_0",))
    assert verdict.reason == "test_b.py::test_0 passed before and fails now"
    assert [failure.nodeid for failure in verdict.still_failing] == ["test_b.py::test_0"]
    assert verdict.seconds < LONG


def test_a_model_is_told_of_several(tmp_path: Path) -> None:
    verdict = judged(tmp_path, BREAKS, {"test_b.py": broken(TOLD + 2), "test_slow.py": SLOW}, foreign=True)
    assert verdict.kind == "regressed"
    assert len(verdict.regressed) >= TOLD
    assert verdict.seconds < LONG


def test_all_are_told_where_few_are_broken(tmp_path: Path) -> None:
    verdict = judged(tmp_path, BREAKS, {"test_b.py": broken(TOLD - 1)}, foreign=True)
    assert verdict.regressed == tuple(f"test_b.py::test_{n}" for n in range(TOLD - 1))


@pytest.mark.parametrize("foreign", [False, True])
def test_a_test_that_fails_in_any_copy_ends_nothing(tmp_path: Path, foreign: bool) -> None:
    tests = {"test_e.py": ELSEWHERE, "test_b.py": broken(2)}
    verdict = judged(tmp_path, "a + b", tests, foreign=foreign)
    assert verdict.kind == "healed"
    assert "1 affected tests could not be judged" in verdict.reason
    assert verdict.affected_pass == 2


def test_what_is_broken_beside_it_is_found(tmp_path: Path) -> None:
    verdict = judged(tmp_path, BREAKS, {"test_e.py": ELSEWHERE, "test_b.py": broken(2)})
    assert (verdict.kind, set(verdict.regressed)) == ("regressed", {"test_b.py::test_0", "test_b.py::test_1"})


def test_that_the_failing_test_passes_is_known_before_anything_is_called_broken(tmp_path: Path) -> None:
    tests = {"test_a.py": broken(), "test_b.py": broken()}
    verdict = judged(tmp_path, "a * 2", tests, noticed=("test_a.py::test_0", "test_b.py::test_0"))
    assert verdict.kind == "still_failing"
