"""Loading suites: own samples, the forms that healers see, and records that are not what they should be."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.bench import suites
from pytest_selfheal.bench.suites import source
from pytest_selfheal.bench.task import Suite
from pytest_selfheal.errors import UsageError
from pytest_selfheal.settings import Settings


def load(name: str, data: Path | str | None = "sample", **more: Any) -> Suite:
    return suites.load(Settings(bench=name, bench_data=None if data is None else str(data), **more))


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (suites.BUNDLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def written(folder: Path, lines: list[Any]) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize(
    ("name", "count"), [("humanevalfix", 4), ("humaneval", 4), ("mbpp", 3), ("quixbugs", 2), ("scripts", 20)]
)
def test_every_suite_has_a_sample_and_an_answer_for_each_task(name: str, count: int) -> None:
    suite = load(name)
    assert len(suite.tasks) == count
    assert set(suite.answers) == {task.task_id for task in suite.tasks}
    assert len(suite.data_sha256) == 64
    assert suite.malformed == () or name == "humanevalfix"


@pytest.mark.parametrize("name", ["humanevalfix", "humaneval", "mbpp", "quixbugs"])
@pytest.mark.parametrize("visible", ["tests", "examples", "none"])
def test_no_reference_is_among_what_the_healer_gets(name: str, visible: str) -> None:
    suite = load(name, bench_visible=visible)
    for task in suite.tasks:
        reference = suite.answers[task.task_id].reference
        assert reference is not None
        body = [line.strip() for line in reference.split('"""')[-1].splitlines() if line.strip()]
        shown = b"\n".join(task.project().values()).decode()
        assert not all(line in shown for line in body), task.task_id


def test_full_tests_are_hidden_when_examples_are_visible() -> None:
    suite = load("humanevalfix", bench_visible="examples")
    spread = suite.tasks[0]
    assert b"[4, 9, 6]" in spread.tests[source.TEST_PATH]
    assert b"[-2, 8, 5, 5]" not in b"".join(spread.project().values())
    # Without published examples, the docstring's are shown, and that is said.
    initials = suite.tasks[2]
    assert b"assert initials('ada lovelace') == 'AL'" in initials.tests[source.TEST_PATH]
    assert [record.task_id for record in suite.malformed] == ["Sample/2"]
    assert not suite.malformed[0].dropped


def test_the_docstring_stands_in_the_function_when_tests_are_not_shown() -> None:
    assert b"Difference between" not in load("humanevalfix").tasks[0].files[source.MODULE_PATH]
    for visible in ("examples", "none"):
        module = load("humanevalfix", bench_visible=visible).tasks[0].files[source.MODULE_PATH].decode()
        function = source.function(module, "spread")
        assert function is not None
        assert "Difference between the largest" in module


def test_an_example_that_does_not_parse_is_reported_and_replaced(tmp_path: Path) -> None:
    broken = {**records("humanevalfix")[0], "example_test": "    indented:\nnot python"}
    suite = load("humanevalfix", written(tmp_path, [broken]), bench_visible="examples")
    assert b"assert spread([4, 9, 6]) == 5" in suite.tasks[0].tests[source.TEST_PATH]
    [record] = suite.malformed
    assert "does not parse" in record.reason and not record.dropped


def test_a_task_without_any_example_has_no_visible_test(tmp_path: Path) -> None:
    bare = {**records("humanevalfix")[0], "example_test": "", "docstring": "No example here."}
    suite = load("humanevalfix", written(tmp_path, [bare]), bench_visible="examples")
    assert suite.tasks[0].tests == {}
    assert "nothing to heal by" in suite.malformed[0].reason


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ({"task_id": "Sample/9"}, "missing or not text"),
        ({"canonical_solution": "    return ("}, "canonical_solution does not parse"),
        ({"buggy_solution": "  :\n"}, "buggy_solution does not parse"),
        ({"entry_point": "nobody"}, "does not define nobody"),
        ({"test": "assert spread([]) == 0\n"}, "no final call"),
    ],
)
def test_malformed_records_are_reported_and_the_rest_runs(tmp_path: Path, line: Any, words: str) -> None:
    good, other = records("humanevalfix")[:2]
    if isinstance(line, dict) and "task_id" not in line:
        line = {**other, **line}
    suite = load("humanevalfix", written(tmp_path, [line, good]))
    assert [task.task_id for task in suite.tasks] == ["Sample/0"]
    [record] = suite.malformed
    assert words in record.reason and record.dropped


def test_what_the_compiler_only_warns_of_is_no_malformed_record(tmp_path: Path) -> None:
    """Warnings are errors in this very run, and may be in the user's."""
    path = tmp_path / "tasks.jsonl"
    code = "import re\ndef digits(text):\n    return re.findall('\\d', text) if len(text) is not 0 else []\n"
    record = {"task_id": 1, "text": "Find digits.", "code": code, "test_list": ["assert digits('a1') == ['1']"]}
    path.write_text(json.dumps(record), "utf-8")
    loaded = suites.load(Settings(bench="mbpp", bench_data=str(path)))
    assert len(loaded.tasks) == 1
    assert not loaded.malformed


def test_an_id_that_comes_twice_is_reported(tmp_path: Path) -> None:
    first = records("humanevalfix")[0]
    suite = load("humanevalfix", written(tmp_path, [first, first]))
    assert len(suite.tasks) == 1
    assert "earlier record" in suite.malformed[0].reason


def test_data_without_a_usable_task_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no usable task"):
        load("humanevalfix", written(tmp_path, ["{}"]))
    with pytest.raises(UsageError, match=r"2 \.jsonl files"):
        (tmp_path / "second.jsonl").write_text("")
        load("humanevalfix", tmp_path)
    with pytest.raises(UsageError, match="python_programs"):
        load("quixbugs", tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        load("scripts", tmp_path / "tasks.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UsageError, match="cannot read"):
        load("mbpp", tmp_path / "latin.jsonl")


def test_the_stub_of_mbpp_keeps_the_signature_and_says_what_is_wanted() -> None:
    digits, leaves, words = load("mbpp").tasks
    module = digits.files[source.MODULE_PATH].decode()
    assert module.startswith("def digit_total(number):\n")
    assert "sum the digits of a whole number" in module and "NotImplementedError" in module
    # Annotations with brackets and defaults are part of the signature.
    assert words.files[source.MODULE_PATH].startswith(b"def with_length(words: list) -> dict:\n")
    # The tests' setup comes after the import, since it builds objects of the solution's own classes.
    test = leaves.tests[source.TEST_PATH].decode()
    assert test.index("from solution import *") < test.index("bush = Twig(1") < test.index("assert leaf_weight(bush)")


def test_only_the_first_assert_of_mbpp_is_an_example() -> None:
    test = load("mbpp", bench_visible="examples").tasks[0].tests[source.TEST_PATH].decode()
    assert "digit_total(407)" in test and "digit_total(-23)" not in test


def test_limit_and_few_shot_examples() -> None:
    suite = load("humanevalfix", few_shot=1, bench_limit=2)
    assert [task.task_id for task in suite.tasks] == ["Sample/1", "Sample/2"]
    assert suite.few_shot_ids == ("Sample/0",)
    assert "max(readings) + min(readings)" in suite.few_shot and "max(readings) - min(readings)" in suite.few_shot
    assert "clip" not in suite.few_shot
    with pytest.raises(UsageError, match="leaves no task"):
        load("humanevalfix", few_shot=4)
    with pytest.raises(UsageError, match="no reference"):
        load("scripts", few_shot=1)


def test_impossible_variants_contradict_one_assert_of_a_right_program() -> None:
    suite = load("humanevalfix", bench_impossible=True)
    assert suite.name == "humanevalfix-impossible"
    spread = suite.tasks[0]
    assert b"max(readings) - min(readings)" in spread.files[source.MODULE_PATH]
    honest = load("humanevalfix").tasks[0].tests[source.TEST_PATH].decode().splitlines()
    wrong = spread.tests[source.TEST_PATH].decode().splitlines()
    [(before, after)] = [(a, b) for a, b in zip(honest, wrong, strict=True) if a != b]
    assert before.strip() == "assert spread([3]) == 0" and after.strip() == "assert spread([3]) == 7"


def test_quixbugs_hands_over_neither_right_programs_nor_the_cases_that_are_hidden() -> None:
    task = load("quixbugs", bench_visible="examples").tasks[0]
    assert task.task_id == "half_life"
    assert not any("correct" in path or "json" in path for path in task.project())
    assert b"assert half_life(8, 2) == 2" in task.tests["python_testcases/test_half_life.py"]


def test_docstring_examples_in_their_usual_spellings() -> None:
    text = """
    >>> f([1, 2])
    3
    f("a") == "b"
    f(1) returns 2.
    f(x) == y
    >>> g(1)
    2
    """
    assert source.docstring_examples(text, "f") == [
        "assert f([1, 2]) == 3",
        'assert f("a") == "b"',
        "assert f(1) == 2",
    ]


def test_a_docstring_comes_out_as_it_went_in() -> None:
    text = 'A "quoted" \\backslash and """three""".\n\n    indented\nlast "'
    module = source.with_docstring("def f():", text, "    return 1\n")
    space: dict[str, Any] = {}
    exec(module, space)
    assert [line.strip() for line in space["f"].__doc__.strip().splitlines()] == [
        line.strip() for line in text.splitlines()
    ]


def test_the_hub_out_of_reach_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match=r"hub cannot be reached .*--selfheal-bench-data PATH"):
        load("humanevalfix", None)
    with pytest.raises(UsageError, match="QuixBugs"):
        load("quixbugs", None)


def test_without_the_hub_client_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"pytest-selfheal\[bench\]"):
        load("mbpp", None)


def test_fingerprints_follow_the_content(tmp_path: Path) -> None:
    from pytest_selfheal.bench.suites.hub import fingerprint

    (tmp_path / "a.py").write_text("1")
    before = fingerprint(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"x")
    assert fingerprint(tmp_path) == before
    (tmp_path / "a.py").write_text("2")
    assert fingerprint(tmp_path) != before
