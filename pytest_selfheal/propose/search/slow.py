"""The slow path: a fresh import for each candidate that a code swap cannot carry.

A process with the project imported would give false passes for changes of module level, signatures and class bodies.
So a *zygote* is forked before the first project import; it imports the third-party modules that the project uses, and
each candidate gets a fork of it, whose importer serves the patched source for that one file.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import marshal
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.propose.search import fork
from pytest_selfheal.propose.search.fork import Usage


@dataclass
class Order:
    """Run these tests with this file's bytes replaced."""

    path: str
    """Real path of the file."""
    content: bytes
    nodeids: tuple[str, ...]
    arguments: tuple[str, ...]
    """pytest's command line."""
    timeout: float
    """Wall seconds."""
    first_failure: bool = True
    """Stop at the first test that fails."""


@dataclass
class Result:
    """What became of the tests; empty when the process died or took too long."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """nodeid → passed | failed | skipped | error; a file that cannot be collected is an ``error`` under its own name."""
    collected: tuple[str, ...] = ()
    cpu: float = 0.0
    compiled: dict[str, bytes] = field(default_factory=dict)
    """Marshalled code of files that this run had to compile; the zygote keeps it for the next one."""


class Zygote:
    """A forked process that waits for orders. Make it before anything of the project is imported."""

    def __init__(self, close: Sequence[int] = ()) -> None:
        ours, theirs = socket.socketpair()
        self.pid = fork.fork()
        if self.pid == 0:
            try:
                ours.close()
                fork.prepare_child(tuple(close))
                _serve(theirs)
            except BaseException:
                pass
            finally:
                os._exit(0)
        theirs.close()
        self._socket = ours
        self._alive = True

    def warm(self, modules: Sequence[str]) -> None:
        """Import modules (third-party ones only) that every candidate will need."""
        self._ask(("warm", list(modules)))

    def judge(self, order: Order) -> Result:
        answer = self._ask(("judge", order))
        return answer if isinstance(answer, Result) else Result()

    def close(self) -> None:
        self._alive = False
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _ask(self, message: Any) -> Any:
        if not self._alive:
            return None
        try:
            _send(self._socket, message)
            return _receive(self._socket)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._alive = False
            return None


def _send(channel: socket.socket, message: Any) -> None:
    data = pickle.dumps(message)
    channel.sendall(struct.pack("<I", len(data)) + data)


def _receive(channel: socket.socket) -> Any:
    (size,) = struct.unpack("<I", _exactly(channel, 4))
    return pickle.loads(_exactly(channel, size))


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = channel.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


# In the zygote


def _serve(channel: socket.socket) -> None:
    usage = Usage()
    compiled: dict[str, bytes] = {}
    while True:
        try:
            kind, body = _receive(channel)
        except EOFError:
            return
        if kind == "warm":
            for name in body:
                with contextlib.suppress(BaseException):
                    importlib.import_module(name)
            _remember_distributions()
            _send(channel, None)
            continue
        before = usage.seconds
        # A bound method: called in the child only.
        result = fork.call(_Run(body, compiled).run, body.timeout, usage, (channel.fileno(),)) or Result()
        result.cpu = usage.seconds - before
        compiled.update(result.compiled)
        result.compiled = {}
        _send(channel, result)


class _Run:
    """One pytest run in a fork of the zygote, with one file replaced."""

    def __init__(self, order: Order, compiled: Mapping[str, bytes]) -> None:
        self.order = order
        self.compiled = compiled
        self.asked = frozenset(order.nodeids)
        self.result = Result()

    def run(self) -> Result:
        _replace(self.order.path, self.order.content)
        _remember_code(self.order.path, self.compiled, self.result.compiled)
        _say_nothing()
        sys.dont_write_bytecode = True
        pytest.main([*self.order.arguments, "--tb=no"], plugins=[self])
        return self.result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        items[:] = [i for i in items if i.nodeid in self.asked or i.nodeid.partition("::")[0] in self.asked]
        self.result.collected = tuple(item.nodeid for item in items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.result.outcomes[report.nodeid] = "error"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        known = self.result.outcomes.get(report.nodeid)
        if report.failed:
            self.result.outcomes[report.nodeid] = "failed"
        elif report.when == "call" and known is None:
            self.result.outcomes[report.nodeid] = report.outcome
        elif report.skipped and known is None:
            self.result.outcomes[report.nodeid] = "skipped"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.order.first_failure and self.result.outcomes.get(nodeid) != "passed":
            fork.finish(self.result)  # the verdict is clear

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        fork.finish(self.result)  # nobody reads what pytest and its plugins do at their end


def _replace(path: str, content: bytes) -> None:
    """Let the importer read ``content`` instead of the file, and no cached bytecode of it."""
    read: Callable[[SourceFileLoader, str], bytes] = SourceFileLoader.get_data
    stats = SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, name: str) -> bytes:
        return content if os.path.realpath(name) == path else read(self, name)

    def path_stats(self: SourceFileLoader, name: str) -> Any:
        if os.path.realpath(name) == path:
            raise OSError(name)  # no time stamp: no bytecode is looked for
        return stats(self, name)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign,assignment]
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign,assignment]


def _remember_code(patched: str, known: Mapping[str, bytes], made: dict[str, bytes]) -> None:
    """Compile each file other than the patched one only once in the zygote's life: nothing writes bytecode here."""
    from _pytest.assertion import rewrite

    compile_source = SourceFileLoader.source_to_code
    rewrite_test = rewrite._rewrite_test

    def source_to_code(self: SourceFileLoader, data: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        key = f"import {path}"
        if os.path.realpath(path) == patched:
            return compile_source(self, data, path, *args, **kwargs)
        if key in known:
            return marshal.loads(known[key])
        code = compile_source(self, data, path, *args, **kwargs)
        made[key] = marshal.dumps(code)
        return code

    def rewritten(fn: Path, config: pytest.Config) -> Any:
        key = f"rewrite {fn}"
        if key in known:
            return fn.stat(), marshal.loads(known[key])
        stat, code = rewrite_test(fn, config)
        made[key] = marshal.dumps(code)
        return stat, code

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign,assignment]
    rewrite._rewrite_test = rewritten


def _say_nothing() -> None:
    """No time for explanations that nobody reads, no warning about plugins that the zygote has imported already."""
    from _pytest.assertion import rewrite, util

    vars(util).update(assertrepr_compare=lambda *args, **kwargs: None)
    vars(rewrite).update(_saferepr=lambda obj: "…", _format_explanation=lambda explanation: explanation)
    rewrite.AssertionRewritingHook._warn_already_imported = lambda self, name: None  # type: ignore[method-assign]


class _Distribution:
    """An installed distribution whose entry points were read once; pytest asks for them at every start."""

    def __init__(self, real: importlib.metadata.Distribution) -> None:
        self._real = real
        self.entry_points = real.entry_points
        self.metadata = real.metadata
        self.version = real.version
        plugin = any(entry.group == "pytest11" for entry in self.entry_points)
        self.files = real.files if plugin else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _remember_distributions() -> None:
    try:
        known = [_Distribution(real) for real in importlib.metadata.distributions()]
    except Exception:  # a broken installation somewhere: let pytest find its way as always
        return
    importlib.metadata.distributions = lambda **context: iter(known)  # type: ignore[assignment]
