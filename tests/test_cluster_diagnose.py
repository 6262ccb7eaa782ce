"""Grouping by cause, kinds, suspects, and the reasons not to try: pure functions on plain data."""

from __future__ import annotations

import math

import pytest

from pytest_selfheal import doubt, stub
from pytest_selfheal.cluster import cluster
from pytest_selfheal.diagnose import (
    diagnose,
    edit_distance,
    kind_of,
    missing_fixture,
    missing_package,
    missing_service,
    near,
)
from pytest_selfheal.localize import ochiai
from pytest_selfheal.types import Failure, Frame, Raised, is_doctest


def failure(
    nodeid: str = "tests/test_a.py::test_x",
    exception: str = "AssertionError",
    message: str = "",
    frames: tuple[tuple[str, int, str], ...] = (),
    phase: str = "call",
    bases: tuple[str, ...] = (),
) -> Failure:
    made = tuple(Frame(path, line, function, "") for path, line, function in frames)
    return Failure(
        nodeid=nodeid,
        phase=phase,  # type: ignore[arg-type]
        chain=(Raised(exception, message, made, bases=bases),),
        path=nodeid.partition("::")[0],
    )


def in_code(line: int = 7, test: str = "test_x", exception: str = "KeyError") -> Failure:
    path = "tests/test_a.py"
    return failure(f"{path}::{test}", exception, frames=((path, 3, test), ("src/m.py", line, "load")))


def test_the_same_line_raising_the_same_exception_is_one_cause() -> None:
    groups = cluster(
        [in_code(7, "test_x"), in_code(7, "test_y"), in_code(8, "test_z"), in_code(7, "test_v", "TypeError")]
    )
    assert [len(group) for group in groups] == [2, 1, 1]


def test_asserts_of_different_tests_are_different_causes_and_cases_of_one_test_the_same() -> None:
    path = "tests/test_a.py"
    asserts = [failure(f"{path}::{name}", frames=((path, 3, "t"),)) for name in ("test_a[1]", "test_a[2]", "test_b")]
    assert [len(group) for group in cluster(asserts)] == [2, 1]


def test_a_broken_fixture_is_one_cause() -> None:
    frames = (("tests/conftest.py", 9, "database"),)
    broken = [failure(f"tests/test_{n}.py::t", "OSError", frames=frames, phase="setup") for n in "abc"]
    assert len(cluster(broken)) == 1


def test_modules_that_miss_the_same_module_are_one_cause() -> None:
    missing = [
        failure(f"tests/test_{n}.py", "ModuleNotFoundError", "No module named 'gone'", phase="collect") for n in "abc"
    ]
    assert len(cluster(missing)) == 1


def test_a_loop_is_one_cause_wherever_the_clock_caught_it() -> None:
    stopped = [
        failure(f"tests/t.py::t{line}", "Failed", "Timeout (>2.0s) from", (("src/m.py", line, "spin"),))
        for line in (4, 5, 6)
    ]
    assert len(cluster(stopped)) == 1


@pytest.mark.parametrize(
    ("exception", "bases", "kind"),
    [
        ("AssertionError", (), "logic"),
        ("IndentationError", ("SyntaxError",), "syntax"),
        ("ModuleNotFoundError", ("ImportError",), "import"),
        ("UnboundLocalError", ("NameError",), "name"),
        ("IndexError", ("LookupError",), "index"),
        ("KeyError", ("LookupError",), "key"),
        ("ZeroDivisionError", ("ArithmeticError",), "value"),
        ("ConnectionRefusedError", ("ConnectionError", "OSError"), "environment"),
        ("shop.errors.CartError", ("ValueError",), "value"),
        ("shop.errors.Odd", ("Exception",), "runtime"),
    ],
)
def test_kinds(exception: str, bases: tuple[str, ...], kind: str) -> None:
    assert kind_of(failure(exception=exception, bases=bases)) == kind


def test_suspects_lie_in_the_code_innermost_first_and_never_in_tests() -> None:
    found = diagnose(
        1,
        [failure(frames=(("tests/test_a.py", 3, "test_x"), ("src/m.py", 4, "outer"), ("src/m.py", 9, "inner")))],
        root="/r",
        rootdir="/r",
        is_test_file=lambda path: path.startswith("tests/"),
    )
    assert [(s.line, s.function) for s in found.suspects] == [(9, "inner"), (4, "outer")]


def test_a_line_changed_since_the_last_commit_is_more_suspicious() -> None:
    frames = (("src/m.py", 4, "outer"), ("src/m.py", 9, "inner"))
    found = diagnose(1, [failure(frames=frames)], root="", rootdir="", changed_lines={"src/m.py": frozenset({4})})
    assert found.suspects[0].line == 9 or found.suspects[0].score >= found.suspects[1].score
    assert next(s for s in found.suspects if s.line == 4).score == 1.0


def test_ochiai_is_the_published_formula() -> None:
    # ef / sqrt((ef + nf) * (ef + ep)): 2 of 3 failing and 1 passing test run the line.
    assert ochiai(2, 3, 1) == pytest.approx(2 / math.sqrt(9))
    assert ochiai(3, 3, 0) == 1.0
    assert ochiai(0, 3, 5) == 0.0


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("size", "size", 0), ("size", "sise", 1), ("form", "from", 1), ("length", "lenght", 1), ("abc", "xyz", 3)],
)
def test_edit_distance_counts_a_swap_of_neighbours_once(first: str, second: str, distance: int) -> None:
    assert edit_distance(first, second, 3) == distance


def test_edit_distance_is_cut_off_above_its_limit() -> None:
    assert edit_distance("aaaaaaaaaa", "bbbbbbbbbb", 2) == 3


def missing(module: str) -> Failure:
    return failure(exception="ModuleNotFoundError", message=f"No module named '{module}'")


def test_a_third_party_package_that_is_missing_is_the_environments_fault() -> None:
    assert missing_package(missing("tarewire.net"), ["shop.cart", "shop"]) == "tarewire"


@pytest.mark.parametrize("module", ["shop.carts", "shp", "jsn", "colections"])
def test_a_misspelled_module_is_not(module: str) -> None:
    assert missing_package(missing(module), ["shop.cart", "shop"]) is None


def test_a_service_that_does_not_answer_is_named() -> None:
    refused = failure(exception="ConnectionRefusedError", message="[Errno 111] Connection refused", bases=("OSError",))
    assert "service" in (missing_service(refused) or "")
    assert missing_service(failure(exception="ValueError", message="Connection refused")) is None


@pytest.mark.parametrize(
    ("a", "b", "expected"), [("serving", "servings", True), ("ab", "xy", False), ("x", "x", False)]
)
def test_near(a: str, b: str, expected: bool) -> None:
    assert near(a, b) is expected


@pytest.mark.parametrize(
    ("nodeid", "doctest"),
    [
        ("src/shop/cart.py::shop.cart.total", True),
        ("shop/cart.py::cart", True),
        ("README.md::README.md", True),
        ("tests/test_cart.py::test_total", False),
        ("tests/test_cart.py::test_total[1.5-a.b]", False),
        ("tests/test_cart.py::TestCart::test_total", False),
        ("tests/test_cart.py", False),
    ],
)
def test_a_doctest_is_known_by_its_nodeid(nodeid: str, doctest: bool) -> None:
    assert is_doctest(nodeid) is doctest


def test_a_fixture_that_nobody_provides() -> None:
    lookup = Failure(
        nodeid="t.py::t",
        phase="setup",
        chain=(Raised("_pytest.fixtures.FixtureLookupError", "fixture 'benchmark' not found"),),
        text="E       fixture 'benchmark' not found\n>       available fixtures: cache, capfd, tmp_path",
    )
    assert missing_fixture(lookup) == ("benchmark", None)
    typo = Failure(**{**vars(lookup), "text": lookup.text + ", benchmrk"})
    assert missing_fixture(typo) == ("benchmark", "benchmrk")
    assert missing_fixture(failure()) is None


SOURCE = '''
def packs(amount, size):
    """Whole packs.

    >>> packs(250, 100)
    3
    """
    return -(-amount // size)
'''
TESTS = """
import pytest
from m import packs

@pytest.mark.parametrize("amount, size, wanted", [(200, 100, 2), (250, 100, 3)])
def test_table(amount, size, wanted):
    assert packs(amount, size) == wanted

def test_wrong():
    assert packs(250, 100) == 2
"""
OUTCOMES = {"test_m.py::test_table[200-100-2]": "passed", "test_m.py::test_table[250-100-3]": "passed"}


def wrong_test(tests: str = TESTS) -> Failure:
    line = next(n for n, text in enumerate(tests.splitlines(), 1) if "== 2" in text)
    return failure("test_m.py::test_wrong", frames=(("test_m.py", line, "test_wrong"),))


def test_a_test_against_its_documentation_and_its_siblings_is_suspect() -> None:
    found = doubt.signals(wrong_test(), {"test_m.py": TESTS}, {"m.py": SOURCE}, OUTCOMES)
    assert len(found) >= doubt.ENOUGH
    assert "documentation" in found[0]


def test_code_against_its_documentation_is_not_the_tests_fault() -> None:
    right = TESTS.replace("(250, 100) == 2", "(250, 100) == 3")
    wrong = failure("test_m.py::test_wrong", frames=(("test_m.py", 10, "test_wrong"),))
    assert doubt.signals(wrong, {"test_m.py": right}, {"m.py": SOURCE}, {}) == ()


def test_one_sign_alone_is_not_enough() -> None:
    alone = TESTS.partition("@pytest")[0] + "def test_wrong():\n    assert packs(250, 100) == 2\n"
    found = doubt.signals(wrong_test(alone), {"test_m.py": alone}, {"m.py": SOURCE}, {})
    assert len(found) == 1


@pytest.mark.parametrize(
    ("body", "is_stub"),
    [
        ("raise NotImplementedError", True),
        ("raise NotImplementedError('later')", True),
        ("pass", True),
        ("...", True),
        ("'''Only words.'''", True),
        ("return None", False),
        ("raise ValueError", False),
    ],
)
def test_stubs(body: str, is_stub: bool) -> None:
    source = f"def parse(text):\n    {body}\n"
    found = stub.find_stub(failure(), {"m.py": source}, "def test_x():\n    assert parse('a') == 1\n")
    assert (found is not None) is is_stub


@pytest.mark.parametrize(
    ("source", "test", "is_it"),
    [
        ("class A:\n    def render(self):\n        pass\n", "A().render()", True),
        (
            "class A:\n    def render(self):\n        pass\nclass B:\n    def render(self):\n        return 1\n",
            "B().render()",
            False,
        ),
        ("class A:\n    def close(self):\n        pass\n", "file.close()", False),
        ("def close(a):\n    pass\n", "close(1)", True),
        ("def count(a):\n    pass\n", "count(1)", True),
    ],
)
def test_a_name_alone_does_not_say_that_a_stub_is_the_cause(source: str, test: str, is_it: bool) -> None:
    found = stub.find_stub(failure(), {"m.py": source}, f"def test_x():\n    assert {test} == 1\n")
    assert (found is not None) is is_it


def test_a_stub_that_the_test_does_not_call_is_not_the_cause() -> None:
    source = "def parse(text):\n    pass\n"
    assert stub.find_stub(failure(), {"m.py": source}, "def test_x():\n    assert other('a') == 1\n") is None
