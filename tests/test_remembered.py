"""The same failures in the same code are not searched twice, and what is remembered is judged like anything else."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from healing_helpers import heal
from project_helpers import project_at, workshop_at

from pytest_selfheal.judge import reproduce as reproducing
from pytest_selfheal.judge.run import ChildRun
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.remembered import WORDS, Memory, digest_of_tree
from pytest_selfheal.types import Alternative, Diagnosis, FileChange, Outcome, Patch, StopReason

FILES = {
    "calc.py": "def low(x, limit):\n    return x <= limit\n\n\ndef high(x, limit):\n    return x > limit\n",
    "data.txt": "3\n",
    "test_calc.py": (
        "from calc import low\n\n\n"
        "def test_low():\n    assert low(1, 2)\n    assert low(-1, 2)\n    assert not low(2, 2)\n    assert not low(3, 2)\n"
    ),
}


def healed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    report = heal(folder, monkeypatch, FILES, None)
    [outcome] = report.outcomes
    assert outcome.status == "healed", outcome.words
    return outcome


def is_searched(outcome: Outcome) -> bool:
    assert outcome.patch is not None
    assert (WORDS in outcome.patch.note) == (outcome.candidates_tried == 0)
    return outcome.candidates_tried > 0


def store_of(folder: Path) -> Path:
    return folder / ".selfheal" / "found.json"


def with_wrong_patch(folder: Path) -> None:
    data = json.loads(store_of(folder).read_text())
    [entry] = data["found"].values()
    spoil(entry)
    store_of(folder).write_text(json.dumps(data))


def spoil(entry: dict[str, Any]) -> None:
    """Make the patch for ``low`` one that changes nothing for the better."""
    start = FILES["calc.py"].index("<=")
    entry["edits"] = [["calc.py", start, start + 2, b64encode(b"==").decode()]]


def test_the_second_run_proposes_what_the_first_one_found_and_verifies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (healed(tmp_path, monkeypatch) for _ in range(3))
    assert is_searched(first)
    for again in (second, third):
        assert not is_searched(again)
        assert first.patch is not None
        assert first.verdict is not None
        assert again.patch is not None
        assert again.verdict is not None
        assert again.patch.note.count(WORDS) == 1
        assert (again.diff, again.confidence) == (first.diff, first.confidence)
        assert again.patch.alternatives == first.patch.alternatives
        assert again.patch.changes == first.patch.changes
        assert again.verdict.repeats == first.verdict.repeats > 1
        assert again.verdict.seconds > 0


def test_a_remembered_patch_that_does_not_hold_is_refused_and_a_search_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healed(tmp_path, monkeypatch)
    with_wrong_patch(tmp_path)
    outcome = healed(tmp_path, monkeypatch)
    assert [attempt.verdict for attempt in outcome.attempts] == ["still_failing", "healed"]
    assert "x == limit" in outcome.attempts[0].diff
    assert outcome.candidates_tried > 0
    assert not is_searched(healed(tmp_path, monkeypatch))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Tests of each run that looks at failures unpatched."""
    found: list[list[str]] = []
    run = reproducing.run_tests

    def counted(workshop: Workshop, workspace: Workspace, nodeids: Sequence[str], **more: Any) -> ChildRun:
        found.append(list(nodeids))
        return run(workshop, workspace, nodeids, **more)

    monkeypatch.setattr(reproducing, "run_tests", counted)
    return found


def test_what_an_earlier_run_has_seen_as_often_is_seen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]
) -> None:
    repeats = 2
    for expected in (repeats, 1, 1):
        looks.clear()
        healed(tmp_path, monkeypatch)
        assert looks == [["test_calc.py::test_low"]] * expected


def test_a_failure_whose_remembered_patch_does_not_hold_is_seen_as_often_as_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]
) -> None:
    healed(tmp_path, monkeypatch)
    with_wrong_patch(tmp_path)
    looks.clear()
    outcome = healed(tmp_path, monkeypatch)
    assert [attempt.verdict for attempt in outcome.attempts] == ["still_failing", "healed"]
    assert looks == [["test_calc.py::test_low"]] * 2


def test_of_several_failures_only_those_not_seen_before_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]
) -> None:
    files = {**FILES, "test_more.py": HIGH}
    assert len(heal(tmp_path, monkeypatch, files, None).outcomes) == 2
    data = json.loads(store_of(tmp_path).read_text())
    high = FILES["calc.py"].index("def high")
    [forgotten] = [key for key, entry in data["found"].items() if entry["edits"][0][1] > high]
    del data["found"][forgotten]
    store_of(tmp_path).write_text(json.dumps(data))
    looks.clear()
    assert [outcome.status for outcome in heal(tmp_path, monkeypatch, files, None).outcomes] == ["healed"] * 2
    assert looks == [["test_calc.py::test_low", "test_more.py::test_high"], ["test_more.py::test_high"]]


FLICKERING = """\
import os
import tempfile
from pathlib import Path

from calc import low


def test_flickering():
    seen = Path(tempfile.gettempdir(), "seen")
    again = seen.exists()
    seen.touch()
    assert low(5, 5) is (again and "FLICKER" in os.environ)
    assert not low(7, 6)
    assert low(6, 7)
"""
"""Fails as often as it is asked, and from the second time on passes in an environment that says so."""
HIGH = (
    "from calc import high\n\n\n"
    "def test_high():\n    assert high(2, 2)\n    assert high(3, 2)\n    assert not high(1, 2)\n"
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which two repairs were found."""
    folder = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patching:
        files = {"calc.py": FILES["calc.py"], "test_a.py": FLICKERING, "test_b.py": HIGH}
        assert [outcome.status for outcome in heal(folder, patching, files, None).outcomes] == ["healed"] * 2
    return folder


def edit_store(folder: Path, edit: Callable[[dict[str, Any], str], object]) -> None:
    """``edit`` gets all that is known, and the key of what is known of ``low``."""
    data = json.loads(store_of(folder).read_text())
    high = FILES["calc.py"].index("def high")
    [low] = [key for key, entry in data["found"].items() if entry["edits"][0][1] < high]
    edit(data["found"], low)
    store_of(folder).write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("edit", "known"),
    [
        (lambda found, low: spoil(found[low]), "what was found for it does not hold"),
        (lambda found, low: found.pop(low), "nothing is known of it"),
    ],
)
def test_a_failure_that_comes_and_goes_costs_no_other_one_its_repair(
    both: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edit: Callable[[dict[str, Any], str], object],
    known: str,
) -> None:
    folder = shutil.copytree(both, tmp_path / "both", symlinks=True)
    edit_store(folder, edit)
    monkeypatch.setenv("FLICKER", "1")
    report = heal(folder, monkeypatch, {}, None)
    told = {outcome.diagnosis.nodeids: (outcome.status, outcome.reason) for outcome in report.outcomes}
    assert told == {
        ("test_a.py::test_flickering",): ("skipped", "flaky"),
        ("test_b.py::test_high",): ("healed", "healed"),
    }, known
    [outcome] = [outcome for outcome in report.outcomes if outcome.status == "healed"]
    assert not is_searched(outcome)
    written = [path.name for path in (folder / ".selfheal" / "latest").rglob("000*.patch")]
    assert written == [f"{outcome.diagnosis.id}-test-high.patch"]


TEARDOWN = """\
import os
import tempfile
from pathlib import Path

import pytest
from calc import low


@pytest.fixture(autouse=True)
def closing():
    yield
    if low(2, 2) and (times := int(os.environ.get("TIMES", "9"))):
        counted = Path(tempfile.gettempdir(), "closed")
        counted.write_text(counted.read_text() + "." if counted.exists() else ".")
        if len(counted.read_text()) <= times:
            raise RuntimeError("could not close")
"""


def test_of_a_test_of_which_one_of_two_failures_comes_and_goes_the_other_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {**FILES, "conftest.py": TEARDOWN}
    [outcome] = heal(tmp_path, monkeypatch, files, None).outcomes
    assert [failure.phase for failure in outcome.diagnosis.failures] == ["call", "teardown"]
    with_wrong_patch(tmp_path)
    # In the user's run and at the first sighting, each of which has a folder of its own for temporary files.
    monkeypatch.setenv("TIMES", "1")
    report = heal(tmp_path, monkeypatch, {}, None)
    found = {outcome.diagnosis.failure.phase: outcome.reason for outcome in report.outcomes}
    assert found == {"call": "healed", "teardown": "flaky"}


def test_what_was_found_for_a_failure_that_comes_and_goes_is_forgotten(
    both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(both, tmp_path / "both", symlinks=True)
    # Another failure of the same test is found to come and go.
    edit_store(folder, lambda found, low: found.update(other=found.pop(low)))
    monkeypatch.setenv("FLICKER", "1")
    heal(folder, monkeypatch, {}, None)
    assert len(json.loads(store_of(folder).read_text())["found"]) == 1


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Diagnosis]:
    """A project in which something was found, and the failure."""
    folder = tmp_path_factory.mktemp("known")
    with pytest.MonkeyPatch.context() as patching:
        return folder, healed(folder, patching).diagnosis


def memory_of(folder: Path, diagnosis: Diagnosis, **facts: bool) -> Patch | None:
    with workshop_at(folder, **facts) as workshop:
        return Memory(workshop).patch(diagnosis)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("calc.py", "# one more line\n"),
        ("test_calc.py", "\n\ndef test_more():\n    assert low(0, 2)\n"),
        ("data.txt", "4\n"),
        ("new.txt", ""),
    ],
)
def test_a_change_anywhere_in_the_project_makes_it_a_search(
    known: tuple[Path, Diagnosis], tmp_path: Path, name: str, more: str
) -> None:
    folder = shutil.copytree(known[0], tmp_path / "known", symlinks=True)
    assert memory_of(folder, known[1]) is not None
    with (folder / name).open("a") as file:
        file.write(more)
    assert memory_of(folder, known[1]) is None


@pytest.mark.parametrize(
    ("reason", "kept"), [("time_limit", True), ("interrupted", True), ("attempts_exhausted", False)]
)
def test_what_says_nothing_of_a_patch_does_not_cost_it(
    known: tuple[Path, Diagnosis], tmp_path: Path, reason: StopReason, kept: bool
) -> None:
    folder = shutil.copytree(known[0], tmp_path / "known", symlinks=True)
    with workshop_at(folder) as workshop:
        memory = Memory(workshop)
        memory.learn(known[1], Outcome(known[1], "unhealed", reason, ""))
        memory.save()
    assert (memory_of(folder, known[1]) is not None) is kept


@pytest.mark.parametrize("odd", ["\ud800", "\udcff", "\0", "ü"])
def test_any_name_of_a_test_can_be_asked_for(known: tuple[Path, Diagnosis], odd: str) -> None:
    folder, diagnosis = known
    failure = replace(diagnosis.failure, nodeid=f"{diagnosis.failure.nodeid}[{odd}]")
    assert memory_of(folder, replace(diagnosis, failures=(failure,))) is None


def test_another_failure_of_the_same_tests_makes_it_a_search(known: tuple[Path, Diagnosis]) -> None:
    folder, diagnosis = known
    other = replace(diagnosis.failure, chain=(replace(diagnosis.failure.chain[0], message="something else"),))
    assert memory_of(folder, replace(diagnosis, failures=(other,))) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"format":2', '"format":1'),
        lambda text: text.replace('"format":2', f'"format":{"[" * 100_000}'),
        lambda text: text.replace('"tests":[', '"texts":['),
        lambda text: text.replace('"edits":[[', '"edits":[[1,'),
        lambda text: text.replace("calc.py", "gone.py"),
        lambda text: text.replace('"confidence":"', '"confidence":"very '),
        lambda text: json.dumps({"format": 2, "found": dict.fromkeys(json.loads(text)["found"])}),
        lambda text: "[]",
    ],
)
def test_a_damaged_memory_is_none(known: tuple[Path, Diagnosis], tmp_path: Path, damage: Callable[[str], str]) -> None:
    folder = shutil.copytree(known[0], tmp_path / "known")
    assert memory_of(folder, known[1]) is not None
    before = store_of(folder).read_text()
    store_of(folder).write_text(damage(before))
    assert store_of(folder).read_text() != before
    assert memory_of(folder, known[1]) is None


def test_what_came_with_the_project_is_not_remembered(known: tuple[Path, Diagnosis], tmp_path: Path) -> None:
    folder = shutil.copytree(known[0], tmp_path / "known", symlinks=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    assert memory_of(folder, known[1], git=True) is not None
    subprocess.run(["git", "add", "-f", ".selfheal/found.json"], cwd=folder, check=True)
    assert memory_of(folder, known[1], git=True) is None


def test_what_came_with_the_project_by_a_link_is_told_as_well(tmp_path: Path) -> None:
    store, index = tmp_path / ".selfheal" / "found.json", tmp_path / ".git" / "index"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "found.json").write_text("{}")
    (tmp_path / ".selfheal").symlink_to("data")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    project = project_at(tmp_path, git=True)
    assert not project.tracks(store)
    subprocess.run(["git", "add", "data"], cwd=tmp_path, check=True)
    assert project.tracks(store)
    assert not project.tracks(tmp_path / ".selfheal" / "coverage.json", tmp_path.parent / "found.json")
    index.write_bytes(b"damaged")
    assert project.tracks(store)  # nobody can tell


def test_what_is_written_of_a_patch_is_free_of_secrets(known: tuple[Path, Diagnosis], tmp_path: Path) -> None:
    folder, diagnosis = shutil.copytree(known[0], tmp_path / "known", symlinks=True), known[1]
    before, token = FILES["calc.py"].encode(), "tok-3n4m5b6v"
    patch = Patch(
        (FileChange("calc.py", before, before.replace(b"<=", b"<")),),
        "search",
        f"replace {token}",
        alternatives=(Alternative((), f"drop {token}", f"f({token!r})"),),
        note=f"differs for {token}",
    )
    with workshop_at(folder) as workshop:
        memory = Memory(workshop, lambda text: text.replace(token, "[hidden]"))
        memory.learn(diagnosis, Outcome(diagnosis, "healed", "healed", "", patch=patch, confidence="low"))
        memory.save()
    written = store_of(folder).read_text()
    assert token not in written
    assert written.count("[hidden]") == 4
    found = memory_of(folder, diagnosis)
    assert found is not None
    assert (found.changes, found.confidence) == (patch.changes, "low")


def test_bytecode_is_no_part_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "link").symlink_to("a.py")
    before = digest_of_tree(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.cpython-313.pyc").write_bytes(b"0")
    assert digest_of_tree(tmp_path) == before
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b.py")
    assert digest_of_tree(tmp_path) != before
