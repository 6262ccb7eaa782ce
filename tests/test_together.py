"""Patches that are right one by one need not be right together; and what noticed a bad patch is asked first of the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from healing_helpers import SUMS, files_of, heal, heal_with
from project_helpers import workshop_at

from pytest_selfheal import healing, settling
from pytest_selfheal.join import join
from pytest_selfheal.judge import repeats as judging
from pytest_selfheal.judge import reproduce as reproducing
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.import_map import ImportMap
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.propose.search.proposer import others_failing
from pytest_selfheal.testing import Example
from pytest_selfheal.together import Together
from pytest_selfheal.types import FileChange, GaveUp, Patch

AT_ODDS = {
    "m.py": (
        "def f(kind, x):\n    y = x + 1\n    if kind == 'b':\n        return y * 2\n    return y\n\n\n"
        "def g(x):\n    return x + 2\n"
    ),
    "n.py": "def h(x):\n    return x + 2\n",
    "test_m.py": (
        "from m import f, g\nfrom n import h\n\n\ndef test_a():\n    assert f('a', 3) == 3\n\n\n"
        "def test_b():\n    assert f('b', 3) == 7\n\n\ndef test_c():\n    assert h(1) == 2\n"
    ),
}
EDITS = {
    "test_a": ("m.py", "y = x + 1", "y = x"),
    "test_b": ("m.py", "y * 2", "y * 2 - 1"),
    "test_c": ("n.py", "x + 2", "x + 1"),
}
ONE_TOO_MANY = {
    "m.py": "def p():\n    return 0\n\n\ndef q():\n    return 2\n",
    "test_m.py": (
        "from m import p, q\n\n\ndef test_p():\n    assert p() == 1\n\n\ndef test_q():\n    assert q() == 1\n\n\n"
        "def test_both():\n    assert {p(), q()} != {1}\n"
    ),
}


def statuses(report: Any) -> list[tuple[str, str]]:
    return [(outcome.status, outcome.reason) for outcome in report.outcomes]


def test_patches_at_odds_are_not_both_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = heal_with(tmp_path, monkeypatch, AT_ODDS, EDITS)
    assert statuses(report) == [("healed", "healed"), ("unhealed", "attempts_exhausted"), ("healed", "healed")]
    assert "does not hold together with that of 0001" in report.outcomes[1].words
    assert files_of(report) == ["failures/0002-test-b.md", "patches/0001-test-a.patch", "patches/0003-test-c.patch"]
    together = (Path(report.directory) / "all.patch").read_text()
    assert "+    y = x\n" in together
    assert "y * 2 - 1" not in together


ANNOUNCED = """\
from pathlib import Path
from pytest_selfheal.types import FileChange, GaveUp, Patch

EDITS = {edits!r}


class Writer:
    name = "writer"

    def propose(self, diagnosis, history):
        path, old, new = EDITS[diagnosis.nodeids[0].rpartition("::")[2]]
        before = Path(diagnosis.root, path).read_bytes()
        yield Patch((FileChange(path, before, before.replace(old.encode(), new.encode())),), self.name, "written")


def pytest_selfheal_proposers(settings):
    return [Writer()]


def pytest_selfheal_guard(patch, failure):
    return "somebody else writes it" if patch.proposer == "search" else None


def pytest_selfheal_healed(failure, patch, verdict):
    with open("announced.txt", "a") as file:
        print(failure.nodeid, verdict.kind, file=file)
"""


def test_only_what_holds_in_the_end_is_announced(tmp_path: Path) -> None:
    # Not the very changes that the engine proposes, which are refused: what was judged is not judged again.
    edits = {name: (path, old, f"{new}  # mended") for name, (path, old, new) in EDITS.items()}
    conftest = ANNOUNCED.replace("{edits!r}", repr(edits))
    ini = "[pytest]\npythonpath = .\nselfheal_effort = fast\n"
    example = Example({**AT_ODDS, "conftest.py": conftest, "pytest.ini": ini}, tmp_path)
    result = example.run("--selfheal", "-p", "selfheal", timeout=300)
    healed = [failure["nodeids"] for failure in result.report["failures"] if failure["status"] == "healed"]
    assert healed, result.stdout
    announced = (tmp_path / "announced.txt").read_text().splitlines()
    assert announced == [f"{nodeids[0]} healed" for nodeids in healed], result.stdout
    assert 0 < len(healed) < 3, result.stdout


def test_patches_that_only_together_break_a_passing_test_are_not_both_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = {"test_p": ("m.py", "return 0", "return 1"), "test_q": ("m.py", "return 2", "return 1")}
    report = heal_with(tmp_path, monkeypatch, ONE_TOO_MANY, edits)
    assert statuses(report) == [("healed", "healed"), ("unhealed", "attempts_exhausted")]


@pytest.mark.parametrize("late", [False, True])
def test_patches_of_one_line_stay_two_and_one_is_in_the_common_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    monkeypatch.setattr(Together, "_late", late)
    files = {
        "m.py": "def f(x, y):\n    return x + 1, y + 1\n",
        "test_m.py": (
            "from m import f\n\n\ndef test_a():\n    assert f(1, 1)[0] == 1\n\n\n"
            "def test_b():\n    assert f(1, 1)[1] == 1\n"
        ),
    }
    edits = {"test_a": ("m.py", "x + 1, y + 1", "x, y + 1"), "test_b": ("m.py", "x + 1, y + 1", "x + 1, y")}
    report = heal_with(tmp_path, monkeypatch, files, edits)
    assert statuses(report) == [("healed", "healed"), ("healed", "healed")]
    together = (Path(report.directory) / "all.patch").read_text()
    assert "conflict with an earlier one: 0002" in together
    assert "+    return x, y + 1" in together


def test_without_time_to_look_one_file_gets_one_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Together, "_late", True)
    report = heal_with(tmp_path, monkeypatch, AT_ODDS, EDITS)
    assert statuses(report) == [("healed", "healed"), ("unhealed", "time_limit"), ("healed", "healed")]
    assert "no time was left to check it together with that of 0001" in report.outcomes[1].words
    assert "y * 2 - 1" not in (Path(report.directory) / "all.patch").read_text()


def test_the_test_that_noticed_a_bad_patch_is_asked_first_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def f(x):\n    return x + 2\n"
    tests = "from m import f\n\n\ndef test_bad():\n    assert f(1) == 2\n"
    tests += "".join(f"\n\ndef test_{n}():\n    assert f({n})\n" for n in range(3, 9))
    tests += "\n\ndef test_zero():\n    assert f(0) > 0\n"

    class Bad:
        name = "scripted"

        def propose(self, diagnosis: object, history: object) -> Any:
            for new in ("2 * x", "x * 2", "x + 1"):
                change = FileChange("m.py", code.encode(), code.replace("x + 2", new).encode())
                yield Patch((change,), self.name, new)
            yield GaveUp("no_candidate", "Nothing else.", self.name)

    asked: list[set[str]] = []

    def watched(workshop: Any, workspace: Any, nodeids: Sequence[str], **more: Any) -> Any:
        asked.append({nodeid.rpartition("::")[2] for nodeid in nodeids})
        return run_tests(workshop, workspace, nodeids, **more)

    monkeypatch.setattr(judging, "run_tests", watched)
    report = heal(tmp_path, monkeypatch, {"m.py": code, "test_m.py": tests}, Bad())
    assert [attempt.verdict for attempt in report.outcomes[0].attempts] == ["regressed", "regressed", "healed"]
    # Alone, then with everything; the next one with the test that noticed; the good one all the way.
    assert asked[:4] == [{"test_bad"}, asked[1], {"test_bad", "test_zero"}, {"test_bad", "test_zero"}]
    assert len(asked[1]) == 8
    assert asked[4] == asked[1]


def test_other_failing_tests_are_few_quick_and_of_different_functions() -> None:
    failing = [f"test_a.py::test_{n}" for n in range(6)] + [f"test_b.py::test_x[{n}]" for n in range(4)]
    failing += [f"test_{name}.py::test_y" for name in "cdef"] + ["test_a.py::test_own[2]"]
    durations = {"test_a.py::test_0": 9.0, "test_a.py::test_5": 0.1}
    found = others_failing(failing, ["test_a.py::test_own[1]"], durations, 1.0)
    assert found[:4] == ("test_a.py::test_1", "test_a.py::test_2", "test_a.py::test_3", "test_a.py::test_4")
    # One of each function, of no more than three files beside.
    assert found[4:] == ("test_b.py::test_x[0]", "test_c.py::test_y", "test_d.py::test_y")


def test_a_thread_that_cannot_measure_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(top: Path) -> ImportMap:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ImportMap, "of", broken)
    (tmp_path / "m.py").write_text("")
    with workshop_at(tmp_path) as workshop:
        affected = AffectedTests(workshop.project, tmp_path, workshop)
        affected.measure(["m.py"])
        affected.close()  # a thread that raises is an error of this test


def test_of_very_many_failures_a_part_is_seen_again_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = "import pytest\n\n\n@pytest.mark.parametrize('n', range(70))\ndef test_many(n):\n    assert n < 0\n"
    tests += "\n\ndef test_one():\n    assert False\n"
    (tmp_path / "test_m.py").write_text(tests)
    asked: list[tuple[str, ...]] = []

    def watched(workshop: Any, workspace: Any, nodeids: Sequence[str], **more: Any) -> Any:
        asked.append(tuple(nodeids))
        return run_tests(workshop, workspace, nodeids, **more)

    with workshop_at(tmp_path) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
        monkeypatch.setattr(reproducing, "run_tests", watched)
        seen = reproducing.reproduce(workshop, first.failures)
    assert [len(nodeids) for nodeids in asked] == [71, reproducing.MANY]  # effort fast: twice
    assert "test_m.py::test_one" in asked[1]
    assert {each.reason for each in seen} == {None}


def test_patches_are_still_joined_in_the_time_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Causes are worked on to the last call, patches of one cause found from two sides are joined until the end.
    deadlines: list[float] = []

    def watched(outcome: Any, others: Any, tools: Any) -> Any:
        deadlines.append(tools.deadline)
        return join(outcome, others, tools)

    monkeypatch.setattr(healing, "join", watched)
    monkeypatch.setattr(settling, "join", watched)
    monkeypatch.setattr(healing.Healer, "_turn", lambda *_: 0)  # in the order of the tests: the wrong patch comes first
    edits = {"test_total": ("shop.py", "return sum", "return -sum"), "test_add": ("calc.py", "a - b", "a + b")}
    report = heal_with(tmp_path, monkeypatch, SUMS, edits)
    assert statuses(report) == [("healed", "healed")]
    assert max(deadlines) - min(deadlines) == pytest.approx(healing.RESERVED_SECONDS)
