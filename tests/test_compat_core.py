"""pytest's own options and kinds of tests: each run heals the one bug, ends as it would have ended, prints no error of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compat import BUG, INI, TEST, Cell, cells, run

from pytest_selfheal.testing import Result

pytestmark = pytest.mark.compat

UNITTEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def setUp(self):
        self.zero = 0

    def test_add(self):
        self.assertEqual(add(1, 2), 3)
        self.assertEqual(add(5, self.zero), 5)

    def test_many(self):
        self.assertEqual(add(0, 0), 0)
"""
UNITTEST_SUBTEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        for a, b, total in ((0, 0, 0), (1, 2, 3), (-1, 4, 3)):
            with self.subTest(a=a):
                self.assertEqual(add(a, b), total)
"""
SUBTESTS = """\
from calc import add


def test_add(subtests):
    for a, b, total in ((0, 0, 0), (1, 2, 3), (-1, 4, 3)):
        with subtests.test(a=a):
            assert add(a, b) == total
"""
TWO_WAYS = """\
    with subtests.test("index"):
        assert "abcde"[add(-4, 5)] == "b"
        assert "abcde"[add(1, 3)] == "e"
"""
FIXTURE = """\
import pytest
from calc import add


@pytest.fixture
def three():
    assert add(1, 2) == 3
    return add(-1, 4)


def test_three(three):
    assert three == 3


def test_nothing():
    assert add(0, 0) == 0
"""
TEARDOWN = """\
import pytest
from calc import add


@pytest.fixture
def three():
    yield 3
    assert add(1, 2) == 3
    assert add(-1, 4) == 3


def test_three(three):
    assert three == 3
"""
DOCTEST = (
    'def add(a, b):\n    """Sum.\n\n    >>> add(1, 2)\n    3\n    >>> add(-1, 4)\n    3\n    """\n    return a - b\n'
)
PARAMETRIZED = """\
import pytest
from calc import add


@pytest.mark.parametrize("a, b, total", [(0, 0, 0), (1, 2, 3), (-1, 4, 3)], ids=["a b", "[x]", "é::1"])
def test_add(a, b, total):
    assert add(a, b) == total
"""
GROUP = """\
import sys

import pytest
from calc import add


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
def test_add():
    found = []
    for a, b, total in ((1, 2, 3), (-1, 4, 3)):
        try:
            assert add(a, b) == total
        except AssertionError as error:
            found.append(error)
    if found:
        raise ExceptionGroup("several", found)


def test_plain():
    assert add(2, 2) == 4
"""
CONFTEST_WITH_OUR_HOOKS = """\
def pytest_selfheal_guard(patch, failure):
    return None


def pytest_selfheal_report(report):
    open("told", "w").close()
"""


def nothing_healed_and_said_so(result: Result) -> None:
    assert "--pdb" in result.stdout


def both_ways_are_seen(result: Result) -> None:
    assert [failure["status"] for failure in result.report["failures"]] == ["healed"]
    assert "IndexError" in result.stdout


def junit_is_whole(result: Result) -> None:
    assert 'failures="1"' in (result.folder / "out.xml").read_text()


def lastfailed_is_of_the_users_run(result: Result) -> None:
    remembered = json.loads((result.folder / ".pytest_cache/v/cache/lastfailed").read_text())
    assert list(remembered) == ["test_calc.py::test_add"]


def was_told(result: Result) -> None:
    assert (result.folder / "told").exists()


def no_reporter(result: Result) -> None:
    assert "FAILURES" not in result.stdout


@cells(
    [
        Cell("plain", check=lastfailed_is_of_the_users_run),
        Cell("in a git repository", git=True),
        Cell("-q", ("-q",)),
        Cell("-qq", ("-qq",)),
        Cell("-vv --showlocals -rA", ("-vv", "--showlocals", "-rA")),
        Cell("-x", ("-x",)),
        Cell("--maxfail", ("--maxfail=1",)),
        Cell("--lf", ("--lf",), check=lastfailed_is_of_the_users_run),
        Cell("--ff", ("--ff",)),
        Cell("--nf", ("--nf",)),
        # Stepwise ends the session with pytest's own "interrupted" status.
        Cell("--stepwise", ("--stepwise",), code=2),
        Cell("-k", ("-k", "add")),
        Cell("-m", ("-m", "not slow"), ini=INI + "markers = slow\n"),
        Cell("--deselect", ("--deselect", "test_calc.py::test_nothing")),
        Cell("by nodeid", ("test_calc.py::test_add",)),
        Cell("--pyargs", ("--pyargs", "test_calc")),
        Cell("--co", ("--co",), code=0, healed=None),
        Cell("--pdb", ("--pdb",), code=2, healed=None, check=nothing_healed_and_said_so),
        Cell("-s", ("-s",)),
        Cell("--capture=sys", ("--capture=sys",)),
        Cell("--tb=native", ("--tb=native",)),
        Cell("--tb=no", ("--tb=no",)),
        Cell("--no-header --no-summary", ("--no-header", "--no-summary")),
        Cell("--color=yes", ("--color=yes",)),
        Cell("--setup-show", ("--setup-show",)),
        Cell("--durations", ("--durations=3",)),
        Cell("--junitxml", ("--junitxml=out.xml",), check=junit_is_whole),
        Cell("--basetemp", ("--basetemp=scratch",)),
        Cell("--import-mode=importlib", ("--import-mode=importlib",)),
        Cell("--import-mode=append", ("--import-mode=append",)),
        Cell("--log-cli-level", ("--log-cli-level=INFO",)),
        Cell("--assert=plain", ("--assert=plain",)),
        # Before 8.4 pytest itself cannot explain a failed comparison without a reporter.
        Cell("-p no:terminal", ("-p", "no:terminal"), check=no_reporter, pytest=(8, 4)),
        Cell("-p no:cacheprovider", ("-p", "no:cacheprovider")),
        Cell("-p no:logging", ("-p", "no:logging")),
        Cell("-p no:timeout", ("-p", "no:timeout")),
        Cell("-W error", ("-W", "error")),
        Cell("filterwarnings = error", ini=INI + "filterwarnings = error\n"),
        Cell("--strict-config --strict-markers", ("--strict-config", "--strict-markers")),
        Cell("strict = true", ini=INI + "strict = true\n", pytest=(9, 0)),
        Cell("addopts", ini=INI + "addopts = -ra --strict-markers --doctest-modules -p no:cacheprovider\n"),
        Cell("PYTEST_ADDOPTS", environment={"PYTEST_ADDOPTS": "-q --maxfail=3"}),
        Cell("every installed plugin", plugins=("*",)),
        Cell(
            "pyproject.toml",
            files={"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'},
            ini="",
        ),
        Cell("-c", ("-c", "other.ini"), files={"other.ini": INI, "pytest.ini": "[pytest]\n"}),
        Cell("conftest with our hooks", files={"conftest.py": CONFTEST_WITH_OUR_HOOKS}, check=was_told),
        Cell("doctest modules", ("--doctest-modules",), test="", files={"calc.py": DOCTEST}),
        Cell(
            "doctest in a text file",
            ("--doctest-glob=*.rst",),
            test="",
            files={"guide.rst": ">>> from calc import add\n>>> add(1, 2)\n3\n>>> add(-1, 4)\n3\n"},
        ),
        Cell("unittest", test=UNITTEST),
        Cell("unittest's subTest", test=UNITTEST_SUBTEST),
        Cell("built-in subtests", test=SUBTESTS, pytest=(9, 0)),
        Cell(
            "built-in subtests that fail in two ways", test=SUBTESTS + TWO_WAYS, pytest=(9, 0), check=both_ways_are_seen
        ),
        Cell("failing fixture", test=FIXTURE),
        Cell("failing teardown", test=TEARDOWN),
        Cell("parameters with odd ids", test=PARAMETRIZED),
        Cell("exception group", test=GROUP),
        Cell("another module does not collect", code=2, files={"test_broken.py": "import nowhere_to_be_found\n"}),
        Cell(
            "strict xpass",
            test=TEST + "\n\nimport pytest\n\n\n@pytest.mark.xfail(strict=True)\ndef test_x():\n    pass\n",
        ),
        Cell("green", files={"calc.py": BUG.replace("-", "+")}, code=0, healed=None),
        Cell("without the flag", healing=False, healed=None),
        Cell("switched off", ("-p", "no:selfheal"), healing=False, healed=None, plugins=("*",)),
    ]
)
def test_core(cell: Cell, tmp_path: Path) -> None:
    run(cell, tmp_path)
