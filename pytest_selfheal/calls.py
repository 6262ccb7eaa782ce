"""Which functions the tests of the user's run called, as far as that costs next to nothing (Python 3.12 and later).

A function's call is an event once, until the events are switched on again. That is done when a test begins and those since
the last time took :data:`GROUP_SECONDS` together: quick tests share what was seen, and they are quickly run again; a slow
one has its own. So a first red run knows which tests a change concerns without running any of them under coverage.
"""

from __future__ import annotations

import array
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

GROUP_SECONDS = 0.25
"""Switching the events on again costs about a millisecond."""
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

_NAMES: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__


class Calls:
    """Functions by group of tests. What is not known of a test is not guessed."""

    def __init__(self) -> None:
        self.functions: list[tuple[str, int]] = []
        """File, and the last line of the function's code: a line of its body, or of a function within."""
        self.groups: list[bytes] = []
        """Numbers of the functions that each group called."""
        self.tests: dict[str, tuple[int, ...]] = {}
        """Test → its group, and those in which fixtures were set up that it shares with others."""
        self.at_import: set[int] = set()
        """Called outside of any test, or while a module was imported."""
        self.opaque: set[int] = set()
        """Groups that started processes."""
        self.reads: dict[int, list[str]] = {}
        """Group → Python files that it opened."""

    def of_file(self, path: Path, spans: Iterable[tuple[int, int]]) -> frozenset[int]:
        """Numbers of the functions that end within one of the spans (first and last line) of a file."""
        real = os.path.realpath(path)
        inside = list(spans)
        return frozenset(
            number
            for number, (name, line) in enumerate(self.functions)
            if os.path.realpath(name) == real and any(first <= line <= last for first, last in inside)
        )

    def calling(self, functions: frozenset[int]) -> frozenset[int]:
        """The groups that called one of the functions."""
        return frozenset(n for n, packed in enumerate(self.groups) if not functions.isdisjoint(unpack(packed)))

    def reading(self, path: Path) -> frozenset[int]:
        """The groups that opened a file."""
        real = os.path.realpath(path)
        return frozenset(group for group, paths in self.reads.items() if real in paths)

    def to_wire(self) -> dict[str, Any]:
        """As a worker of xdist may send it."""
        return {
            "functions": [list(function) for function in self.functions],
            "groups": self.groups,
            "tests": {nodeid: list(groups) for nodeid, groups in self.tests.items()},
            "at_import": sorted(self.at_import),
            "opaque": sorted(self.opaque),
            "reads": self.reads,
        }

    def add(self, wire: Mapping[str, Any]) -> None:
        """Add what another process saw."""
        number_of = {function: number for number, function in enumerate(self.functions)}
        here = [number_of.setdefault((name, line), len(number_of)) for name, line in wire["functions"]]
        self.functions = list(number_of)
        first = len(self.groups)
        self.groups += [pack(here[number] for number in unpack(packed)) for packed in wire["groups"]]
        self.at_import |= {here[number] for number in wire["at_import"]}
        self.opaque |= {first + group for group in wire["opaque"]}
        self.reads.update({first + group: paths for group, paths in wire["reads"].items()})
        for nodeid, groups in wire["tests"].items():
            self.tests[nodeid] = (*self.tests.get(nodeid, ()), *(first + group for group in groups))


def pack(numbers: Iterable[int]) -> bytes:
    return array.array("I", sorted(numbers)).tobytes()


def unpack(packed: bytes) -> array.array[int]:
    return array.array("I", packed)


class CallRecorder:
    """Plugin of the user's run. Stop it before anything of ours runs."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._known: dict[int, tuple[CodeType, int]] = {}
        """By identity: the hash of a code object is that of all its instructions."""
        self._seen: list[CodeType] = []
        self._items: list[tuple[pytest.Item, tuple[int, ...]]] = []
        """Tests that have begun, and the groups that they are in."""
        self._begun = 0.0
        self._fixtures: dict[str, set[int]] = {}
        """Name of a fixture that tests share → its groups: each setup has one of its own."""
        self._setting_up: list[str] = []
        self._importing: list[tuple[CodeType, list[CodeType]]] = []
        """Modules of the project that a test is importing → what was seen before each."""
        self._opaque = False
        self._reads: set[str] = set()
        self._thread = threading.get_ident()
        self.useless = False
        """Tests run at the same time: nobody can tell who calls what."""
        folders = [os.path.dirname(module) for module in (os.__file__, __file__)]  # noqa: PTH120
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
            self._seen.append(code)
            return disable

        monitoring.register_callback(TOOL, events.PY_START, called)
        monitoring.register_callback(TOOL, events.PY_RESUME, called)
        monitoring.register_callback(TOOL, events.PY_RETURN, self._import_ends)
        _listen(self)
        if any(map(self._is_near, sys.modules.copy().values())):
            for known in gc.get_objects():  # what conftests have imported by now
                if type(known) is FunctionType and self._is_ours(known.__code__):
                    self._watch(known.__code__)
        return True

    def _is_near(self, module: object) -> bool:
        """Whether it is of the project, its tests or its plugins, so that it may have imported what is to be watched."""
        # By its own dictionary: a lazy one is not to be loaded by this.
        name = _NAMES(module).get("__file__") if isinstance(module, ModuleType) else None
        if not isinstance(name, str) or not name.endswith(".py"):
            return False
        return not name.startswith(self._foreign) and f"-packages{os.sep}" not in name

    def _is_ours(self, code: CodeType) -> bool:
        """Whether it may be at fault: of a file of the project's, and not of its tests."""
        name = code.co_filename
        if not name.endswith(".py") or name.startswith(self._foreign) or f"-packages{os.sep}" in name:
            return False
        if not os.path.isabs(name):  # noqa: PTH117 - no module has such a name; a test compiled it
            return False
        last = name.rpartition(os.sep)[2]
        return not last.startswith(("test_", "conftest.")) and not last.endswith("_test.py")

    def _watch(self, code: CodeType) -> None:
        """Watch a function and those within it. Only these cost anything when the events are switched on again."""
        events = self._monitoring.events
        pending = [code]
        while pending:
            one = pending.pop()
            if one.co_name != "<module>":
                self._monitoring.set_local_events(TOOL, one, events.PY_START | events.PY_RESUME)
            pending += [const for const in one.co_consts if type(const) is CodeType]

    def stop(self) -> Calls | None:
        """Watch no longer; what was seen, or ``None`` where that says nothing."""
        monitoring = self._monitoring
        if monitoring is not None and monitoring.get_tool(TOOL) == "selfheal":
            for event in ("PY_START", "PY_RESUME", "PY_RETURN"):
                monitoring.register_callback(TOOL, getattr(monitoring.events, event), None)
            monitoring.free_tool_id(TOOL)
            self._end_group()
            for item, groups in self._items:
                shared = (self._fixtures[name] for name in getattr(item, "fixturenames", ()) if name in self._fixtures)
                everything = {*self.calls.tests.get(item.nodeid, ()), *groups}.union(*shared)
                self.calls.tests[item.nodeid] = tuple(sorted(everything))
            self._items.clear()
        _listen(None)
        return None if self.useless else self.calls

    # ------------------------------------------------------------------ events

    def _executes(self, code: CodeType) -> None:
        """A module is about to be imported. What it calls matters to every later test, whichever imported it first."""
        self._watch(code)
        if self._items:
            self._importing.append((code, self._seen))
            self._seen = []
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
        """An audit event."""
        if event == "exec":
            if type(args[0]) is CodeType and args[0].co_name == "<module>" and self._is_ours(args[0]):
                self._executes(args[0])
        elif not self._items:
            return
        elif event in PROCESS_EVENTS:
            self._opaque = True
        elif event == "open" and isinstance(args[0], str) and args[0].endswith(".py"):
            reader = sys._getframe(2).f_code.co_filename
            if "importlib" not in reader and "rewrite" not in reader and not args[0].startswith(self._foreign):
                self._reads.add(os.path.realpath(args[0]))

    # ------------------------------------------------------------------ tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not self._items or time.perf_counter() - self._begun > GROUP_SECONDS:
            self._next_group()
            self.useless = self.useless or threading.get_ident() != self._thread
        self._items.append((item, (len(self.calls.groups),)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function" or not self._items:
            return (yield)
        self._setting_up.append(fixturedef.argname)
        self._next_group()
        try:
            return (yield)
        finally:
            self._setting_up.pop()
            self._next_group()
            item, groups = self._items[-1]
            self._items[-1] = item, (*groups, len(self.calls.groups))

    def _next_group(self) -> None:
        self._end_group()
        for name in self._setting_up:
            self._fixtures.setdefault(name, set()).add(len(self.calls.groups))
        self._begun = time.perf_counter()
        self._monitoring.restart_events()

    def _end_group(self) -> None:
        while self._importing:  # it failed
            self._end_import()
        numbers = self._taken()
        if not self._items:  # before the first test: collection
            self.calls.at_import |= numbers
            return
        group = len(self.calls.groups)
        self.calls.groups.append(pack(numbers))
        if self._opaque:
            self.calls.opaque.add(group)
        if self._reads:
            self.calls.reads[group] = sorted(self._reads)
        self._opaque, self._reads = False, set()

    # ------------------------------------------------------------------ functions

    def _taken(self, before: list[CodeType] | None = None) -> set[int]:
        """Numbers of what was seen; from here on it is added to ``before``. Our own calls, other threads' as well, go on."""
        codes, self._seen = self._seen, [] if before is None else before
        known, found = self._known, set()
        for code in codes.copy():
            entry = known.get(id(code))
            if entry is None:
                entry = known[id(code)] = code, self._number(code)
            found.add(entry[1])
        return found

    def _number(self, code: CodeType) -> int:
        last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
        self.calls.functions.append((code.co_filename, last))
        return len(self.calls.functions) - 1


_HEARD = PROCESS_EVENTS | {"exec", "open"}
_LISTENING: list[CallRecorder] = []
_HOOKED: list[bool] = []


def _listen(recorder: CallRecorder | None) -> None:
    """Audit events go to this recorder; a hook cannot be taken off, so there is one, and mostly it has nothing to do."""
    _LISTENING[:] = [recorder] if recorder is not None else []
    if recorder is not None and not _HOOKED:
        _HOOKED.append(True)
        sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if event not in _HEARD:  # nearly all of them, and there are many
        return
    for recorder in _LISTENING:
        try:
            recorder.heard(event, args)
        except Exception:  # it would reach whoever imports, opens or starts something
            recorder.useless = True
