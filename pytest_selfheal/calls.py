"""Which functions each test of the user's run called: one cheap event a function and test, where Python has such (3.12).

It costs a run about one percent, since an event is switched off once it has come, until the next test begins. So a first
red run already knows which tests a change concerns, without running any of them again under coverage.
"""

from __future__ import annotations

import array
import os
import sys
import sysconfig
from collections.abc import Generator, Iterable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TOOL = 4
"""One of the two ids of :mod:`sys.monitoring` that nobody has a claim to."""
COVERAGE_TOOL = 1
PROCESS_EVENTS = frozenset(
    (
        "subprocess.Popen",
        "os.fork",
        "os.forkpty",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
    )
)
"""What runs code where nobody of this process sees it."""


class Calls:
    """Functions by test. Functions are numbers, tests nodeids; what is not known of a test is not guessed."""

    def __init__(self) -> None:
        self.functions: list[tuple[str, int]] = []
        """File, and the last line of the function's code: a line of its body, or of a function within."""
        self.tests: dict[str, bytes] = {}
        self.fixtures: dict[str, bytes] = {}
        """Name of a fixture that several tests share → what its setup called."""
        self.used: dict[str, tuple[str, ...]] = {}
        """Test → those of these fixtures that it asked for."""
        self.at_import: set[int] = set()
        """Called outside of any test, or while a module was imported."""
        self.opaque: set[str] = set()
        """Tests that started processes."""
        self.reads: dict[str, list[str]] = {}
        """Test → Python files that it opened."""

    def of_file(self, path: Path, spans: Iterable[tuple[int, int]]) -> frozenset[int]:
        """Numbers of the functions that end within one of the spans (first and last line) of a file."""
        real = os.path.realpath(path)
        inside = list(spans)
        return frozenset(
            number
            for number, (name, line) in enumerate(self.functions)
            if os.path.realpath(name) == real and any(first <= line <= last for first, last in inside)
        )

    def calls(self, nodeid: str, functions: frozenset[int]) -> bool | None:
        """Whether a test called one of the functions; ``None``: it was not watched."""
        packed = self.tests.get(nodeid)
        if packed is None:
            return None
        parts = [packed, *(self.fixtures[name] for name in self.used.get(nodeid, ()))]
        return any(not functions.isdisjoint(_unpacked(part)) for part in parts)

    def to_wire(self) -> dict[str, Any]:
        """As a worker of xdist may send it."""
        return {
            "functions": [list(function) for function in self.functions],
            "tests": self.tests,
            "fixtures": self.fixtures,
            "used": {nodeid: list(names) for nodeid, names in self.used.items()},
            "at_import": sorted(self.at_import),
            "opaque": sorted(self.opaque),
            "reads": self.reads,
        }

    def add(self, wire: Mapping[str, Any], source: str) -> None:
        """Add what another process saw; ``source`` names it, since its fixtures are its own."""
        number_of = {function: number for number, function in enumerate(self.functions)}
        here = []
        for name, line in wire["functions"]:
            number_of.setdefault((name, line), len(number_of))
            here.append(number_of[name, line])
        self.functions = list(number_of)
        for nodeid, packed in wire["tests"].items():
            self.tests[nodeid] = _packed(here[number] for number in _unpacked(packed))
        for name, packed in wire["fixtures"].items():
            self.fixtures[f"{source} {name}"] = _packed(here[number] for number in _unpacked(packed))
        for nodeid, names in wire["used"].items():
            self.used[nodeid] = tuple(f"{source} {name}" for name in names)
        self.at_import |= {here[number] for number in wire["at_import"]}
        self.opaque |= set(wire["opaque"])
        self.reads.update(wire["reads"])


def _packed(numbers: Iterable[int]) -> bytes:
    return array.array("I", sorted(numbers)).tobytes()


def _unpacked(packed: bytes) -> array.array[int]:
    return array.array("I", packed)


class CallRecorder:
    """Plugin of the user's run. Give it up (:meth:`stop`) before anything of ours runs."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._known: dict[CodeType, int | None] = {}
        self._same: dict[bytes, bytes] = {}
        self._seen: set[CodeType] = set()
        self._test = ""
        self._nested = False
        self._importing: list[tuple[CodeType, set[CodeType]]] = []
        """Modules of the project that the test is importing → what was seen before each."""
        self._opaque = False
        self._reads: set[str] = set()
        paths = sysconfig.get_paths()
        folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        folders.append(os.path.dirname(__file__))  # noqa: PTH120
        self._foreign = tuple(os.path.join(folder, "") for folder in folders)  # noqa: PTH118 - for str.startswith
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def start(self) -> bool:
        """Whether calls are watched from here on; not where Python cannot, or where coverage watches in the same way."""
        monitoring = self._monitoring
        if monitoring is None or monitoring.get_tool(COVERAGE_TOOL) is not None:
            return False
        try:
            monitoring.use_tool_id(TOOL, "selfheal")
        except ValueError:
            return False
        events, disable = monitoring.events, monitoring.DISABLE

        def called(code: CodeType, offset: int) -> object:
            self._seen.add(code)
            if code.co_name == "<module>":
                self._import_begins(code)
            return disable

        monitoring.register_callback(TOOL, events.PY_START, called)
        monitoring.register_callback(TOOL, events.PY_RESUME, called)
        monitoring.register_callback(TOOL, events.PY_RETURN, self._import_ends)
        monitoring.set_events(TOOL, events.PY_START | events.PY_RESUME)
        _listen(self)
        return True

    def stop(self) -> Calls:
        """Watch no longer; what was seen."""
        monitoring = self._monitoring
        if monitoring is not None and monitoring.get_tool(TOOL) == "selfheal":
            monitoring.set_events(TOOL, 0)
            monitoring.free_tool_id(TOOL)
            self.calls.at_import |= self._taken()
        _listen(None)
        return self.calls

    # ------------------------------------------------------------------ events

    def _import_begins(self, code: CodeType) -> None:
        """What a module calls while it is imported matters to every later test, whichever imported it first."""
        if self._test and not code.co_filename.startswith(self._foreign):
            self._seen.discard(code)
            self._importing.append((code, self._seen))
            self._seen = {code}
            self._monitoring.set_local_events(TOOL, code, self._monitoring.events.PY_RETURN)
            self._monitoring.restart_events()

    def _import_ends(self, code: CodeType, offset: int, value: object) -> object:
        if self._importing and self._importing[-1][0] is code:
            self._end_import()
            self._monitoring.restart_events()
        return self._monitoring.DISABLE

    def _end_import(self) -> None:
        self.calls.at_import |= self._taken(self._importing.pop()[1])

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit event while a test runs."""
        if event in PROCESS_EVENTS:
            self._opaque = True
        elif event == "open" and isinstance(args[0], str) and args[0].endswith(".py"):
            reader = sys._getframe(2).f_code.co_filename
            if "importlib" not in reader and "rewrite" not in reader and not args[0].startswith(self._foreign):
                self._reads.add(os.path.realpath(args[0]))

    @property
    def listens(self) -> bool:
        """Whether a test is running."""
        return bool(self._test)

    # ------------------------------------------------------------------ tests

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self._test:  # tests at the same time, or one within another: nobody can tell who called what
            self._nested = True
            return (yield)
        self.calls.at_import |= self._taken()
        self._test, self._nested, self._opaque, self._reads = item.nodeid, False, False, set()
        self._monitoring.restart_events()
        try:
            return (yield)
        finally:
            self._finish(item)

    def _finish(self, item: pytest.Item) -> None:
        nodeid, self._test = self._test, ""
        while self._importing:  # it failed
            self._end_import()
        numbers = self._taken()
        if self._nested:
            self.calls.at_import |= numbers
            self.calls.tests.pop(nodeid, None)
            return
        if nodeid in self.calls.tests:  # run again by a plugin
            numbers |= set(_unpacked(self.calls.tests[nodeid]))
        packed = _packed(numbers)
        self.calls.tests[nodeid] = self._same.setdefault(packed, packed)
        shared = tuple(name for name in getattr(item, "fixturenames", ()) if name in self.calls.fixtures)
        if shared:
            self.calls.used[nodeid] = shared
        if self._opaque:
            self.calls.opaque.add(nodeid)
        if self._reads:
            self.calls.reads[nodeid] = sorted(self._reads)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function" or not self._test:
            return (yield)
        before, self._seen = self._seen, set()
        self._monitoring.restart_events()
        try:
            return (yield)
        finally:
            name, numbers = fixturedef.argname, self._taken(before)
            if name in self.calls.fixtures:  # of another module or class, or of another parameter
                numbers |= set(_unpacked(self.calls.fixtures[name]))
            self.calls.fixtures[name] = _packed(numbers)
            self._monitoring.restart_events()

    # ------------------------------------------------------------------ functions

    def _taken(self, before: set[CodeType] | None = None) -> set[int]:
        """Numbers of what was seen; from here on it is added to ``before``. Our own calls, other threads' as well, go on."""
        codes, self._seen = self._seen, set() if before is None else before
        known, found = self._known, set()
        for code in codes.copy():
            try:
                number = known[code]
            except KeyError:
                number = known[code] = self._number(code)
            if number is not None:
                found.add(number)
        return found

    def _number(self, code: CodeType) -> int | None:
        name = code.co_filename
        if not name.endswith(".py") or name.startswith(self._foreign):
            return None
        last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
        self.calls.functions.append((os.path.abspath(name), last))  # noqa: PTH100
        return len(self.calls.functions) - 1


_LISTENING: list[CallRecorder] = []
_HOOKED: list[bool] = []


def _listen(recorder: CallRecorder | None) -> None:
    """Audit events go to this recorder; a hook cannot be taken off, so there is one, and mostly it has nothing to do."""
    _LISTENING[:] = [recorder] if recorder is not None else []
    if recorder is not None and not _HOOKED:
        _HOOKED.append(True)
        sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if _LISTENING and _LISTENING[0].listens:
        _LISTENING[0].heard(event, args)
