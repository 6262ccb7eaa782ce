"""Every kind of test can be made to fail at its end, and none is taken for tampered with."""

from __future__ import annotations

from pathlib import Path

from project_helpers import workshop_at

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.settings import Settings

STYLES = """
import asyncio
import functools
import unittest

import pytest
from hypothesis import given, settings, strategies as st

from calc import add


def decorated(test):
    @functools.wraps(test)
    def inner(*args, **kwargs):
        return test(*args, **kwargs)
    return inner


def table(*rows):
    return pytest.mark.parametrize("a, b, c", rows)


@pytest.fixture
def two():
    yield 2


def test_plain(two):
    assert add(two, 2) == 4, f"{two} and {two}"


@table((1, 2, 3), (float("nan"), 0, None))
def test_table(a, b, c):
    assert c is None or add(a, b) == c


@decorated
def test_decorated(two):
    def nested(x=(1, 2, frozenset({3}))):
        return x[0]
    assert nested() == 1 and [add(i, 1) for i in range(3)] == [1, 2, 3]


class TestClass:
    def test_method(self, two):
        with pytest.raises(TypeError):
            add(two, None)

    @staticmethod
    def test_static():
        assert (total := add(1, 1)) == 2 and total


class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(add(1, 1), 2)


@pytest.mark.asyncio
async def test_async():
    await asyncio.sleep(0)
    assert add(1, 1) == 2


@settings(max_examples=5, database=None)
@given(st.integers())
def test_property(n):
    assert add(n, 0) == n


@pytest.mark.xfail(strict=False)
def test_expected_to_fail():
    assert add(1, 1) == 3


def test_with_subtests(subtests):
    for n in range(2):
        with subtests.test(n=n):
            assert add(n, 0) == n


made = pytest.mark.filterwarnings("ignore")(lambda: None)
exec("def test_generated():\\n    assert add(1, 1) == 2\\n")
test_lambda = lambda: add(1, 1)
"""


def test_all_styles(tmp_path: Path):
    (tmp_path / "calc.py").write_text('def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n')
    (tmp_path / "test_styles.py").write_text(STYLES)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    with workshop_at(
        tmp_path, Settings(selfheal=True, sandbox="process", effort="fast"), pytest_args=("--doctest-modules",)
    ) as workshop:
        plain = run_tests(workshop, workshop.pristine, None)
        nodeids = [nodeid for nodeid, outcome in plain.outcomes.items() if outcome == "passed"]
        assert len(nodeids) >= 13
        watched = run_tests(workshop, workshop.pristine, nodeids, watched=plain.outcomes)
        again = run_tests(workshop, workshop.pristine, nodeids, control=nodeids, watched=plain.outcomes)
    assert plain.tampered == watched.tampered == again.tampered == ""
    assert {nodeid: again.outcomes.get(nodeid) for nodeid in nodeids} == dict.fromkeys(nodeids, "passed")
    assert set(again.altered) == set(watched.altered)
    assert not [words for words in watched.altered if "exchanged" in words]


def test_a_test_that_really_fails_still_fails(tmp_path: Path):
    (tmp_path / "test_it.py").write_text("def test_wrong():\n    assert 1 + 1 == 3\n\n\ndef test_right():\n    pass\n")
    with workshop_at(tmp_path) as workshop:
        nodeids = ["test_it.py::test_wrong", "test_it.py::test_right"]
        run = run_tests(workshop, workshop.pristine, nodeids, control=nodeids)
    assert run.outcomes == {"test_it.py::test_wrong": "failed", "test_it.py::test_right": "passed"}
    assert run.tampered == ""
    assert [failure.exception for failure in run.failures] == ["AssertionError"]


# As pytest-django does for the test cases of Django, which set up their database when they are called.
RUNS_ITSELF = """
import pytest
from _pytest.unittest import TestCaseFunction


@pytest.fixture(autouse=True, scope="class")
def the_case_runs_itself(request):
    original = TestCaseFunction.runtest
    TestCaseFunction.runtest = lambda self: self.instance(result=self)
    yield
    TestCaseFunction.runtest = original
"""


def test_a_test_case_that_runs_itself(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(RUNS_ITSELF)
    (tmp_path / "test_it.py").write_text(
        "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_right(self):\n        self.assertTrue(1)\n\n"
        "    def test_wrong(self):\n        self.assertTrue(0)\n"
    )
    with workshop_at(tmp_path) as workshop:
        nodeids = ["test_it.py::TestIt::test_right", "test_it.py::TestIt::test_wrong"]
        run = run_tests(workshop, workshop.pristine, nodeids, control=nodeids)
    assert run.outcomes == {nodeids[0]: "passed", nodeids[1]: "failed"}
    assert run.tampered == ""
