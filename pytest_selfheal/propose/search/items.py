"""Run a collected pytest item as cheaply as its outcome allows.

Three ways, cheapest first: call the function (nothing but parameters to fill in); set the fixtures up, run and tear down
without building reports; or pytest's own protocol. Which one tells the truth for an item is found out, not assumed: on
the unpatched code, it has to fail in the same place, with the same exception, as pytest's own.
"""

from __future__ import annotations

import copy
import inspect
import sys
import unittest
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.runner import runtestprotocol

from pytest_selfheal.propose.search.fork import CpuTimeout

Run = Callable[[], None]
"""Raises what the test raised; returns when it passed."""

_PLAIN = (int, float, str, bytes, bool, complex, type(None), type, range, frozenset)


PROTOCOL_FIXTURES = frozenset(("caplog", "subtests"))
"""Fixtures that need what pytest's own protocol prepares."""


class Failed(Exception):
    """pytest's own protocol reported a failure without an exception that could be raised again."""


def ways(item: pytest.Item) -> list[tuple[str, Run]]:
    """The ways to run an item, cheapest first; the last one is pytest's own."""
    found: list[tuple[str, Run]] = []
    if isinstance(item, pytest.Function):
        direct = _direct(item)
        if direct is not None:
            found.append(("direct", direct))
        if not PROTOCOL_FIXTURES.intersection(item._fixtureinfo.names_closure):
            found.append(("lean", lambda: _lean(item)))
    found.append(("full", lambda: _full(item)))
    return found


def _direct(item: pytest.Function) -> Run | None:
    """The bare call, where no fixture is involved and the function is an ordinary one."""
    function = inspect.unwrap(getattr(item, "function", item.obj))
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    ):
        return None
    info = item._fixtureinfo
    case = item.cls if isinstance(item.cls, type) and issubclass(item.cls, unittest.TestCase) else None
    params: dict[str, Any] = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    automatic = set(item.session._fixturemanager._getautousenames(item))
    for name in info.names_closure:
        definitions = info.name2fixturedefs.get(name) or ()
        if name in automatic and name not in info.argnames and all(_is_foreign(d, item) for d in definitions):
            continue  # a plugin's own bookkeeping; calibration notices when the test does need it
        if case is not None and name.startswith("_unittest_setUpClass_fixture") and _default_class_setup(case):
            continue
        if name == "request" and name not in info.argnames:
            continue
        if name not in params or any(_is_real_fixture(d) for d in definitions):
            return None
    if case is not None:
        name = item.name
        return lambda: case(name).debug()
    arguments = {name: params[name] for name in info.argnames}
    mutable = {name for name, value in arguments.items() if type(value) not in _PLAIN}
    owner, attribute = item.cls, item.originalname
    if owner is None and not inspect.isfunction(item.obj):
        return None

    def run() -> None:
        given = {k: copy.deepcopy(v) if k in mutable else v for k, v in arguments.items()} if mutable else arguments
        (getattr(owner(), attribute) if owner is not None else item.obj)(**given)

    return run


def _is_real_fixture(definition: Any) -> bool:
    return getattr(definition.func, "__name__", "") != "get_direct_param_fixture_func"


def _is_foreign(definition: Any, item: pytest.Item) -> bool:
    """Whether a fixture comes from an installed plugin rather than from the project."""
    code = getattr(inspect.unwrap(definition.func), "__code__", None)
    return code is not None and "site-packages" in Path(code.co_filename).parts


def _default_class_setup(case: type[unittest.TestCase]) -> bool:
    return all(
        getattr(getattr(case, name), "__func__", None) is getattr(unittest.TestCase, name).__func__
        for name in ("setUpClass", "tearDownClass")
    )


def _lean(item: pytest.Function) -> None:
    """Setup, call and teardown, for one item alone; fixtures of every scope are made anew."""
    from _pytest.tmpdir import tmppath_result_key

    state = item.session._setupstate
    item.stash.setdefault(tmppath_result_key, {})
    if not getattr(item, "_request", None):
        item._initrequest()
    failed: BaseException | None = None
    try:
        state.setup(item)
        item.runtest()
        caught = getattr(item, "_excinfo", None)  # what unittest's runner collected instead of raising
        if caught:
            failed = caught[0].value
    except BaseException as error:
        failed = error
    try:
        state.teardown_exact(None)
    except CpuTimeout:
        raise
    except BaseException as error:
        failed = failed or error
    finally:
        item._request = False  # type: ignore[assignment]
        item.funcargs = None  # type: ignore[assignment]
        if hasattr(item, "_excinfo"):
            item._excinfo = None
    if failed is not None:
        raise failed


class _Catcher:
    """Keeps the exception of a run through pytest's own protocol."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.failed_subtest = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        # A report shows values: that is no part of the test, and its lines must not count as executed by it.
        tracing = sys.gettrace()
        sys.settrace(None)
        try:
            return (yield)
        finally:
            sys.settrace(tracing)

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(self, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is not None and self.error is None:
            self.error = call.excinfo.value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Only subtests are logged here; their test's own report may pass all the same.
        self.failed_subtest = self.failed_subtest or report.failed


def _full(item: pytest.Item) -> None:
    catcher = _Catcher()
    item.config.pluginmanager.register(catcher)
    try:
        reports = runtestprotocol(item, log=False, nextitem=None)
    finally:
        item.config.pluginmanager.unregister(catcher)
    if catcher.failed_subtest or any(report.failed for report in reports):
        raise catcher.error or Failed(str(reports[-1].longrepr)[:200])
    if not any(report.when == "call" and report.passed for report in reports):
        raise Failed("skipped")


def signature(error: BaseException | None) -> str:
    """What has to agree between two ways of running an item; empty for a pass."""
    if error is None:
        return ""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if isinstance(error, (CpuTimeout, OutcomeException)) or place is None:
        return type(error).__name__
    return f"{type(error).__name__} {place.tb_frame.f_code.co_filename}:{place.tb_lineno}"
