"""From a healing run's report to a line of results, with real scoring; the healer is played by given reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.bench import suites
from pytest_selfheal.bench.folder import merged
from pytest_selfheal.bench.healing import Runner
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.suites.source import MODULE_PATH
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, Diagnosis, Failure, FileChange, Outcome, Patch, RunReport, Usage

SETTINGS = Settings(bench="humanevalfix", bench_data="sample", test_timeout=2.0)
SPREAD = suites.load(SETTINGS).tasks[0]
GIVEN = SPREAD.files[MODULE_PATH]
RIGHT = GIVEN.replace(b"max(readings) + min", b"max(readings) - min")
WRONG = GIVEN.replace(b"max(readings) + min(readings)", b"len(readings)")
OVERFIT = RIGHT.replace(b"if not readings:", b"if not readings or readings[0] == 1 and len(readings) == 3:")


def patch(after: bytes, **more: Any) -> Patch:
    return Patch((FileChange(MODULE_PATH, GIVEN, after),), "search", "a change", **more)


def attempt(after: bytes, verdict: Any = "healed", n: int = 1, **more: Any) -> Attempt:
    return Attempt(n, "search", None, "", "", verdict, "", patch=patch(after), **more)


def outcome(*attempts: Attempt, status: Any = "healed", reason: Any = "healed", **more: Any) -> Outcome:
    failure = Failure("test_solution.py::test_spread", "call", ())
    healed = attempts[-1].patch if status == "healed" else None
    return Outcome(
        Diagnosis("0001", (failure,), "logic", (), ""), status, reason, "words", attempts, healed, diff="+x\n", **more
    )


def report(*outcomes: Outcome, stop: str = "finished", exit_status: int = 1) -> RunReport:
    return RunReport("", 0.0, exit_status, "builtin", None, "auto", "bwrap", stop, outcomes)


def line(given: RunReport, settings: Settings = SETTINGS) -> Line:
    runner = Runner(suites.load(settings), settings, heal=lambda *_, **__: given)
    return runner.run(runner.suite.tasks[0], 1)


def test_healed_and_right() -> None:
    found = line(report(outcome(attempt(RIGHT), confidence="high", candidates_tried=7, cpu_seconds=900.0)))
    assert (found.is_complete, found.zero_shot, found.equivalent) == (True, True, True)
    assert (found.confidence, found.candidates, found.iterations, found.diff) == ("high", 7, 1, "+x\n")
    assert found.cpu_seconds >= 900
    assert found.claimed and not found.reason


def test_a_claim_that_the_scorer_refutes() -> None:
    found = line(report(outcome(attempt(WRONG))))
    assert (found.is_complete, found.zero_shot, found.equivalent) == (False, False, None)
    assert found.claimed and found.reason.startswith("the full tests: AssertionError")


def test_right_but_not_equivalent_names_an_input() -> None:
    found = line(report(outcome(attempt(OVERFIT))))
    assert (found.is_complete, found.equivalent) == (True, False)
    assert "the reference:" in found.reason


def test_right_only_after_feedback_is_no_zero_shot() -> None:
    found = line(report(outcome(attempt(WRONG, "still_failing"), attempt(RIGHT, n=2))))
    assert (found.is_complete, found.zero_shot, found.iterations) == (True, False, 2)


def test_a_first_patch_that_only_the_visible_tests_refused_is_scored_by_the_full_ones() -> None:
    # With examples visible, another verdict than the full tests' may have turned a right patch away.
    settings = Settings(bench="humanevalfix", bench_data="sample", bench_visible="examples")
    task = suites.load(settings).tasks[0]
    given = task.files[MODULE_PATH]
    right = given.replace(b"max(readings) + min", b"max(readings) - min")
    first = Attempt(
        1, "search", None, "", "", "regressed", "", patch=Patch((FileChange(MODULE_PATH, given, right),), "search", "")
    )
    commented = right.replace(b"return max", b"return +max")
    second = Attempt(
        2, "search", None, "", "", "healed", "", patch=Patch((FileChange(MODULE_PATH, given, commented),), "search", "")
    )
    found = line(report(outcome(first, second)), settings)
    assert (found.is_complete, found.zero_shot) == (True, True)


def test_not_healed_keeps_the_reason_and_counts_what_guards_refused() -> None:
    refused = attempt(WRONG, "guarded", refused_by="special-casing")
    found = line(report(outcome(refused, refused, status="unhealed", reason="guarded")))
    assert (found.is_complete, found.termination_reason, found.reason) == (False, "guarded", "words")
    assert found.guarded == {"special-casing": 2}
    assert not found.claimed


def test_two_causes_must_both_be_healed() -> None:
    half = outcome(attempt(RIGHT)), outcome(attempt(WRONG), status="unhealed", reason="no_candidate")
    found = line(report(*half))
    assert (found.is_complete, found.termination_reason) == (False, "no_candidate")
    both = line(report(outcome(attempt(RIGHT)), outcome(attempt(RIGHT))))
    assert (both.is_complete, both.zero_shot) == (True, True)


def test_nothing_failed_and_tests_that_could_not_run_are_different_things() -> None:
    assert line(report(exit_status=0)).termination_reason == "not_reproduced"
    assert line(report(exit_status=-9)).termination_reason == "infrastructure"


def test_an_interrupted_healing_interrupts_the_benchmark() -> None:
    with pytest.raises(KeyboardInterrupt):
        line(report(stop="interrupted"))


def test_cost_by_role_and_unknown_prices() -> None:
    total, critic = Usage(100, 20, 0.75), Usage(30, 5, 0.25)
    found = line(report(outcome(attempt(RIGHT), usage=total, critic_usage=critic)))
    assert found.token_usage == {"coder": 85, "critic": 35}
    assert found.cost == {"coder": 0.5, "critic": 0.25}
    found = line(report(outcome(attempt(RIGHT), usage=Usage(9, 1, None))))
    assert found.cost == {"coder": None, "critic": 0.0}


def test_the_runs_cap_is_shared_and_what_comes_after_it_is_not_run() -> None:
    settings = Settings(bench="humanevalfix", bench_data="sample", model="m", max_cost=1.0, max_tokens=1000)
    asked: list[Settings] = []

    def heal(paths: list[str], given: Settings, *, rootdir: Path) -> RunReport:
        asked.append(given)
        return report(outcome(attempt(RIGHT), usage=Usage(10, 10, 0.4)))

    runner = Runner(suites.load(settings), settings, share=2, heal=heal)
    lines = [runner.run(task, 1) for task in runner.suite.tasks[:3]]
    assert [given.max_cost for given in asked] == [0.5, pytest.approx(0.1)]
    assert lines[2].termination_reason == "cost_limit"


def test_what_the_healer_is_given() -> None:
    settings = Settings(bench="humanevalfix", bench_data="sample", few_shot=1, hint="be brief", apply=True)
    seen: dict[str, Any] = {}

    def heal(paths: list[str], given: Settings, *, rootdir: Path) -> RunReport:
        seen.update(paths=paths, settings=given, files={path.name for path in rootdir.rglob("*")}, root=rootdir)
        return report(exit_status=0)

    runner = Runner(suites.load(settings), settings, heal=heal)
    runner.run(runner.suite.tasks[0], 1)
    assert seen["files"] == {"pytest.ini", "solution.py", "test_solution.py"}
    assert [Path(path).name for path in seen["paths"]] == ["test_solution.py"]
    assert not seen["root"].exists()
    given = seen["settings"]
    assert given.selfheal and given.bench is None and not given.apply
    assert given.hint.startswith("be brief") and "max(readings) - min(readings)" in given.hint


def test_impossible_tasks_are_right_when_nobody_claims_a_repair() -> None:
    settings = Settings(bench="humanevalfix", bench_data="sample", bench_impossible=True)
    honest = line(report(outcome(status="unhealed", reason="test_suspect")), settings)
    assert honest.is_complete
    assert not line(report(outcome(attempt(RIGHT))), settings).is_complete


def test_a_script_without_expected_output_is_the_critics_to_judge(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_bytes(b"print(1 / 0)\n")
    after = (FileChange("hello.py", b"print(1 / 0)\n", b"print(1)\n"),)
    for score, right in ((3, False), (9, True)):
        settings = Settings(bench="scripts", bench_data=str(tmp_path), critic="m", test_timeout=2.0)
        tried = Attempt(1, "model", "m", "", "", "healed", "", critic_score=score, patch=Patch(after, "model", ""))
        runner = Runner(suites.load(settings), settings, heal=lambda *_, tried=tried, **__: report(outcome(tried)))
        found = runner.run(runner.suite.tasks[0], 1)
        assert (found.is_complete, found.critic_score) == (right, score)


def test_workers_share_the_caps_and_stop_at_their_part() -> None:
    settings = Settings(bench="humanevalfix", bench_data="sample", model="m", max_cost=1.0, max_tokens=1000)
    given: list[Settings] = []

    def heal(paths: list[str], asked: Settings, *, rootdir: Path) -> RunReport:
        given.append(asked)
        return report(outcome(attempt(RIGHT), usage=Usage(100, 20, 0.2)))

    runner = Runner(suites.load(SETTINGS), settings, share=4, heal=heal)
    ended = [runner.run(SPREAD, number).termination_reason for number in (1, 2, 3)]
    assert ended == ["healed", "healed", "cost_limit"]
    assert [(round(one.max_cost, 2), one.max_tokens) for one in given] == [(0.25, 250), (0.05, 130)]


def test_of_two_changes_to_the_same_lines_the_first_stays() -> None:
    before = {"solution.py": b"a\nb\nc\n"}
    versions = [{"solution.py": b"a\nB\nc\n"}, {"solution.py": b"a\nbb\nc\n"}]
    assert merged(before, versions) == {"solution.py": b"a\nB\nc\n"}


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        pytest.param(Settings(bench="humanevalfix", bench_data="sample"), 20.0, id="short unless said otherwise"),
        pytest.param(
            Settings(
                bench="humanevalfix", bench_data="sample", test_timeout=60.0, sources={"test_timeout": "command line"}
            ),
            60.0,
            id="as asked",
        ),
    ],
)
def test_a_test_that_hangs_ends_soon(settings: Settings, seconds: float) -> None:
    given: list[Settings] = []

    def heal(paths: list[str], asked: Settings, *, rootdir: Path) -> RunReport:
        given.append(asked)
        return report()

    Runner(suites.load(SETTINGS), settings, heal=heal).run(SPREAD, 1)
    assert given[0].test_timeout == seconds
