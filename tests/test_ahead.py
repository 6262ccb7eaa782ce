"""What is done beside the search: seeing the failure again, and verifying what will probably be proposed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from healing_helpers import SUMS, heal
from project_helpers import workshop_at

from pytest_selfheal import rounds, sightings
from pytest_selfheal.ahead import Ahead
from pytest_selfheal.judge import verify as judging
from pytest_selfheal.judge.reproduce import Confirmation, Reproduced, flickering
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.sandbox import BwrapSandbox, ProcessSandbox, find_bwrap
from pytest_selfheal.models import Models
from pytest_selfheal.propose import Proposal
from pytest_selfheal.propose.search.observe import tracing
from pytest_selfheal.propose.search.proposer import SearchProposer
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, Diagnosis, Failure, FileChange, GaveUp, Likely, Patch, Raised, Verdict

WALLS = find_bwrap()[0] is not None and (os.cpu_count() or 1) > 1
CODE = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 3\n"
TESTS = """
import tempfile
from pathlib import Path

from calc import add, double


def test_add():
    assert add(1, 2) == 3


def test_double():
    counted = Path(tempfile.gettempdir(), "counted")
    counted.write_text(counted.read_text() + "." if counted.exists() else ".")
    assert double(4) == 8 or len(counted.read_text()) == 2
"""


def change(new: str) -> Patch:
    return Patch((FileChange("m.py", b"x", new.encode()),), "search", new)


def test_only_the_very_patch_has_its_verdict() -> None:
    begun: list[str] = []
    stops: list[threading.Event] = []

    def verify(patch: Patch, stop: threading.Event) -> Verdict:
        begun.append(patch.description)
        stops.append(stop)
        if patch.description == "slow":
            assert stop.wait(20)
        return Verdict("healed", patch.description)

    ahead = Ahead(verify)
    ahead.begin(change("one"))
    ahead.begin(replace(change("one"), description="the same, in other words"))
    assert ahead.take(change("one")) == Verdict("healed", "one")
    assert begun == ["one"]
    assert ahead.take(change("one")) is None  # a verdict is used once
    ahead.begin(change("slow"))
    ahead.begin(change("two"))  # ends the slow one
    assert stops[1].is_set()
    assert ahead.take(change("three")) is None
    assert begun == ["one", "slow", "two"]
    ahead.begin(change("slow"))
    ahead.drop()
    assert ahead.take(change("slow")) is None


def test_a_verification_that_stumbles_has_no_verdict() -> None:
    def verify(patch: Patch, stop: threading.Event) -> Verdict:
        raise OSError("no space left")

    ahead = Ahead(verify)
    ahead.begin(change("one"))
    assert ahead.take(change("one")) is None


def test_what_comes_and_goes_is_not_judged_and_the_rest_is_healed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The failure shows in the first run and at the first sighting; it is gone at the second, while others search.
    report = heal(tmp_path, monkeypatch, {"calc.py": CODE, "test_calc.py": TESTS}, None, sandbox="auto", workers=2)
    found = {outcome.diagnosis.nodeids[0].rpartition("::")[2]: outcome for outcome in report.outcomes}
    assert {name: outcome.reason for name, outcome in found.items()} == {"test_add": "healed", "test_double": "flaky"}
    assert sorted(found["test_add"].diagnosis.nodeids) == ["test_calc.py::test_add"]
    trace = (Path(report.directory) / "trace.jsonl").read_text("utf-8").splitlines()
    attempts = [event for event in map(json.loads, trace) if event["event"] == "attempt"]
    assert {attempt["id"] for attempt in attempts} == {found["test_add"].diagnosis.id}


class Waiting:
    """Says what is likely, waits until it was verified, and proposes it or another patch."""

    name = "search"

    def __init__(self, verified: threading.Event, last: str) -> None:
        self.verified = verified
        self.last = last

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        def patch(text: str) -> Patch:
            after = CODE.replace("a - b", text).encode()
            return Patch((FileChange("calc.py", CODE.encode(), after),), self.name, text)

        yield Likely(patch("a + b"))
        assert self.verified.wait(60)
        yield patch(self.last)
        yield GaveUp("no_candidate", "Nothing else.", self.name)


@pytest.mark.skipif(not WALLS, reason="what may run beside the search needs bubblewrap and two cores")
@pytest.mark.parametrize("last", ["a + b", "b + a"])
def test_the_likely_patch_is_verified_once_and_another_one_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    verified = threading.Event()
    judged: list[str] = []

    def watched(*given: Any, stop: threading.Event | None = None, **more: Any) -> Verdict:
        verdict = judging.verify(*given, stop=stop, **more)
        judged.append(given[1].description)
        verified.set()
        return verdict

    monkeypatch.setattr(rounds, "verify", watched)
    tests = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    files = {"calc.py": CODE, "test_calc.py": tests}
    report = heal(tmp_path, monkeypatch, files, Waiting(verified, last), sandbox="bwrap")
    [outcome] = report.outcomes
    assert outcome.status == "healed"
    assert f"+    return {last}" in outcome.diff
    assert judged == (["a + b"] if last == "a + b" else ["a + b", "b + a"])


class Exiting:
    """Says that what the guards refuse is likely, proposes it, waits until it is seen to have ended, and proposes a repair."""

    def __init__(self, name: str, ended: Callable[[], bool]) -> None:
        self.name = name
        self.ended = ended

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        def patch(text: str) -> Patch:
            after = CODE.replace("return a - b", text).encode()
            return Patch((FileChange("calc.py", CODE.encode(), after),), self.name, text)

        bad = patch("import os; os._exit(0)")
        yield Likely(bad)
        yield bad
        assert self.ended()
        yield patch("return a + b")
        yield GaveUp("no_candidate", "Nothing else.", self.name)


@pytest.mark.skipif(not WALLS, reason="what may run beside the search needs bubblewrap and two cores")
@pytest.mark.parametrize("name", ["search", "plugin"])
def test_what_the_guards_refuse_is_not_run_or_not_any_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stopped: list[bool] = []

    def watched(*given: Any, stop: threading.Event, **more: Any) -> Verdict:
        if "_exit" not in given[1].description:
            return judging.verify(*given, stop=stop, **more)
        stopped.append(stop.wait(30))
        return Verdict("error", "stopped")

    monkeypatch.setattr(rounds, "verify", watched)
    tests = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"

    def ended() -> bool:
        until = time.monotonic() + 20
        while name == "search" and not stopped and time.monotonic() < until:
            time.sleep(0.02)
        return stopped == ([True] if name == "search" else [])

    proposer = Exiting(name, ended)
    report = heal(tmp_path, monkeypatch, {"calc.py": CODE, "test_calc.py": tests}, proposer, sandbox="bwrap")
    [outcome] = report.outcomes
    assert [attempt.verdict for attempt in outcome.attempts] == ["guarded", "healed"]
    assert ended()


@pytest.mark.skipif(not WALLS, reason="what may run beside the search needs bubblewrap and two cores")
@pytest.mark.parametrize("more", [0, 1, 2])
def test_beside_a_search_runs_go_side_by_side_where_there_is_much_to_collect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    verified = threading.Event()
    cores: list[int] = []

    def watched(*given: Any, **more: Any) -> Verdict:
        cores.append(more["cores"])
        verdict = judging.verify(*given, **more)
        verified.set()
        return verdict

    monkeypatch.setattr(rounds, "verify", watched)
    files = {"calc.py": CODE, "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"}
    other = "from calc import add\n\n\ndef test_zero():\n    assert add(3, 0) == 3\n"
    files |= {f"test_{n}.py": other for n in range(more)}
    [outcome] = heal(tmp_path, monkeypatch, files, Waiting(verified, "a + b"), sandbox="bwrap").outcomes
    assert outcome.verdict is not None
    assert (outcome.status, outcome.verdict.affected_pass) == ("healed", more)
    assert cores == [os.cpu_count() if more > 1 else 1]


@pytest.mark.skipif(not WALLS, reason="what may run beside the search needs bubblewrap and two cores")
def test_a_verification_ends_when_told_to(tmp_path: Path) -> None:
    (tmp_path / "test_m.py").write_text("import time\n\n\ndef test_slow():\n    time.sleep(60)\n")
    stop = threading.Event()
    with workshop_at(tmp_path, Settings(sandbox="bwrap")) as workshop:
        threading.Timer(1.0, stop.set).start()
        started = time.monotonic()
        run_tests(workshop, workshop.pristine, ["test_m.py::test_slow"], stop=stop)
    assert time.monotonic() - started < 30


def test_children_that_could_meet_do_not_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ProcessSandbox().apart
    assert not BwrapSandbox("bwrap", network="host").apart
    assert not BwrapSandbox("bwrap", binds=(tmp_path,)).apart
    assert BwrapSandbox("bwrap").apart
    beside: list[bool] = []

    class Watched(Confirmation):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            beside.append(self._thread.is_alive())

    monkeypatch.setattr(sightings, "Confirmation", Watched)
    tests = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    heal(tmp_path, monkeypatch, {"calc.py": CODE, "test_calc.py": tests}, None)
    assert beside == [False]
    if WALLS:
        (tmp_path / ".selfheal" / "found.json").unlink()
        heal(tmp_path, monkeypatch, {}, None, sandbox="bwrap")
        assert beside == [False, True]


def test_a_confirmation_that_stumbles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def so_far(self) -> tuple[object, ...]:
            return ()

        def look(self, times: int) -> None:
            raise OSError(28, "No space left on device")

    class Shop:
        sandbox = ProcessSandbox()

    confirmation = Confirmation(Full(), 2, Shop())  # type: ignore[arg-type]
    with pytest.raises(OSError, match="No space left"):
        confirmation.flickering()


def test_what_was_taken_for_two_failures_is_there_when_one_of_them_came_again() -> None:
    one = Failure("test_m.py::test_it", "call", (Raised("AssertionError", "one"),))
    two = replace(one, chain=(Raised("AssertionError", "two"),))
    there, as_two = Reproduced(one, None), Reproduced(two, None)
    gone = Reproduced(one, "flaky", "")
    assert flickering([there, as_two], [there, gone]) == {two.key}
    assert flickering([there, there], [there, gone]) == frozenset()
    assert flickering([there, there], [gone, gone]) == {one.key}
    assert flickering([gone, there], [gone, there]) == frozenset()


def test_what_vanishes_while_it_is_copied_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept.py").write_text("x = 1\n")
    scandir = os.scandir

    def vanishing(path: Any) -> Any:
        (Path(path) / "gone.txt").write_text("")
        listed = scandir(path)
        entries = list(listed)
        (Path(path) / "gone.txt").unlink()

        class Listed:
            def __enter__(self) -> Any:
                return iter(entries)

            def __exit__(self, *_: object) -> None:
                listed.close()

        return Listed()

    with workshop_at(tmp_path) as workshop:
        assert workshop.pristine.top.is_dir()
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", vanishing)
            workspace = workshop.fresh()
        assert (workspace.top / "kept.py").read_text() == "x = 1\n"
        assert not (workspace.top / "gone.txt").exists()


def test_each_call_and_line_is_traced_where_functions_are_called_again_and_again() -> None:
    space: dict[str, Any] = {}
    code = (
        "def inner(n):\n    if n == 3:\n        return 'three'\n    return n\n\n\n"
        "def outer():\n    for n in range(5):\n        inner(n)\n"
    )
    exec(compile(code, "/traced.py", "exec"), space)
    with tracing(lambda name: name == "/traced.py") as trace:
        space["outer"]()
        space["inner"](3)
    path = os.path.realpath("/traced.py")
    assert trace.lines == {path: {1, 2, 3, 4, 7, 8, 9}}
    assert trace.depths == {(path, 1): 1, (path, 7): 0}


class Patient:
    """Repairs what is wrong in one test; of another it has nothing to say until nobody needs an answer any more."""

    name = "search"

    def __init__(self) -> None:
        self.dropped = threading.Event()

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        if diagnosis.nodeids[0].endswith("test_add"):
            before = SUMS["calc.py"].encode()
            yield Patch((FileChange("calc.py", before, before.replace(b"a - b", b"a + b")),), self.name, "a + b")
        waited.append(self.dropped.wait(60))
        yield GaveUp("no_candidate", "Nothing.", self.name)


waited: list[bool] = []


def test_what_another_patch_repairs_is_not_worked_on_any_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited.clear()
    monkeypatch.setattr(Models, "proposers", lambda *_: [Patient()])
    report = heal(tmp_path, monkeypatch, SUMS, None, workers=2)
    [outcome] = report.outcomes
    assert outcome.status == "healed"
    assert len(outcome.diagnosis.nodeids) == 2
    assert waited == [True]


def test_a_search_ends_when_it_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "test_m.py").write_text("import time\n\n\ndef test_slow():\n    time.sleep(60)\n    assert False\n")
    failure = Failure("test_m.py::test_slow", "call", (Raised("AssertionError", ""),), path="test_m.py")
    failing = Diagnosis("0001", (failure,), "logic", (), "", str(tmp_path), str(tmp_path))
    with workshop_at(tmp_path) as workshop:
        proposer = SearchProposer(workshop, workshop.settings)
        threading.Timer(1.0, proposer.dropped.set).start()
        started = time.monotonic()
        [last] = [each for each in proposer.propose(failing, []) if not isinstance(each, Likely)]
    assert isinstance(last, GaveUp)
    assert time.monotonic() - started < 20
