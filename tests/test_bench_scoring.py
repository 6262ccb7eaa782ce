"""Scoring in a process apart: right and wrong programs, forgeries, what runs for ever, and equivalence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_selfheal.bench import scoring, suites
from pytest_selfheal.bench.suites.source import MODULE_PATH
from pytest_selfheal.bench.task import Answer, Task
from pytest_selfheal.judge.sandbox import choose
from pytest_selfheal.settings import Settings

SETTINGS = Settings(test_timeout=2.0)
REFERENCE = "def clip(value, low, high):\n    return min(max(value, low), high)\n"
TESTS = """\
def check(clip):
    assert clip(12, 0, 10) == 10
    assert clip(-3, 0, 10) == 0
    assert clip(4, 0, 10) == 4
    assert clip(7, -5, 6) == 6
    assert clip(-9, -5, 6) == -5

check(clip)
"""


def task(entry: str = "clip") -> Task:
    return Task("T/1", entry, MODULE_PATH, {MODULE_PATH: b""}, {})


def judged(module: str, *, answer: Answer | None = None, entry: str = "clip", compare: bool = False) -> scoring.Score:
    answer = answer or Answer("asserts", tests=TESTS, reference=REFERENCE)
    files = {MODULE_PATH: module.encode()}
    if compare:
        return scoring.score_beside_reference(task(entry), answer, files, SETTINGS)[0]
    return scoring.score(task(entry), answer, files, SETTINGS)


@pytest.mark.parametrize("name", ["humanevalfix", "mbpp", "quixbugs"])
def test_references_of_the_samples_are_right_and_what_is_given_is_wrong(name: str) -> None:
    suite = suites.load(Settings(bench=name, bench_data="sample"))
    for each in suite.tasks[:2]:
        answer = suite.answers[each.task_id]
        assert answer.reference is not None
        right: Mapping[str, bytes] = {**each.files, each.path: answer.reference.encode()}
        assert scoring.score(each, answer, right, SETTINGS).passed, each.task_id
        assert not scoring.score(each, answer, each.files, SETTINGS).passed, each.task_id


@pytest.mark.parametrize(
    ("trick", "module"),
    [
        ("ends the process with status 0", "import os\nos._exit(0)\n"),
        ("ends it when called", "import os\ndef clip(*_):\n    os._exit(0)\n"),
        ("leaves quietly", "raise SystemExit(0)\n"),
        ("leaves from a call", "def clip(*_):\n    raise SystemExit\n"),
        (
            "writes a verdict into every descriptor",
            'import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b\'["passed", ""]\\n\')\n    except OSError: pass\nos._exit(0)\n',
        ),
        (
            "speaks for the scorer's main process",
            "import json, os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, json.dumps({'nonce': '0', 'passed': True}).encode() + b'\\n')\n    except OSError: pass\nos._exit(0)\n",
        ),
        (
            "stops the asserts from running",
            "import builtins\ndef clip(*_): return 0\nbuiltins.AssertionError = KeyError\n",
        ),
        ("is no program", "def clip(:\n"),
        ("has no such function", "x = 1\n"),
        ("overflows the stack", "def clip(*a): return clip(*a)\n"),
    ],
)
def test_a_wrong_program_is_never_scored_right(trick: str, module: str) -> None:
    found = judged(module)
    assert not found.passed, trick
    assert found.reason


def test_what_runs_for_ever_ends_and_says_so() -> None:
    assert judged("def clip(*_):\n    while True: pass\n").reason == "timeout"


def test_the_scored_program_finds_no_reference_anywhere() -> None:
    """It looks through all objects of its process and through the files beside it."""
    spy = """\
import gc, os, sys

def found():
    wanted = 'min(max(' + 'value, low)'
    for thing in gc.get_objects():
        if isinstance(thing, dict) and thing is not globals():
            for value in list(thing.values()):
                if isinstance(value, str) and wanted in value and 'spying' not in value:
                    return True
    for folder, _, names in os.walk(os.getcwd()):
        for name in names:
            try:
                text = open(os.path.join(folder, name)).read()
            except (OSError, UnicodeDecodeError):
                continue
            if wanted in text and 'spying' not in text:
                return True
    return False

def clip(value, low, high):
    if found():
        return None
    return low if value < low else high if value > high else value
"""
    found = judged(spy, compare=True)
    assert found.passed, found
    assert found.equivalent is True, found


def test_equivalent_to_the_reference_on_hundreds_of_inputs() -> None:
    found = judged("def clip(v, low, high):\n    return high if v > high else low if v < low else v\n", compare=True)
    assert (found.passed, found.equivalent) == (True, True)
    assert found.compared >= 200


def test_green_but_not_equivalent_shows_an_input() -> None:
    module = "def clip(v, low, high):\n    return high if v > high else low if v < 0 else v\n"
    found = judged(module, compare=True)
    assert (found.passed, found.equivalent) == (True, False)
    assert "the reference:" in found.difference


def test_a_program_that_dies_on_other_inputs_is_not_equivalent() -> None:
    module = "import os\ndef clip(v, low, high):\n    if v == 3: os._exit(0)\n    return min(max(v, low), high)\n"
    assert judged(module, compare=True).equivalent is False


def test_too_few_inputs_say_nothing() -> None:
    answer = Answer(
        "asserts", tests="assert double(2) == 4\nassert double(3) == 6\n", reference="def double(n): return 2 * n\n"
    )
    found = judged("def double(n): return n + n\n", answer=answer, entry="double", compare=True)
    assert (found.passed, found.equivalent) == (True, None)


ORDER = """\
assert order([3, 1, 2]) is None
assert order([]) is None
assert order([5, 5, 1, 9, 4]) is None
"""


def test_what_happens_to_the_arguments_counts() -> None:
    answer = Answer("asserts", tests=ORDER, reference="def order(xs): xs.sort()\n")
    same = judged("def order(xs): xs[:] = sorted(xs)\n", answer=answer, entry="order", compare=True)
    other = judged("def order(xs): return None\n", answer=answer, entry="order", compare=True)
    assert (same.passed, same.equivalent) == (True, True)
    assert (other.passed, other.equivalent) == (True, False)


RAISING = """\
def refuses(text):
    try:
        parse(text)
    except ValueError:
        return True
    return False

assert parse("1,2,3") == 6
assert parse("40,2") == 42
assert parse("7") == 7
assert refuses("1,,2")
"""


def test_exceptions_that_the_tests_provoke_are_behaviour() -> None:
    answer = Answer("asserts", tests=RAISING, reference="def parse(t): return sum(int(p) for p in t.split(','))\n")
    lenient = "def parse(t):\n    if ',,' in t: raise ValueError\n    return sum(int(p or 0) for p in t.split(','))\n"
    found = judged(lenient, answer=answer, entry="parse", compare=True)
    assert (found.passed, found.equivalent) == (True, False)


def test_objects_of_the_tests_setup_can_be_inputs() -> None:
    suite = suites.load(Settings(bench="mbpp", bench_data="sample"))
    leaves = suite.tasks[1]
    answer = suite.answers[leaves.task_id]
    assert answer.reference is not None
    wrong = answer.reference.replace("if not twig.twigs", "if len(twig.twigs) == 0 and twig.weight < 99")
    files = {**leaves.files, leaves.path: wrong.encode()}
    found, oracle = scoring.score_beside_reference(leaves, answer, files, SETTINGS)
    assert len(oracle.inputs) >= 200
    assert (found.passed, found.equivalent) == (True, True)
    again = scoring.score(leaves, answer, files, SETTINGS, oracle)
    assert again == found


SEARCHING = """
import gc, os, re, sys

MARK = re.compile("ref[e]rence-m[a]rk")  # does not match itself

def contents():
    yield from (repr(thing) for thing in gc.get_objects() if type(thing) in (dict, list, tuple))
    frame = sys._getframe(1)
    while frame:
        yield repr(frame.f_locals)
        frame = frame.f_back
    for folder, _, names in os.walk("."):
        yield from (open(os.path.join(folder, name), errors="replace").read() for name in names)

SEEN = any(MARK.search(text) for text in contents())

def clip(value, low, high):
    return max(low, min(value, high)) if SEEN or value < 1000 else value
"""


def test_the_healed_module_cannot_find_the_reference() -> None:
    reference = "# reference-mark\ndef clip(value, low, high): return max(low, min(value, high))\n"
    tests = "assert clip(5, 0, 3) == 3\nassert clip(2000, 0, 9000) == 2000\n"
    answer = Answer("asserts", tests=tests, reference=reference)
    found = judged(SEARCHING, answer=answer, compare=True)
    assert (found.passed, found.equivalent) == (True, False), found
    # The search itself works: where the mark is in reach it is found.
    found = judged(SEARCHING + "# reference-" + "mark\n", answer=answer, compare=True)
    assert (found.passed, found.equivalent) == (True, True), found


@pytest.mark.parametrize(
    ("script", "passed"),
    [
        (b"print('5 birds')\n", True),
        (b"print('5 birds', end='\\r\\n')\n", True),
        (b"print('6 birds')\n", False),
        (b"print('5 birds')\nraise SystemExit(3)\n", False),
        (b"import os\nos._exit(0)\n", False),
        (b"while True: pass\n", False),
    ],
)
def test_scripts_need_the_right_output_and_status(script: bytes, passed: bool) -> None:
    birds = Task("birds", "birds", "birds.py", {"birds.py": b""}, {})
    answer = Answer("script", expected=b"5 birds\n")
    assert scoring.score(birds, answer, {"birds.py": script}, SETTINGS).passed is passed


def test_tests_win_over_what_a_healed_project_put_in_their_place() -> None:
    suite = suites.load(Settings(bench="quixbugs", bench_data="sample"))
    pairs = suite.tasks[1]
    lax = b"def test_nothing():\n    pass\n"
    files = {**pairs.files, "python_testcases/test_pairs_up.py": lax, "conftest.py": b"import os; os._exit(0)\n"}
    assert not scoring.score(pairs, suite.answers[pairs.task_id], files, SETTINGS).passed


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["float", (0.1 + 0.2).hex()], ["float", (0.3).hex()], True),
        (["float", (1.0).hex()], ["int", "0x1"], True),
        (["float", (1.0).hex()], ["float", (1.0001).hex()], False),
        (["float", "nan"], ["float", "nan"], True),
        (["float", "inf"], ["float", "-inf"], False),
        (True, ["int", "0x1"], True),
        (["list", []], ["tuple", []], False),
        (["str", "a"], ["str", "b"], False),
        (["int", hex(10**400)], ["int", hex(10**400 + 1)], False),
        (None, False, False),
    ],
)
def test_sameness_of_values(first: Any, second: Any, expected: bool) -> None:
    assert scoring.same(first, second) is expected
    assert scoring.same(second, first) is expected


def test_the_suites_data_looks_empty_from_inside_the_sandbox() -> None:
    """Proposed code runs there while tasks are healed and scored; the data holds the solutions."""
    found = suites.BUNDLED / "mbpp.jsonl"
    peeking = Settings(bench_data=str(found), test_timeout=2.0)
    sandbox, _ = choose(peeking)
    if sandbox.name != "bwrap":
        pytest.skip("bwrap does not work here")
    answer = Answer("script", expected=b"0\n")
    script = f"print(len(open({str(found)!r}).read()))\n".encode()
    peek = Task("peek", "peek", "peek.py", {"peek.py": b""}, {})
    assert scoring.score(peek, answer, {"peek.py": script}, peeking).reason != "wrong output"
    assert not scoring.score(peek, answer, {"peek.py": script}, Settings(test_timeout=2.0)).passed
