"""The engine starts while the failure is seen again, and its start serves only the very question that is asked then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from project_helpers import project_at, workshop_at

from pytest_selfheal.healing import heal_run
from pytest_selfheal.judge.reproduce import Reproduction
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.models import Models
from pytest_selfheal.propose.search import proposer
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, Raised, RunReport

WALLS = find_bwrap()[0] is not None and (os.cpu_count() or 1) > 1
pytestmark = pytest.mark.skipif(
    not WALLS, reason="what may run beside the first sighting needs bubblewrap and two cores"
)

CODE = "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a * 3\n"
ADD = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(4, 1) == 5\n"
TWICE = "\n\ndef test_twice():\n    from calc import twice\n\n    assert twice(4) == 8\n    assert twice(1) == 2\n"
SOUND = CODE.replace("a - b", "a + b")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The failing tests for which an engine was started, and ``seen`` where the first sighting was over."""
    found: list[tuple[str, ...]] = []
    start, look = proposer._EngineRun.__init__, Reproduction.look

    def started(self: Any, workshop: Any, settings: Any, diagnosis: Any, *more: Any) -> None:
        found.append(tuple(nodeid.rpartition("::")[2] for nodeid in diagnosis.nodeids))
        start(self, workshop, settings, diagnosis, *more)

    def looked(self: Reproduction, times: int) -> None:
        look(self, times)
        if ("seen",) not in found:
            found.append(("seen",))

    monkeypatch.setattr(proposer._EngineRun, "__init__", started)
    monkeypatch.setattr(Reproduction, "look", looked)
    return found


def heal(
    folder: Path,
    files: dict[str, str],
    told: Callable[[Sequence[Failure]], Sequence[Failure]] = lambda failures: failures,
    **changes: Any,
) -> RunReport:
    """Heal ``files``; ``told`` changes what the user's run has shown."""
    for name, content in {"pytest.ini": "[pytest]\npythonpath = .\n", **files}.items():
        (folder / name).write_text(content)
    settings = replace(Settings(sandbox="bwrap", effort="fast", workers=2), **changes)
    with workshop_at(folder, settings) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
    outcomes = {**first.outcomes, **{failure.nodeid: "failed" for failure in told(first.failures)}}
    project = project_at(folder, outcomes=outcomes, durations=first.durations)
    return heal_run(told(first.failures), project, settings)


def test_the_only_cause_is_searched_while_it_is_seen_again(tmp_path: Path, begun: list[tuple[str, ...]]) -> None:
    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD})
    assert [outcome.status for outcome in report.outcomes] == ["healed"]
    assert begun == [("test_add",), ("seen",)]


def test_several_causes_are_searched_once_they_are_seen_again(tmp_path: Path, begun: list[tuple[str, ...]]) -> None:
    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD + TWICE})
    assert [outcome.status for outcome in report.outcomes] == ["healed", "healed"]
    assert begun[0] == ("seen",)
    assert sorted(begun[1:]) == [("test_add",), ("test_twice",)]


def test_what_fails_in_another_way_is_searched_anew(tmp_path: Path, begun: list[tuple[str, ...]]) -> None:
    def elsewhere(failures: Sequence[Failure]) -> list[Failure]:
        [failure] = failures
        last = failure.chain[-1]
        frames = (*last.frames[:-1], replace(last.frames[-1], line=6))
        return [replace(failure, chain=(*failure.chain[:-1], replace(last, frames=frames)))]

    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD}, elsewhere)
    assert [outcome.status for outcome in report.outcomes] == ["healed"]
    assert begun == [("test_add",), ("seen",), ("test_add",)]


def test_a_failure_that_is_gone_ends_the_search_for_it(
    tmp_path: Path, begun: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []
    stop = proposer._EngineRun.stop
    monkeypatch.setattr(proposer._EngineRun, "stop", lambda self: (runs.append(self), stop(self)))

    def broken(_: Sequence[Failure]) -> list[Failure]:
        with workshop_at(tmp_path, calls=None) as workshop:
            (workshop.pristine.top / "calc.py").write_text(CODE)
            return list(run_tests(workshop, workshop.pristine, None).failures)

    report = heal(tmp_path, {"calc.py": SOUND, "test_calc.py": ADD}, broken)
    assert [outcome.reason for outcome in report.outcomes] == ["not_reproduced"]
    assert begun == [("test_add",), ("seen",)]
    assert len(runs) == 1
    assert not runs[0]._thread.is_alive()


@pytest.mark.parametrize("changes", [{"sandbox": "process"}, {"strategy": "model"}], ids=["no walls", "no search"])
def test_nothing_begins_early_where_it_could_meet_the_sighting_or_is_not_wanted(
    tmp_path: Path, begun: list[tuple[str, ...]], changes: dict[str, str]
) -> None:
    heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD}, **changes)
    assert begun[0] == ("seen",)


def test_what_is_known_is_not_searched(tmp_path: Path, begun: list[tuple[str, ...]]) -> None:
    heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD})
    begun.clear()
    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD})
    assert [outcome.status for outcome in report.outcomes] == ["healed"]
    assert begun == [("seen",)]
    assert not [thread for thread in threading.enumerate() if thread.name == "selfheal-search"]


def test_what_comes_and_goes_costs_the_other_causes_nothing(tmp_path: Path, begun: list[tuple[str, ...]]) -> None:
    # It is there in the user's run and at the first sighting, and gone at the second, while both are searched.
    flickers = (
        "\n\ndef test_flickers():\n    import tempfile\n    from pathlib import Path\n\n    from calc import twice\n\n"
        "    counted = Path(tempfile.gettempdir(), 'counted')\n"
        "    counted.write_text(counted.read_text() + '.' if counted.exists() else '.')\n"
        "    assert twice(4) == 8 or len(counted.read_text()) == 2\n"
    )
    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD + flickers})
    found = {outcome.diagnosis.nodeids[0].rpartition("::")[2]: outcome.reason for outcome in report.outcomes}
    assert found == {"test_add": "healed", "test_flickers": "flaky"}
    assert sorted(begun) == [("seen",), ("test_add",), ("test_flickers",)]


TEARDOWN = """\
import os
import tempfile
from pathlib import Path

import pytest
from calc import add


@pytest.fixture(autouse=True)
def closing():
    yield
    if add(1, 2) == 3:
        return
    counted = Path(tempfile.gettempdir(), "closed")
    counted.write_text(counted.read_text() + "." if counted.exists() else ".")
    if len(counted.read_text()) <= int(os.environ.get("TIMES", "1")):
        raise RuntimeError("could not close")
"""


@pytest.mark.parametrize(
    ("times", "reason"),
    [("0", "not_reproduced"), ("1", "flaky")],
    ids=["only in the user's run", "and at the first sighting"],
)
def test_a_test_of_which_one_of_two_failures_is_gone_is_healed_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: str, reason: str
) -> None:
    monkeypatch.setenv("TIMES", times)

    def both(failures: Sequence[Failure]) -> Sequence[Failure]:
        [call] = [failure for failure in failures if failure.phase == "call"]
        closing = replace(call, phase="teardown", chain=(Raised("RuntimeError", "could not close", ()),))
        return [call, closing]

    report = heal(tmp_path, {"calc.py": CODE, "test_calc.py": ADD, "conftest.py": TEARDOWN}, both)
    found = {outcome.diagnosis.failure.phase: outcome.reason for outcome in report.outcomes}
    assert found == {"call": "healed", "teardown": reason}
    [gone] = [outcome for outcome in report.outcomes if outcome.reason == reason]
    assert ("only the test itself does" in gone.words) == (reason == "not_reproduced")


def test_what_is_being_begun_when_all_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_m.py").write_text("def test_no():\n    assert False\n")
    copying, copied = threading.Event(), threading.Event()
    runs: list[Any] = []
    start = proposer._EngineRun.__init__

    def slowly(self: Any, *given: Any) -> None:
        copying.set()
        assert copied.wait(20)
        start(self, *given)
        runs.append(self)

    monkeypatch.setattr(proposer._EngineRun, "__init__", slowly)
    failure = Failure("test_m.py::test_no", "call", (Raised("AssertionError", ""),), path="test_m.py")
    failing = Diagnosis("0001", (failure,), "logic", (), "", str(tmp_path), str(tmp_path))
    settings = Settings(sandbox="bwrap", effort="fast")
    models = Models(settings, None, tmp_path, redactor=None, trace=print, note=print)
    with workshop_at(tmp_path, settings) as workshop:
        beginning = threading.Thread(target=models.begin, args=(workshop, failing))
        beginning.start()
        assert copying.wait(20)
        ending = threading.Thread(target=models.close)
        ending.start()
        copied.set()
        ending.join(30)
        assert not ending.is_alive()
        [run] = runs
        assert not run._thread.is_alive()
        models.begin(workshop, failing)  # too late
        assert runs == [run]
