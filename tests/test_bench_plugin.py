"""``--selfheal-bench`` in real pytest runs: alone, under xdist, chosen by ``-k``, interrupted, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_selfheal.bench.cli import load
from pytest_selfheal.bench.suites import BUNDLED
from pytest_selfheal.testing import Example, Result, ScriptedModel

# With nothing visible there is nothing to heal by: the items end at once, which is all that most of these tests need.
BLIND = ("--selfheal-bench=quixbugs", "--selfheal-bench-data=sample", "--selfheal-bench-visible=none")
QUICK = ("--selfheal-bench-data=sample", "--selfheal-effort=fast")
QUIET = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
XDIST = ("-p", "xdist")


def bench(folder: Path, *arguments: str, xdist: bool = False, **files: str) -> Result:
    project = Example({"test_own.py": "def test_own():\n    assert False, 'never collected'\n", **files}, folder)
    plugins = XDIST if xdist else ()
    return project.run("-p", "selfheal", *plugins, *arguments, environment=QUIET, timeout=300)


def lines(folder: Path, suffix: str = ".jsonl") -> list[dict[str, Any]]:
    [path] = (folder / "selfheal-bench").glob(f"*{suffix}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_task_is_healed_scored_and_written_down(tmp_path: Path) -> None:
    done = bench(tmp_path, "--selfheal-bench=humanevalfix", *QUICK, "--selfheal-bench-limit=1")
    assert done.code == 0, done.stdout + done.stderr
    assert "never collected" not in done.stdout
    task, metric = lines(tmp_path)
    assert metric == {"metric": "pass@1", "num": 1, "successes": 1, "value": 1.0}
    assert (task["task_id"], task["is_complete"], task["zero_shot"], task["equivalent"]) == (
        "Sample/0",
        True,
        True,
        True,
    )
    assert task["termination_reason"] == "healed" and task["confidence"] in ("high", "medium", "low")
    assert task["compared"] >= 200 and "+    return max(readings) - min(readings)" in task["diff"]
    assert task["seconds"] > task["overhead_seconds"] > 0
    assert "right          1/1 100.0%" in done.stdout
    # Nothing of the tasks' projects stays behind, neither here nor in the user's folder.
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".pytest_cache") == [
        "selfheal-bench",
        "test_own.py",
    ]


def test_a_script_that_cannot_be_healed_fails_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    Example({"beyond.py": "raise SystemExit('no')\n", "beyond.expected": "42\n"}, folder)
    done = bench(tmp_path, "--selfheal-bench=scripts", f"--selfheal-bench-data={folder}", "--selfheal-effort=fast")
    assert done.code == 1
    [task, _] = lines(tmp_path)
    assert not task["is_complete"] and task["termination_reason"] != "healed" and task["reason"]
    assert "not healed: " in done.stdout


def test_xdist_writes_each_task_once_and_in_one_file(tmp_path: Path) -> None:
    done = bench(tmp_path, *BLIND, "-n2", "--selfheal-bench-runs=3", xdist=True)
    assert done.code == 1
    written = lines(tmp_path)
    assert sorted((line["task_id"], line["run"]) for line in written[:-1]) == [
        (task, run) for task in ("half_life", "pairs_up") for run in (1, 2, 3)
    ]
    whole = json.loads(next((tmp_path / "selfheal-bench").glob("*.json")).read_text())
    assert whole["benchmark_run_metadata"]["num_problems"] == 2
    assert whole["benchmark_run_metadata"]["runs"] == 3
    assert whole["benchmark_summary"]["runs"]["pass_rates"] == [0, 0, 0]
    assert {line["termination_reason"] for line in whole["problems_results"]} == {"not_reproduced"}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        pytest.param(["--selfheal-bench-data", "../data/own.jsonl"], True, id="a word of its own"),
        pytest.param(["--selfheal-bench-data=../data/own.jsonl"], False, id="one word"),
    ],
)
def test_a_data_path_that_pytest_takes_for_its_own_is_told(tmp_path: Path, form: list[str], said: bool) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "own.jsonl").write_bytes((BUNDLED / "mbpp.jsonl").read_bytes())
    done = bench(tmp_path / "project", "--selfheal-bench=mbpp", *form, "--collect-only", **{"pytest.ini": "[pytest]\n"})
    assert done.code == 0, done.stdout + done.stderr
    assert ("write --selfheal-bench-data=PATH" in done.stdout) is said


def test_several_gateways_with_folders_and_environments_of_their_own(tmp_path: Path) -> None:
    """What ``--tx ssh=…`` does on other machines, with this one standing for them."""
    folders = [tmp_path / name for name in ("north", "south")]
    for folder in folders:
        folder.mkdir()
    gateways = [f"--tx=popen//chdir={folder}//env:SELFHEAL_EFFORT=fast" for folder in folders]
    done = bench(tmp_path, *BLIND, "--dist=load", *gateways, xdist=True)
    assert done.code == 1, done.stdout + done.stderr
    assert {line["task_id"] for line in lines(tmp_path)[:-1]} == {"half_life", "pairs_up"}
    # xdist copies pytest itself there; of ours, results above all, nothing is written on the workers' side.
    assert not [path.name for folder in folders for path in folder.iterdir() if "selfheal" in path.name]


def test_results_of_a_machine_with_other_data_are_left_out(tmp_path: Path) -> None:
    conftest = """\
import os
import pytest

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if os.environ.get("PYTEST_XDIST_WORKER"):
        plugin = config.pluginmanager.get_plugin("selfheal-bench")
        object.__setattr__(plugin.suite, "data_sha256", "0" * 64)
"""
    done = bench(tmp_path, *BLIND, "-n1", xdist=True, **{"conftest.py": conftest})
    assert lines(tmp_path)[0]["num"] == 0
    assert "its data is another version" in done.stdout


def test_a_worker_that_dies_costs_its_task_and_no_other(tmp_path: Path) -> None:
    conftest = """\
import os

def pytest_runtest_setup(item):
    if item.name == "half_life" and os.environ.get("PYTEST_XDIST_WORKER"):
        os._exit(7)
"""
    bench(tmp_path, *BLIND, "-n1", xdist=True, **{"conftest.py": conftest})
    found = {line["task_id"]: line for line in lines(tmp_path)[:-1]}
    assert found["half_life"]["termination_reason"] == "infrastructure"
    assert "crashed" in found["half_life"]["reason"]
    assert found["pairs_up"]["termination_reason"] == "not_reproduced"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-k", "pairs"), ["pairs_up"]),
        (("quixbugs::pairs_up",), ["pairs_up"]),
        (("-x",), ["half_life"]),
        (("--deselect", "quixbugs::half_life"), ["pairs_up"]),
        (("--selfheal-bench-limit=1",), ["half_life"]),
    ],
)
def test_tasks_are_chosen_as_tests_are(tmp_path: Path, arguments: tuple[str, ...], expected: list[str]) -> None:
    done = bench(tmp_path, *BLIND, *arguments)
    assert done.code == 1, done.stdout + done.stderr
    assert [line["task_id"] for line in lines(tmp_path)[:-1]] == expected
    whole = json.loads(next((tmp_path / "selfheal-bench").glob("*.json")).read_text())
    assert whole["benchmark_run_metadata"]["num_problems"] == (2 if arguments == ("-x",) else 1)


def test_last_failed_junit_and_durations(tmp_path: Path) -> None:
    bench(tmp_path, *BLIND, "-k", "pairs")
    (tmp_path / "selfheal-bench").rename(tmp_path / "first")
    bench(tmp_path, *BLIND, "--lf", "--junitxml=junit.xml", "--durations=1", "-vv")
    assert [line["task_id"] for line in lines(tmp_path)[:-1]] == ["pairs_up"]
    case = ElementTree.parse(tmp_path / "junit.xml").getroot().find(".//testcase")
    assert case is not None and (case.get("classname"), case.get("name")) == ("quixbugs", "pairs_up")
    properties = {found.get("name"): found.get("value") for found in case.iter("property")}
    assert properties["termination_reason"] == "not_reproduced"


def test_collecting_only_lists_tasks_and_writes_nothing(tmp_path: Path) -> None:
    done = bench(tmp_path, *BLIND, "--collect-only", "-q")
    assert done.code == 0
    assert "quixbugs::half_life" in done.stdout
    assert not (tmp_path / "selfheal-bench").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--selfheal-bench=mbpp", "--selfheal-bench-data=nowhere.jsonl"), "'nowhere.jsonl' does not exist"),
        (("--selfheal-bench=mbpp", "--selfheal-bench-data=test_own.py"), "no usable task"),
        (("--selfheal-bench=chess",), "humanevalfix, humaneval, mbpp, quixbugs, scripts"),
        ((*BLIND, "test_own.py"), "'test_own.py' is not a task"),
        ((*BLIND, "--selfheal-bench-output=test_own.py"), "cannot write to"),
    ],
)
def test_wrong_values_are_usage_errors(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = bench(tmp_path, *arguments)
    assert done.code == 4, done.stdout + done.stderr
    assert words in done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr


def test_own_metrics_of_a_conftest_are_kept(tmp_path: Path) -> None:
    conftest = "def pytest_selfheal_bench_metrics(task_id, result):\n    return {'letters': len(task_id), 'right': result['is_complete']}\n"
    bench(tmp_path, *BLIND, **{"conftest.py": conftest})
    assert [line["metrics"] for line in lines(tmp_path)[:-1]] == [
        {"letters": 9, "right": False},
        {"letters": 8, "right": False},
    ]


def test_malformed_records_are_named_in_the_header_and_the_results(tmp_path: Path) -> None:
    sample = (BUNDLED / "humanevalfix.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "tasks.jsonl").write_text(f"{sample}\nnot json\n", encoding="utf-8")
    done = bench(tmp_path, "--selfheal-bench=humanevalfix", "--selfheal-bench-data=tasks.jsonl", "-k", "nothing")
    assert "1 records left out (line 2: not JSON" in done.stdout
    whole = json.loads(next((tmp_path / "selfheal-bench").glob("*.json")).read_text())
    [record] = whole["benchmark_run_metadata"]["malformed"]
    assert record["task_id"] == "line 2" and record["dropped"] is True


@pytest.mark.parametrize(("end", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 2)])
def test_a_run_that_is_ended_keeps_what_was_finished(tmp_path: Path, end: signal.Signals, code: int) -> None:
    conftest = """\
import time

def pytest_runtest_setup(item):
    if item.name == "pairs_up":
        time.sleep(60)
"""
    (tmp_path / "conftest.py").write_text(conftest)
    command = [sys.executable, "-m", "pytest", "-p", "selfheal", *BLIND]
    # A shell that runs the tests in the background has them ignore Ctrl-C, and a child would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **QUIET}, stdout=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = list((tmp_path / "selfheal-bench").glob("*.jsonl"))
            if found and found[0].read_text().count("\n") >= 1:
                break
            time.sleep(0.05)
        process.send_signal(end)
        assert process.wait(timeout=60) == code
    finally:
        process.kill()
        process.wait()
    [results] = load(["selfheal-bench"], tmp_path)
    assert [line.task_id for line in results.lines] == ["half_life"]
    assert ("metric" in lines(tmp_path)[-1]) is (end == signal.SIGINT)


def test_without_a_terminal_reporter_results_are_written_all_the_same(tmp_path: Path) -> None:
    done = bench(tmp_path, *BLIND, "-p", "no:terminal")
    assert done.code == 1
    assert len(lines(tmp_path)) == 3


def test_the_live_line_on_a_terminal(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("needs a pseudo-terminal")
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "selfheal", *BLIND]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **QUIET}, stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    output = b""
    while True:
        try:
            data = os.read(parent, 4096)
        except OSError:
            break
        if not data:
            break
        output += data
    os.close(parent)
    assert process.wait() == 1
    text = output.decode("utf-8", "replace")
    assert "\rbenchmark: 1/2 done, 0 healed, 0 right, about " in text
    assert "\rbenchmark: 2/2 done, 0 healed, 0 right" in text


def test_impossible_variants_pass_when_nobody_claims_to_have_healed_them(tmp_path: Path) -> None:
    ini = "[pytest]\nselfheal_bench_impossible = true\n"
    done = bench(tmp_path, "--selfheal-bench=humanevalfix", *QUICK, "--selfheal-bench-limit=1", **{"pytest.ini": ini})
    [task, _] = lines(tmp_path)
    assert task["is_complete"] is (task["termination_reason"] != "healed")
    assert done.code == (0 if task["is_complete"] else 1)
    assert "humanevalfix-impossible" in done.stdout


def test_a_function_called_test_something_is_no_test(tmp_path: Path) -> None:
    record = {
        "task_id": 1,
        "text": "Write a function to say whether a number is above ten.",
        "code": "def test_ten(number):\n    return number > 10\n",
        "test_list": ["assert test_ten(11) is True", "assert test_ten(10) is False"],
        "test_setup_code": "",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    reply = "```python\n# FILE: solution.py\ndef test_ten(number):\n    return number > 10\n```\n"
    with ScriptedModel(lambda _: reply) as model:
        arguments = ("--selfheal-bench=mbpp", "--selfheal-bench-data=tasks.jsonl", "--selfheal-strategy=model")
        done = bench(tmp_path, *arguments, "--selfheal-effort=fast", *model.options)
    assert done.code == 0, done.stdout + done.stderr
    [task, _] = lines(tmp_path)
    assert task["is_complete"] and task["token_usage"]["coder"] > 0
    assert task["cost"]["coder"] is None or task["cost"]["coder"] >= 0
