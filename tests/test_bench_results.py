"""Results on disk: the fixed shape, nothing lost in a crash, merging, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.bench import figures
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.results import Results, Writer, merge, natural, read
from pytest_selfheal.errors import RecordError

METADATA = {"benchmark": "mbpp", "data_sha256": "0" * 64, "visible": "tests", "num_problems": 3, "runs": 1}
MODELS = {"coder": "acme/small:1", "critic": None, "strategy": "auto"}


def line(task: int = 1, run: int = 1, right: bool = True, **more: Any) -> Line:
    data: dict[str, Any] = {
        "task_id": f"MBPP/{task}",
        "run": run,
        "entry_point": "f",
        "is_complete": right,
        "zero_shot": right,
        "equivalent": None,
        "confidence": "high" if right else None,
        "termination_reason": "healed" if right else "no_candidate",
        **more,
    }
    return Line(**data)


def writer(folder: Path, **metadata: Any) -> Writer:
    return Writer(folder, {**METADATA, **metadata}, MODELS)


def test_names_and_shape_are_the_fixed_ones(tmp_path: Path) -> None:
    made = writer(tmp_path)
    made.add(line())
    path = made.close()
    assert path.name.startswith("mbpp-acme-small-1-") and path.suffix == ".json"
    data = json.loads(path.read_text())
    assert list(data) == ["benchmark_run_metadata", "models_metadata", "problems_results", "benchmark_summary"]
    assert {
        "task_id", "run", "entry_point", "is_complete", "zero_shot", "equivalent", "confidence", "termination_reason",
        "iterations", "candidates", "seconds", "cpu_seconds", "critic_score", "token_usage", "cost", "diff",
    } <= set(data["problems_results"][0])  # fmt: skip
    summary = data["benchmark_summary"]
    assert {"problems", "iterations", "termination_reasons", "token_usage", "cost"} <= set(summary)
    assert {"total", "passed", "pass_rate", "ci95", "zero_shot_rate", "lift", "equivalent"} <= set(summary["problems"])
    assert {"total", "per_pass"} <= set(summary["cost"])
    last = json.loads(path.with_suffix(".jsonl").read_text().splitlines()[-1])
    assert last == {"metric": "pass@1", "num": 1, "successes": 1, "value": 1.0}


def test_a_run_that_was_killed_loses_no_finished_task(tmp_path: Path) -> None:
    made = writer(tmp_path)
    made.add(line(1))
    made.add(line(2, right=False))
    made._stream.close()
    # No close() of the writer: the process is gone. The last line is half written, as after a power cut.
    with made.path.with_suffix(".jsonl").open("a") as stream:
        stream.write('{"task_id": "MBPP/3", "is_com')
    found = read(made.path)
    assert [(each.task_id, each.is_complete) for each in found.lines] == [("MBPP/1", True), ("MBPP/2", False)]
    assert found.problems == (f"{made.path.stem}.jsonl line 3 is cut off and was left out",)
    made.path.unlink()
    alone = read(made.path.with_suffix(".jsonl"))
    assert len(alone.lines) == 2 and alone.benchmark == "mbpp"


def test_two_runs_in_one_second_do_not_share_a_file(tmp_path: Path) -> None:
    paths = {writer(tmp_path).close() for _ in range(3)}
    assert len(paths) == 3


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"other": 1}'])
def test_what_is_no_results_file_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(RecordError, match="give a file that a benchmark run has written"):
        read(path)
    with pytest.raises(RecordError, match="cannot read"):
        read(tmp_path / "nowhere.json")


def test_an_output_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="--selfheal-bench-output"):
        writer(tmp_path / "file" / "below")


def results(*lines: Line, **metadata: Any) -> Results:
    return Results({**METADATA, **metadata}, MODELS, lines)


def test_parts_of_one_suite_from_two_machines_become_one_run() -> None:
    [whole] = merge([results(line(1), line(3)), results(line(2), line(10))])
    assert [each.task_id for each in whole.lines] == ["MBPP/1", "MBPP/2", "MBPP/3", "MBPP/10"]
    assert {each.run for each in whole.lines} == {1}


def test_repeats_are_numbered_on() -> None:
    [whole] = merge([results(line(1), line(2)), results(line(1, right=False), line(2))])
    assert [(each.run, each.task_id, each.is_complete) for each in whole.lines] == [
        (1, "MBPP/1", True), (1, "MBPP/2", True), (2, "MBPP/1", False), (2, "MBPP/2", True),
    ]  # fmt: skip
    assert whole.metadata["runs"] == 2


def test_other_data_another_model_or_visibility_are_never_merged() -> None:
    parts = [results(line()), results(line(), data_sha256="1"), results(line(), visible="none")]
    parts.append(Results(METADATA, {**MODELS, "coder": "other"}, (line(),)))
    assert len(merge(parts)) == 4


def test_natural_order() -> None:
    assert sorted(["T/10", "T/9", "T/1", "U/2"], key=natural) == ["T/1", "T/9", "T/10", "U/2"]


def test_unknown_prices_stay_unknown_in_sums() -> None:
    known, unknown = {"coder": 0.25, "critic": 0.5}, {"coder": None, "critic": 0.0}
    summary = figures.summarise([line(1, cost=known), line(2, cost=unknown)])
    assert summary["cost"]["total"] is None and summary["cost"]["per_pass"] is None
    assert summary["cost"]["known"] == 0.75
    assert figures.money(None, 0.75) == "≥ $0.7500"
    assert figures.summarise([line(1, cost=known), line(2, right=False)])["cost"]["per_pass"] == 0.75


def test_rates_lift_and_wrong_claims() -> None:
    lines = [
        line(1),
        line(2, zero_shot=False, equivalent=False, iterations=3),
        line(3, right=False, termination_reason="healed", confidence="high"),
        line(4, right=False, guarded={"protected": 2}),
    ]
    summary = figures.summarise(lines, num_problems=5)
    problems = summary["problems"]
    assert (problems["total"], problems["passed"], problems["pass_rate"]) == (4, 2, 0.5)
    assert (problems["zero_shot_rate"], problems["lift"]) == (0.25, 0.25)
    assert (problems["claimed_but_wrong"], problems["high_confidence_wrong"], problems["high_confidence"]) == (1, 1, 3)
    assert (problems["equivalent"], problems["compared"], problems["unfinished"]) == (0, 1, 1)
    assert summary["guard_refusals"] == {"protected": 2}
    assert summary["termination_reasons"] == {"healed": 3, "no_candidate": 1}


def test_the_interval_is_wilsons_for_one_run_and_t_over_repeats() -> None:
    pytest.importorskip("scipy")
    once = [line(1), line(2), line(3, right=False)]
    assert figures.interval_method(once) == "Wilson"
    assert figures.interval(once) == pytest.approx([0.2077, 0.9385], abs=1e-4)
    twice = [*once, line(1, 2), line(2, 2), line(3, 2)]
    assert figures.interval_method(twice) == "t over 2 repeats"
    # An unfinished third repeat says nothing of the whole suite.
    assert figures.runs([*twice, line(1, 3)])["pass_rates"] == figures.runs(twice)["pass_rates"]


def test_lines_of_other_versions_can_be_read() -> None:
    read_back = Line.from_json({"task_id": "a", "is_complete": True, "something": "new"})
    assert (read_back.task_id, read_back.run, read_back.equivalent) == ("a", 1, None)
    assert Line.from_json(line().to_json()) == line()
    with pytest.raises(ValueError, match="without task_id"):
        Line.from_json({"task_id": 3})
