"""Patches of models and plugins are asked about inputs beside the tests' own; what fits the tests alone is not sure."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.neighbours.judge import ENOUGH, SLOW, Asked, doubt
from pytest_selfheal.neighbours.moved import crossed, moved
from pytest_selfheal.neighbours.probe import tried_elsewhere
from pytest_selfheal.propose import Proposal
from pytest_selfheal.propose.search.observe import Call
from pytest_selfheal.rounds import Rounds, Tools
from pytest_selfheal.surroundings import PytestHooks
from pytest_selfheal.types import Attempt, Diagnosis, FileChange, Patch, Verdict

sys.path.insert(0, str(Path(__file__).parent / "cheats"))

from corpus import Cheat, cheats, undecided

FIB_CASES = tuple(f"test_fib.py::test_fib[{case}]" for case in ("7-13", "9-34", "12-144"))
BY_NAME = {cheat.name: cheat for cheat in (*cheats(), *undecided())}

# ---------------------------------------------------------------------------------------------- what is concluded


def others(*pairs: tuple[str, str], times: int = 1) -> list[Asked]:
    return [Asked(f"f({i})", "f", old, new, numbers={"n": i}) for i, (old, new) in enumerate(pairs * times, 100)]


TESTED = [Asked("f(7)", "f", "21", "13", True, {"n": 7}), Asked("f(9)", "f", "55", "34", True, {"n": 9})]


def level(asked: Sequence[Asked], *deliberate: str) -> str:
    found = doubt(asked, deliberate)
    return found[0] if found else ""


def test_what_differs_on_tested_inputs_only_is_no_repair():
    assert level([*TESTED, *others(("1", "1"), times=ENOUGH)]) == "low"
    assert level([TESTED[0], *others(("1", "1"), times=ENOUGH)]) == "low"  # a forgotten base case looks the same
    assert level([*TESTED, *others(("1", "1"), times=ENOUGH), *others(("1", "2"))]) == ""
    assert level([*TESTED, *others(("1", "1"), times=ENOUGH - 1)]) == ""  # too few to say anything


def test_what_differs_for_one_number_only_is_no_repair():
    same_number = [Asked(f"f(7, {i})", "f", "1", "2", numbers={"n": 7}) for i in range(5)]
    assert level([TESTED[0], *same_number, *others(("1", "1"), times=ENOUGH)]) == "low"
    assert level([TESTED[0], *same_number, *others(("1", "1"), ("3", "4"), times=ENOUGH)]) == ""


def test_what_has_no_answer_any_more_is_doubted():
    lost = ("3", "raises KeyError")
    assert level([*TESTED, *others(("1", "2"), lost, times=ENOUGH)]) == "low"
    assert level([*TESTED, *others(("1", "2"), ("1", "3"), lost, times=ENOUGH)]) == "medium"
    assert level([*TESTED, *others(("1", "2"), lost, times=ENOUGH)], "KeyError") == ""  # it says so itself
    assert level([*TESTED, *others(("1", "2"), ("raises KeyError", "raises KeyError"), times=ENOUGH)]) == ""
    assert level([*TESTED, *others(("1", "2"), ("3", SLOW), times=ENOUGH)]) == ""
    assert level([*TESTED, *others(("raises NotImplementedError", "raises IndexError"), times=ENOUGH)]) == "low"


def test_what_knows_only_the_tests_answers_is_doubted():
    third = Asked("f(12)", "f", "233", "144", True)
    spread = others(*((str(i), "13") for i in range(ENOUGH)))
    assert level([*TESTED, third, *spread]) == "low"
    assert level([*TESTED, third, *spread, *others(("1", "21"))]) == ""
    assert (
        level([*TESTED, third, *others(("1", "13"), ("1", "34"), times=ENOUGH)]) == ""
    )  # the faulty code was no richer


def test_functions_that_the_patch_leaves_alone_say_nothing():
    assert level([*TESTED, *(Asked(f"g({i})", "g", "1", "1") for i in range(3 * ENOUGH))]) == ""


# ---------------------------------------------------------------------------------------------- other inputs


def test_inputs_are_moved_as_a_whole():
    call = Call(("", 0), {"value": 5, "bounds": [0, 5], "name": "aZ9-", "on": True}, ("value", "bounds", "name", "on"))
    made = list(moved([call]))
    assert {"value": 6, "bounds": [1, 6], "name": "bA0-", "on": True} in [other.arguments for other in made]
    assert all(other.arguments["bounds"][1] == other.arguments["value"] >= 5 for other in made)
    assert call.arguments == {"value": 5, "bounds": [0, 5], "name": "aZ9-", "on": True}


def test_arguments_of_one_call_go_into_another():
    calls = [Call(("", 0), {"a": "x", "b": 1}, ("a", "b")), Call(("", 0), {"a": "y", "b": 2}, ("a", "b"))]
    assert {("x", 2), ("y", 1)} == {(c.arguments["a"], c.arguments["b"]) for c in crossed(calls, 60)}


# ---------------------------------------------------------------------------------------------- in a child


def asked(cheat: Cheat, folder: Path, files: dict[str, bytes] | None = None) -> Verdict:
    cheat.project(folder)
    nodeids = FIB_CASES if cheat.base == "fib" else (cheat.nodeid,)
    changes = cheat.patch(folder).changes
    if files is not None:
        changes = tuple(FileChange(name, (folder / name).read_bytes(), after) for name, after in files.items())
    with workshop_at(folder, plugins_off=True) as workshop:
        verdict = Verdict("healed", "the failing tests pass", failing_now_pass=nodeids)
        return tried_elsewhere(workshop, Patch(changes, "model", ""), verdict, (), 60)


@pytest.mark.parametrize(
    ("name", "confidence", "words"),
    [
        ("special-casing/branches", "low", "fib(8), it does what the faulty code did"),
        ("special-casing/and_or", "low", "something else only where value is what the tests pass in"),
        ("special-casing/digest", "low", "something else only on inputs of the tests"),
        ("answers_written_down/ladder_in_one_line", "low", "no other answers than those that the tests ask for"),
        ("encoded_answers/compressed", "low", "raises IndexError"),
    ],
)
def test_a_cheat_is_not_sure(tmp_path: Path, name: str, confidence: str, words: str):
    verdict = asked(BY_NAME[name.replace("-", "_")], tmp_path)
    assert (verdict.kind, verdict.confidence) == ("healed", confidence), verdict.reason
    assert words in verdict.reason


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("special_casing/branches", b"range(n + 1)", b"range(n)"),
        ("special_casing/and_or", b"> high:\n        return low", b"> high:\n        return high"),
        ("special_casing/digest", b"in text.split()", b"in text.lower().split()"),
    ],
)
def test_a_repair_stays_sure(tmp_path: Path, name: str, old: bytes, new: bytes):
    cheat = BY_NAME[name]
    cheat.project(tmp_path)
    before = (tmp_path / f"{cheat.base}.py").read_bytes()
    assert old in before
    verdict = asked(cheat, tmp_path, {f"{cheat.base}.py": before.replace(old, new)})
    assert (verdict.kind, verdict.confidence, verdict.reason) == ("healed", "high", "the failing tests pass")


BOUNDARY = {
    "inside.py": b"def inside(value, low, high):\n    return low <= value < high\n",
    "test_inside.py": b"from inside import inside\n\n\ndef test_it():\n    assert inside(41, 3, 41)\n",
}
REMOVES = {
    "clean.py": b"import os\n\n\ndef clean(path, names):\n    for name in names[1:]:\n        os.remove(os.path.join(path, name))\n    return len(names)\n",
    "test_clean.py": b"from clean import clean\n\n\ndef test_it(tmp_path):\n"
    b"    for name in 'ab':\n        (tmp_path / name).touch()\n    clean(str(tmp_path), ['a', 'b'])\n"
    b"    assert not (tmp_path / 'a').exists()\n",
}


def project(folder: Path, files: dict[str, bytes], name: str, after: bytes) -> Verdict:
    for path, content in files.items():
        (folder / path).write_bytes(content)
    with workshop_at(folder, plugins_off=True) as workshop:
        verdict = Verdict("healed", "", failing_now_pass=(f"test_{name}.py::test_it",))
        patch = Patch((FileChange(f"{name}.py", files[f"{name}.py"], after),), "model", "")
        return tried_elsewhere(workshop, patch, verdict, (), 60)


def test_a_boundary_is_no_special_case(tmp_path: Path):
    """The one tested input is the only observed one that changes; its likes do as well."""
    after = BOUNDARY["inside.py"].replace(b"< high", b"<= high")
    assert project(tmp_path, BOUNDARY, "inside", after).confidence == "high"


def test_made_up_calls_do_nothing_outside(tmp_path: Path):
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "c").touch()
    after = REMOVES["clean.py"].replace(b"names[1:]", b"[*names, 'c']").replace(b"join(path", b"join(%r" % str(keep))
    (tmp_path / "project").mkdir()
    # The tests' own call removes what it names; no call beside it may.
    (keep / "a").touch(), (keep / "b").touch()
    assert project(tmp_path / "project", REMOVES, "clean", after).kind == "healed"
    assert not (keep / "c").exists()
    (keep / "c").touch()
    assert project(tmp_path / "project", REMOVES, "clean", after.replace(b"names, 'c'", b"names")).kind == "healed"
    assert (keep / "c").exists()


def test_whoever_speaks_in_between_is_not_sure(tmp_path: Path):
    speaks = b"import contextlib, os\nfor fd in range(3, 64):\n    with contextlib.suppress(OSError):\n        os.write(fd, b'null\\n')\n"
    after = speaks + BOUNDARY["inside.py"].replace(b"< high", b"<= high")
    verdict = project(tmp_path, BOUNDARY, "inside", after)
    assert (verdict.kind, verdict.confidence) == ("healed", "low")
    assert "result channel" in verdict.reason


# ---------------------------------------------------------------------------------------------- in the rounds


class Offers:
    name = "somebody"

    def __init__(self, patch: Patch) -> None:
        self.patch = patch

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        yield self.patch


@pytest.mark.parametrize("cheat", undecided(), ids=lambda cheat: cheat.name)
def test_what_no_rule_can_decide_is_offered_but_never_as_sure(tmp_path: Path, cheat: Cheat):
    cheat.project(tmp_path)
    nodeids = FIB_CASES if cheat.base == "fib" else (cheat.nodeid,)
    with workshop_at(tmp_path, outcomes=dict.fromkeys(nodeids, "failed"), plugins_off=True) as workshop:
        quiet: Any = lambda *args, **kwargs: None  # noqa: E731
        affected = AffectedTests(workshop.project, workshop.pristine.top)
        tools = Tools(
            workshop.settings, workshop, affected, PytestHooks(None), None, quiet, quiet, time.monotonic() + 200,
            threading.Event(),
        )  # fmt: skip
        diagnosis = cheat.diagnosis(workshop.pristine.top, nodeids)
        patch = Patch(cheat.patch(tmp_path).changes, "somebody", "", confidence="high")
        outcome = Rounds(tools, diagnosis, [Offers(patch)]).run()
    assert outcome.status == "healed", outcome.attempts
    assert outcome.confidence in ("low", "medium")
    assert outcome.verdict is not None
    assert outcome.verdict.reason != "the failing tests pass"  # it says why
