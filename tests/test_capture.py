"""Every shape of a failed report becomes plain data that says what failed and where."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal import capture
from pytest_selfheal.diagnose import kind_of
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Example
from pytest_selfheal.types import Failure

FILES = {
    "pytest.ini": "[pytest]\naddopts = --doctest-modules\nxfail_strict = true\npythonpath = .\n",
    "shop.py": '''\
def twice(n):
    """Twice.

    >>> twice(2)
    5
    """
    return n * 2


def deep(n):
    return deep(n + 1)


class Grumpy:
    def __repr__(self):
        raise RuntimeError("no repr")


def chained():
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("bad input") from error


def during():
    try:
        int("x")
    except ValueError:
        return undefined_name


def loop():
    while True:
        pass


def forked_paths(grumpy):
    assert grumpy is None
''',
    "test_shapes.py": """\
import unittest
import pytest
from shop import Grumpy, chained, deep, during, forked_paths, loop, twice


@pytest.fixture
def broken():
    raise OSError("no such device")


@pytest.fixture
def leaky():
    yield
    raise RuntimeError("not closed")


def test_call():
    value = twice(3)
    assert value == 7


def test_setup(broken):
    pass


def test_teardown(leaky):
    pass


class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(twice(1), 3)


def test_chained():
    chained()


def test_during():
    during()


def test_recursion():
    deep(0)


def test_raising_repr():
    forked_paths(Grumpy())


def test_surrogate():
    assert "\\udc80" == "x"


def test_missing_fixture(nowhere):
    pass


@pytest.mark.xfail
def test_strict_xpass():
    pass


async def test_async():
    pass


@pytest.mark.parametrize("text", ["a::b", "[x]", "sp ace", "é", "\\x00"])
def test_odd_ids(text):
    assert text == ""


def test_loop():
    loop()


def test_did_not_raise():
    with pytest.raises(KeyError):
        twice(1)


def test_passes():
    print("fine")
""",
    "test_broken.py": "import nowhere_at_all\n",
    "test_syntax.py": "def f(:\n    pass\n",
}
if sys.version_info >= (3, 11):
    FILES["test_group.py"] = (
        "def test_group():\n    raise ExceptionGroup('two', [ValueError('one'), TypeError('two')])\n"
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ChildRun:
    folder = tmp_path_factory.mktemp("shapes")
    Example(FILES, folder)
    settings = Settings(sandbox="process", test_timeout=1.0)
    with workshop_at(folder, settings) as workshop:
        done = run_tests(
            workshop,
            workshop.pristine,
            None,
            arguments=["--doctest-modules", str(workshop.pristine.seen_rootdir)],
        )
    assert done.finished, done.output
    assert not done.tampered
    return done


def one(run: ChildRun, name: str) -> Failure:
    # With --doctest-modules a broken module is reported by two collectors.
    found = {failure.signature: failure for failure in run.failures if failure.nodeid.endswith(name)}
    [failure] = found.values()
    return failure


@pytest.mark.parametrize(
    ("name", "phase", "kind", "exception", "function"),
    [
        ("::test_call", "call", "logic", "AssertionError", "test_call"),
        ("::test_setup", "setup", "runtime", "OSError", "broken"),
        ("::test_teardown", "teardown", "runtime", "RuntimeError", "leaky"),
        ("::test_unit", "call", "logic", "AssertionError", "test_unit"),
        ("::test_chained", "call", "value", "ValueError", "chained"),
        ("::test_during", "call", "name", "NameError", "during"),
        ("::test_recursion", "call", "recursion", "RecursionError", "deep"),
        ("::test_raising_repr", "call", "logic", "AssertionError", "forked_paths"),
        ("::test_surrogate", "call", "logic", "AssertionError", "test_surrogate"),
        ("::test_loop", "call", "timeout", "Failed", "loop"),
        ("::test_did_not_raise", "call", "logic", "Failed", "test_did_not_raise"),
        ("shop.py::shop.twice", "call", "logic", "doctest.DocTestFailure", "twice"),
    ],
)
def test_shape(run: ChildRun, name: str, phase: str, kind: str, exception: str, function: str) -> None:
    failure = one(run, name)
    assert (failure.phase, kind_of(failure), failure.exception) == (phase, kind, exception)
    assert failure.innermost is not None
    assert failure.innermost.function.rpartition(".")[2] == function
    assert not Path(failure.innermost.path).is_absolute()


@pytest.mark.parametrize("name", ["::test_missing_fixture", "::test_strict_xpass", "::test_async"])
def test_reports_without_frames_still_say_what_happened(run: ChildRun, name: str) -> None:
    failure = one(run, name)
    assert failure.text
    assert failure.chain


def test_odd_ids_each_have_an_outcome(run: ChildRun) -> None:
    odd = [nodeid for nodeid in run.outcomes if "test_odd_ids" in nodeid]
    assert len(odd) == 5
    assert {run.outcomes[nodeid] for nodeid in odd} == {"failed"}


def test_collection_errors_show_their_cause(run: ChildRun) -> None:
    missing, syntax = one(run, "test_broken.py"), one(run, "test_syntax.py")
    assert (missing.phase, kind_of(missing), missing.exception) == ("collect", "import", "ModuleNotFoundError")
    assert (syntax.phase, kind_of(syntax)) == ("collect", "syntax")
    assert syntax.innermost is not None
    assert (syntax.innermost.path, syntax.innermost.line) == ("test_syntax.py", 1)


def test_the_chain_holds_cause_and_context(run: ChildRun) -> None:
    assert [(link.exception, link.relation) for link in one(run, "::test_chained").chain] == [
        ("ValueError", ""),
        ("KeyError", "cause"),
    ]
    assert [link.relation for link in one(run, "::test_during").chain] == ["", "context"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="ExceptionGroup")
def test_members_of_a_group_are_in_the_chain(run: ChildRun) -> None:
    assert [link.exception for link in one(run, "::test_group").chain] == ["ExceptionGroup", "ValueError", "TypeError"]


def test_locals_of_the_failing_frame(run: ChildRun) -> None:
    frame = one(run, "::test_call").innermost
    assert frame is not None
    assert dict(frame.locals)["value"] == "6"


def test_what_raises_was_waiting_for(run: ChildRun) -> None:
    assert one(run, "::test_did_not_raise").expected_exception == ("KeyError",)


def test_a_failure_survives_the_way_through_json(run: ChildRun) -> None:
    for failure in run.failures:
        text = json.dumps(failure.to_dict())
        text.encode("ascii")
        assert Failure.from_dict(json.loads(text)) == failure


def test_everything_is_bounded(run: ChildRun) -> None:
    recursion = one(run, "::test_recursion")
    assert len(recursion.chain[0].frames) <= capture.MAX_FRAMES
    assert len(recursion.text) <= capture.MAX_TEXT + 100


def test_signatures_tell_failures_apart_and_the_same_one_again(run: ChildRun) -> None:
    signatures = [failure.signature for failure in run.failures]
    assert len(set(signatures)) >= len(signatures) - 5  # the odd ids differ in their message only
    assert one(run, "::test_call").signature == Failure.from_dict(one(run, "::test_call").to_dict()).signature


def test_bounded_repr_of_anything() -> None:
    class Bad:
        def __repr__(self) -> str:
            raise ValueError

    assert "Bad" in capture.bounded_repr(Bad())
    assert "Bad" in capture.bounded_repr([Bad()])
    assert len(capture.bounded_repr("x" * 10_000)) < 500
    assert len(capture.bounded_repr(dict.fromkeys(range(1000), "y" * 100))) <= 400
