"""A test process tells its parent that all is well, in many ways; it is never believed.

The forgeries stand in the code under test and would get past no guard; here only the judge itself stands in their way.
Each makes the test green that fails for a wrong sum.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_selfheal.judge.reproduce import reproduce
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised, Verdict

WRONG = b"def add(a, b):\n    return a - b\n"
RIGHT = b"def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(17, 25) == 42\n\n\ndef test_zero():\n    assert add(4, 0) == 4\n"
NODEID = "test_calc.py::test_add"

FIND_CHANNEL = """
import gc, os, sys
def channel():
    return next(o for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "nonce"))
def report(when, outcome="passed"):
    channel().send({"is": "report", "nodeid": "test_calc.py::test_add", "when": when, "outcome": outcome,
                    "xfail": False, "duration": 0.0})
"""
WHOLE_SESSION = """
    channel().send({"is": "modules", "outside": []})
    channel().send({"is": "finished", "exitstatus": 0, "altered": []})
    os._exit(0)
"""

FORGERIES = {
    "leaves with status 0": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "leaves when it is imported": "import os\nos._exit(0)\n",
    "leaves through atexit": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b):\n    return a - b\n",
    "writes lines into every descriptor": """
import json, os
def add(a, b):
    line = json.dumps({"is": "report", "nodeid": "test_calc.py::test_add", "when": "call", "outcome": "passed",
                       "xfail": False, "duration": 0.0, "nonce": "0123456789abcdef", "seq": 3}) + "\\n"
    for fd in range(3, 64):
        try:
            os.write(fd, line.encode())
        except OSError:
            pass
    return a - b
""",
    "floods every descriptor": """
import os
def add(a, b):
    for fd in range(3, 64):
        try:
            os.set_blocking(fd, False)
            os.write(fd, b"x" * 200000)
        except OSError:
            pass
    os._exit(0)
""",
    "reports once more through the channel": FIND_CHANNEL + "def add(a, b):\n    report('call')\n    return a - b\n",
    "reports the rest of the session and leaves": FIND_CHANNEL
    + "def add(a, b):\n    report('call')\n    report('teardown')\n"
    + WHOLE_SESSION,
    "reports the whole session when it is imported": FIND_CHANNEL
    + "channel().send({'is': 'collected', 'nodeids': ['test_calc.py::test_add', 'test_calc.py::test_zero']})\n"
    + "for when in ('setup', 'call', 'teardown'):\n    report(when)\nif True:"
    + WHOLE_SESSION,
    "closes the channel": FIND_CHANNEL + "def add(a, b):\n    os.close(channel().fd)\n    return a - b\n",
    "changes what the channel sends": FIND_CHANNEL
    + """
def add(a, b):
    kind = type(channel())
    send = kind.send
    def lie(self, message):
        if message.get("is") == "report":
            message = {**message, "outcome": "passed", "failure": None}
        send(self, message)
    kind.send = lie
    return a - b
""",
    "makes reports pass": """
import sys
def add(a, b):
    import _pytest.reports as reports
    make = reports.TestReport.from_item_and_call.__func__
    def lie(cls, item, call):
        report = make(cls, item, call)
        report.outcome, report.longrepr = "passed", None
        return report
    reports.TestReport.from_item_and_call = classmethod(lie)
    return a - b
""",
    "registers a plugin that makes reports pass": """
import gc
import pytest
def add(a, b):
    class Plugin:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = yield
            report.outcome, report.longrepr = "passed", None
            return report
    config = next(o for o in gc.get_objects() if isinstance(o, pytest.Config))
    config.pluginmanager.register(Plugin())
    return a - b
""",
    "does not run tests": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
def add(a, b):
    return a - b
""",
    "does not call test functions": """
import gc
def add(a, b):
    return a - b
import _pytest.python
_pytest.python.pytest_pyfunc_call.__code__ = (lambda pyfuncitem: True).__code__
""",
    "empties the test function": """
import gc, threading, sys
class Later:
    def find_spec(self, name, path=None, target=None):
        return None
def empty():
    for thing in gc.get_objects():
        if getattr(thing, "__name__", "") == "test_add" and hasattr(thing, "__code__"):
            thing.__code__ = (lambda: None).__code__
def add(a, b):
    return a - b
import _pytest.main
collect = _pytest.main.Session.perform_collect
def perform(self, *args, **kwargs):
    items = collect(self, *args, **kwargs)
    empty()
    return items
import _pytest.runner
runtestprotocol = _pytest.runner.runtestprotocol
def protocol(item, **kwargs):
    empty()
    return runtestprotocol(item, **kwargs)
_pytest.runner.runtestprotocol = protocol
""",
    "swallows what the call raises": """
import _pytest.runner
def quiet(cls, func, when, reraise=None):
    try:
        func()
    except BaseException:
        pass
    return cls(None, None, start=0, stop=0, duration=0, when=when, _ispytest=True)
_pytest.runner.CallInfo.from_call = classmethod(quiet)
def add(a, b):
    return a - b
""",
    "skips": "import pytest\ndef add(a, b):\n    pytest.skip('no')\n",
    "is expected to fail": "import pytest\ndef add(a, b):\n    pytest.xfail('no')\n",
    "ends the session": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)\n",
    "reads the nonce from the child's configuration": """
import glob, json, os
def add(a, b):
    environ = open("/proc/self/environ", "rb").read().split(b"\\0")
    values = dict(entry.split(b"=", 1) for entry in environ if b"=" in entry)
    fd, path = int(values[b"SELFHEAL_CHANNEL"]), values[b"SELFHEAL_CHILD"].decode()
    try:
        setup = json.load(open(path))
    except OSError:
        return a - b
    for n, message in enumerate([{"is": "report", "when": "call"}, {"is": "report", "when": "teardown"},
                                 {"is": "finished", "exitstatus": 0, "altered": []}]):
        message.update(nodeid="test_calc.py::test_add", outcome="passed", xfail=False, duration=0, seq=3 + n,
                       nonce=setup["nonce"])
        os.write(fd, json.dumps(message).encode() + b"\\n")
    os._exit(0)
""",
}

# Forgeries that need a test of their own form; the name of the sandbox makes no difference to them.
TWO_LINES = (
    "from calc import add\n\n\ndef test_add():\n    total = add(17, 25)\n    assert total == 42\n    print(total)\n"
)
WITH_FIXTURE = """
import pytest
from calc import add


@pytest.fixture
def four():
    return add(4, 0)


def test_add(four):
    assert add(17, 25) == 42
"""
TEST_CASE = """
import unittest
from calc import add


class TestIt(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(17, 25), 42)
"""
IN_A_CLASS = "test_calc.py::TestIt::test_add"
CONFTEST = """
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return (yield)
"""
FIND_ITEM = """
import gc
def item():
    return next(o for o in gc.get_objects() if type(o).__name__ == "Function" and getattr(o, "name", "") == "test_add")
"""
ODD_FORGERIES = {
    "changes how messages are encoded": (TEST, """
import json
dumps = json.dumps
def lie(message, **options):
    if isinstance(message, dict) and message.get("is") == "report" and "ControlFailure" not in str(message):
        message = {**message, "outcome": "passed", "failure": None}
    return dumps(message, **options)
json.dumps = lie
def add(a, b):
    return a - b
"""),
    "changes how messages are written": (TEST, """
import os
write = os.write
def lie(fd, data):
    if b"ControlFailure" not in data:
        write(fd, data.replace(b'"outcome": "failed"', b'"outcome": "passed"'))
    return len(data)
os.write = lie
def add(a, b):
    return a - b
"""),
    "sends what no parser takes": (TEST, """
import os
def add(a, b):
    for fd in range(3, 64):
        for data in (b"[" * 100000, b'{"seq": ' + b"9" * 10000 + b"}", b"\xff\xfe", b"null", b"[]", b'{"is": {}}'):
            try:
                os.write(fd, data + b"\n")
            except OSError:
                pass
    return a - b
"""),
    "reports a failure of no sort": (TEST, FIND_CHANNEL + """
def add(a, b):
    link = {"exception": 5, "message": None, "frames": [], "relation": "", "bases": []}
    failure = {"nodeid": 1, "phase": "call", "chain": [link], "output": [], "expected_exception": []}
    channel().send({"is": "report", "nodeid": "test_calc.py::test_add", "when": "call", "outcome": "failed",
                    "xfail": False, "duration": 0.0, "failure": failure})
    return a - b
"""),
    "interrupts": (TEST, "def add(a, b):\n    raise KeyboardInterrupt\n"),
    "fails in the name of the control": (TEST, """
def add(a, b):
    raise type("ControlFailure", (Exception,), {})("control 0123456789abcdef")
"""),
    "changes a hook that the project has": (TEST, """
import gc
def quiet(item, call):
    report = yield
    if report.failed and "ControlFailure" not in str(report.longrepr):
        report.outcome, report.longrepr = "passed", None
    return report
for thing in gc.get_objects():
    if getattr(thing, "__name__", "") == "pytest_runtest_makereport" and getattr(thing, "__module__", "") == "conftest":
        thing.__code__ = quiet.__code__
def add(a, b):
    return a - b
"""),
    "speaks for the judge": (TEST, """
import gc
def add(a, b):
    judge = next(o for o in gc.get_objects() if type(o).__name__ == "Judge")
    real = judge.log
    def log(report):
        if "ControlFailure" not in str(report.longrepr):
            report.outcome, report.longrepr = "passed", None
        real(report)
    judge.log = log
    return a - b
"""),
    "jumps over the assertion": (TWO_LINES, """
import sys
def add(a, b):
    def trace(frame, event, arg):
        if event == "line" and frame.f_lineno == 6:
            frame.f_lineno = 7
            sys.settrace(None)
            return None
        return trace
    sys._getframe(1).f_trace = trace
    sys.settrace(trace)
    return a - b
"""),
    "traces from its import on": (TWO_LINES, """
import sys
def trace(frame, event, arg):
    if event == "line" and frame.f_code.co_name == "test_add" and frame.f_lineno == 6:
        frame.f_lineno = 7
    return trace
sys.settrace(trace)
def add(a, b):
    return a - b
"""),
    "exchanges the test while its fixtures are made": (WITH_FIXTURE, """
import gc
def add(a, b):
    for thing in gc.get_objects():
        if a == 4 and getattr(thing, "__name__", "") == "test_add" and hasattr(thing, "__code__"):
            exec(compile("def test_add(four):\\n    pass\\n", thing.__code__.co_filename, "exec"), space := {})
            thing.__code__ = space["test_add"].__code__
    return a - b
"""),
    "exchanges the item's function": (WITH_FIXTURE, FIND_ITEM + """
def add(a, b):
    if a == 4:
        item().obj = lambda four: None
    return a - b
"""),
    "runs something else": (WITH_FIXTURE, FIND_ITEM + """
def add(a, b):
    if a == 4:
        item().runtest = lambda: None
    return a - b
"""),
    "stops the test case without a word": (TEST_CASE, """
from unittest.case import _ShouldStop
def add(a, b):
    raise _ShouldStop
"""),
}  # fmt: skip


def a_workshop(folder: Path, sandbox: str = "process", test: str = TEST) -> Workshop:
    top = folder / "project"
    top.mkdir()
    (top / "calc.py").write_bytes(WRONG)
    (top / "test_calc.py").write_text(test)
    if test == TEST:
        (top / "conftest.py").write_text(CONFTEST)
    project = Project(
        rootdir=top.resolve(),
        top=top.resolve(),
        git=False,
        inipath=None,
        invocation_dir=top.resolve(),
        pytest_args=(),
        import_roots=(),
        python=sys.executable,
        outcomes={NODEID: "failed", "test_calc.py::test_zero": "passed"},
        plugins_off=True,
    )
    return Workshop(project, Settings(selfheal=True, effort="fast", sandbox=sandbox, test_timeout=20.0))  # type: ignore[arg-type]


FAILURE = Failure(NODEID, "call", (Raised("AssertionError", "assert -8 == 42"),), path="test_calc.py")


def verdict_on(workshop: Workshop, after: bytes, failure: Failure = FAILURE, affected: tuple[str, ...] = ()) -> Verdict:
    diagnosis = Diagnosis(
        "0001", (failure,), "logic", (), "", str(workshop.pristine.top), str(workshop.pristine.rootdir)
    )
    patch = Patch((FileChange("calc.py", WRONG, after),), "forger", "")
    return verify(workshop, patch, diagnosis, Affected(affected, ""))


SANDBOXES = ["process", "bwrap"] if find_bwrap()[0] is not None else ["process"]


@pytest.fixture
def workshop(tmp_path: Path, request: pytest.FixtureRequest):
    made = a_workshop(tmp_path, getattr(request, "param", "process"))
    yield made
    made.close()


def test_a_right_patch_is_believed(workshop: Workshop):
    reproduce(workshop, [FAILURE])
    assert workshop.usual  # what takes part in judging is known, so that additions show
    verdict = verdict_on(workshop, RIGHT)
    assert verdict.kind == "healed", verdict.reason


@pytest.mark.parametrize("workshop", SANDBOXES, indirect=True)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_not_believed(name: str, workshop: Workshop):
    verdict = verdict_on(workshop, FORGERIES[name].encode())
    assert verdict.kind != "healed"
    assert verdict.reason


@pytest.mark.parametrize("name", ODD_FORGERIES)
def test_an_odd_forgery_is_not_believed(name: str, tmp_path: Path):
    test, code = ODD_FORGERIES[name]
    failure = replace(FAILURE, nodeid=IN_A_CLASS) if test == TEST_CASE else FAILURE
    with a_workshop(tmp_path, test=test) as workshop:
        reproduce(workshop, [failure])
        verdict = verdict_on(workshop, code.encode(), failure)
    assert verdict.kind != "healed"
    assert verdict.reason


@pytest.mark.parametrize("test", [TWO_LINES, WITH_FIXTURE, TEST_CASE])
def test_a_right_patch_of_an_odd_test_is_believed(test: str, tmp_path: Path):
    failure = replace(FAILURE, nodeid=IN_A_CLASS) if test == TEST_CASE else FAILURE
    with a_workshop(tmp_path, test=test) as workshop:
        reproduce(workshop, [failure])
        verdict = verdict_on(workshop, RIGHT, failure)
    assert verdict.kind == "healed", verdict.reason


TRACED = """
from hypothesis import given, settings, strategies as st
from calc import add


@settings(database=None, max_examples=20)
@given(st.integers(), st.integers())
def test_add(a, b):
    assert add(a, b) == a + b
"""


def test_a_right_patch_is_believed_where_others_trace(tmp_path: Path):
    """``doctest`` and Hypothesis trace what they run, some of them only while it fails."""
    before, after = (
        b'def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    """\n' + c for c in (WRONG[15:], RIGHT[15:])
    )
    with a_workshop(tmp_path, test=TRACED) as made:
        (made.project.top / "calc.py").write_bytes(before)
        project = replace(made.project, pytest_args=("--doctest-modules",))
    failed = (Raised("doctest.DocTestFailure", ""),)
    failures = [FAILURE, replace(FAILURE, nodeid="calc.py::calc.add", path="calc.py", chain=failed)]
    with Workshop(project, made.settings) as workshop:
        seen = reproduce(workshop, failures)
        assert [one.words for one in seen] == ["", ""]
        root = str(workshop.pristine.top)
        diagnosis = Diagnosis("0001", tuple(one.failure for one in seen), "logic", (), "", root, root)
        patch = Patch((FileChange("calc.py", before, after),), "somebody", "")
        verdict = verify(workshop, patch, diagnosis, Affected((), ""))
    assert verdict.kind == "healed", verdict.reason


def test_other_tests_may_trace(tmp_path: Path):
    """An affected test of a debugger says nothing about the patch."""
    tracing = TEST.replace(
        "    assert add(4, 0) == 4\n", "    import sys\n    sys.settrace(None)\n    assert add(4, 0) == 4\n"
    )
    assert tracing != TEST
    with a_workshop(tmp_path, test=tracing) as workshop:
        reproduce(workshop, [FAILURE])
        verdict = verdict_on(workshop, RIGHT, affected=("test_calc.py::test_zero",))
    assert verdict.kind == "healed", verdict.reason
