"""A test process tells its parent that all is well, in many ways; it is never believed.

The forgeries stand in the code under test and would get past no guard; here only the judge itself stands in their way.
Each makes the test green that fails for a wrong sum.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_selfheal.judge.reproduce import reproduce
from pytest_selfheal.judge.sandbox import find_bwrap
from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised

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


def a_workshop(folder: Path, sandbox: str = "process") -> Workshop:
    top = folder / "project"
    top.mkdir()
    (top / "calc.py").write_bytes(WRONG)
    (top / "test_calc.py").write_text(TEST)
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


def verdict_on(workshop: Workshop, after: bytes) -> object:
    diagnosis = Diagnosis(
        "0001", (FAILURE,), "logic", (), "", str(workshop.pristine.top), str(workshop.pristine.rootdir)
    )
    patch = Patch((FileChange("calc.py", WRONG, after),), "forger", "")
    return verify(workshop, patch, diagnosis, Affected((), ""))


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
