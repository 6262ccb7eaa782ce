"""Inside a child: failing on purpose, and looking whether somebody tampered with the judge.

*Control.* A test that is said to pass is run once more in another process, where an error with a secret text is raised
right behind its last line. Reported as failed with that text, it ran to its end and nothing turned failures into passes;
reported as passed, the report is forged. So the last repetition of a verification is both: a repetition and a control.

*Integrity.* The functions that decide about results (pytest's, pluggy's, unittest's, ours) and the builtins are compared
with what they were before any code of the project was imported, and each failing test's code with its source.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

_WATCHED: Final = (
    *(
        "_pytest.assertion",
        "_pytest.main",
        "_pytest.outcomes",
        "_pytest.python",
        "_pytest.python_api",
        "_pytest.raises",
    ),
    *("_pytest.reports", "_pytest.runner", "_pytest.skipping", "_pytest.unittest", "pluggy", "unittest.case"),
    *("pytest_selfheal.judge", "pytest_selfheal.capture", "pytest_selfheal.session"),
)
_HOOKS: Final = (
    *("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtest_setup", "pytest_runtest_call"),
    *(
        "pytest_runtest_teardown",
        "pytest_runtest_makereport",
        "pytest_runtest_logreport",
        "pytest_collection_modifyitems",
    ),
    *("pytest_sessionfinish", "pytest_assertrepr_compare", "pytest_exception_interact"),
)


_TRACING: Final = ("sys.settrace", "sys.setprofile", "sys.monitoring.register_callback")


class ControlFailure(Exception):
    """Raised on purpose behind the last line of a test."""


class Control:
    """Plugin object that makes the chosen tests fail at their very end."""

    def __init__(self, nodeids: list[str], token: str, send: Callable[[dict[str, Any]], None]) -> None:
        self.nodeids = frozenset(nodeids)
        self.token = token
        self.send = send

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        if item.nodeid not in self.nodeids:
            return
        if not isinstance(item, pytest.Function) or item.get_closest_marker("xfail") is not None:
            self.send({"is": "uncontrolled", "nodeid": item.nodeid})
            return
        item.obj = fails_at_its_end(item.obj, self.token)
        if isinstance(item.instance, unittest.TestCase):
            # pytest-django lets the test case run itself, by its method's name.
            setattr(item.instance, item.name, item.obj)


def fails_at_its_end(test: Callable[..., Any], token: str) -> Callable[..., Any]:
    """``test`` with an error behind its last line."""
    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        async def controlled_coroutine(*args: Any, **kwargs: Any) -> None:
            await test(*args, **kwargs)
            raise ControlFailure(token)

        return controlled_coroutine

    @functools.wraps(test)
    def controlled(*args: Any, **kwargs: Any) -> None:
        test(*args, **kwargs)
        raise ControlFailure(token)

    return controlled


class Integrity:
    """What must not change while tests run. Make it before any code of the project is imported."""

    def __init__(self) -> None:
        self._before = dict(_functions())
        self._codes: dict[Path, list[types.CodeType]] = {}
        self._collected: dict[str, tuple[object, object]] = {}
        self._seen: set[str] = set()
        self.watching = True
        """False while a test runs that nobody watches: what it does on purpose says nothing."""
        sys.addaudithook(self._on_audit)

    def _on_audit(self, event: str, args: tuple[object, ...]) -> None:
        # Whoever traces a test can jump over its assertions.
        if event in _TRACING and self.watching:
            self._seen.add(f"{event} was called by {sys._getframe(1).f_globals.get('__name__', '')}")

    def collected(self, item: pytest.Item) -> None:
        """Remember what a test is before any test runs."""
        self._collected[item.nodeid] = _function_of(item)

    def called(self, item: pytest.Item) -> bool:
        """Just before its call: whether a test's code is what its file says. Notes whether it is what was collected."""
        if isinstance(item, pytest.Function) and self._collected.get(item.nodeid) != _function_of(item):
            self._seen.add(f"{item.nodeid} was exchanged after its collection")
        for tracer in filter(None, (sys.gettrace(), sys.getprofile())):
            name = getattr(tracer, "__qualname__", type(tracer).__qualname__)
            self._seen.add(f"{getattr(tracer, '__module__', '')}.{name} traces {item.nodeid}")
        return not self.test_differs(item)

    def altered(self, config: pytest.Config) -> list[str]:
        """What is no longer what it was, and who takes part in judging: clauses, for comparison with other runs."""
        now = dict(_functions())
        found = [*self._seen, *(f"{name} was changed" for name, was in self._before.items() if now.get(name) != was)]
        for hook in _HOOKS:
            for implementation in getattr(config.hook, hook).get_hookimpls():
                module = getattr(implementation.function, "__module__", "")
                if module == __name__:
                    continue
                name = getattr(implementation.function, "__qualname__", "")
                found.append(f"{module}.{name} takes part in {hook}")
        return sorted(set(found))

    def test_differs(self, item: pytest.Item) -> bool:
        """Whether a test's code is not what its file says. False when that cannot be told."""
        function, code = _function_of(item)
        if not (
            isinstance(item, pytest.Function)
            and isinstance(function, types.FunctionType)
            and isinstance(code, types.CodeType)
        ):
            return False
        try:
            if Path(code.co_filename) != item.path:
                # Code from elsewhere in a function of this module: exchanged, unless the file does not define it.
                return function.__globals__ is vars(item.module) and any(
                    fresh.co_name == function.__name__ for fresh in self._fresh(item.path, item.config)
                )
            candidates = [fresh for fresh in self._fresh(item.path, item.config) if fresh.co_name == code.co_name]
        except Exception:
            return False  # the rewriter's insides changed, the file is gone, …: nothing can be said
        return bool(candidates) and not any(_same(code, fresh) for fresh in candidates)

    def _fresh(self, path: Path, config: pytest.Config) -> list[types.CodeType]:
        if path not in self._codes:
            from _pytest.assertion.rewrite import _rewrite_test

            plain = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            self._codes[path] = [*_nested(plain), *_nested(_rewrite_test(path, config)[1])]
        return self._codes[path]


def _function_of(item: pytest.Item) -> tuple[object, object]:
    """A test's function below decorators and methods, and its code."""
    function = inspect.unwrap(getattr(item, "obj", None) or (lambda: None))
    function = getattr(function, "__func__", function)
    # Hypothesis makes a function of its own that claims to stand in the test's file.
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return function, getattr(function, "__code__", None)


def _functions() -> Iterator[tuple[str, object]]:
    """Qualified name → identity of each watched function and its code; of each builtin."""
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(_WATCHED):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and value.__module__ == name:
                yield f"{name}.{key}", (id(value), id(value.__code__))
            elif isinstance(value, type) and value.__module__ == name:
                for attribute, member in list(vars(value).items()):
                    function = getattr(member, "__func__", getattr(member, "fget", member))
                    if isinstance(function, types.FunctionType):
                        yield f"{name}.{key}.{attribute}", (id(function), id(function.__code__))
    for key, value in list(vars(builtins).items()):
        if not key.startswith("_"):
            yield f"builtins.{key}", id(value)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _same(code: types.CodeType, other: types.CodeType) -> bool:
    """Equal but for positions."""
    return (
        code.co_code == other.co_code
        and code.co_names == other.co_names
        and code.co_varnames == other.co_varnames
        and len(code.co_consts) == len(other.co_consts)
        and all(
            _same(mine, theirs)
            if isinstance(mine, types.CodeType) and isinstance(theirs, types.CodeType)
            else repr(mine) == repr(theirs)
            for mine, theirs in zip(code.co_consts, other.co_consts, strict=True)
        )
    )
