"""The pytest plugin inside a child process: runs exactly the asked tests and tells the parent, per nodeid, what became of each.

Loaded with ``-p``, before any conftest. Its configuration is a JSON file named by ``SELFHEAL_CHILD``; that variable and
the channel's are removed at once, so that the project's code does not find them.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

# What the first failure needs is imported here as well: later, pytest's import hook would compile it anew.
from pytest_selfheal import capture
from pytest_selfheal.judge import bytecode, fence
from pytest_selfheal.judge.assertions import Counter
from pytest_selfheal.judge.control import Control, Integrity
from pytest_selfheal.judge.limits import apply_limits, die_with_parent
from pytest_selfheal.judge.process import CHANNEL_VARIABLE
from pytest_selfheal.session import Watch

CONFIG_VARIABLE = "SELFHEAL_CHILD"


class Channel:
    """Writes JSON lines into the inherited pipe."""

    def __init__(self, fd: int, nonce: str) -> None:
        self.fd = fd
        self.nonce = nonce
        self.count = 0
        os.set_inheritable(fd, False)

    def send(self, message: dict[str, Any]) -> None:
        self.count += 1
        data = json.dumps({**message, "nonce": self.nonce, "seq": self.count}).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self.fd, data) :]


STATE = pytest.StashKey["Judge"]()


def extra(config: pytest.Config) -> dict[str, Any]:
    """What ``run_tests(config=…)`` sent along for other plugins in this child."""
    return config.stash[STATE].setup["extra"]  # type: ignore[no-any-return]


def prepared() -> dict[str, Any]:
    """The child's set-up before there is a configured pytest: between option parsing and ``pytest_configure``."""
    return _PREPARED[-1][0]


def send(config: pytest.Config, message: dict[str, Any]) -> None:
    """Send a message of another plugin in this child to ``run_tests(on_message=…)``; JSON types only."""
    config.stash[STATE].channel.send({"is": "extra", "data": message})


class Judge(Watch):
    """Selects the asked tests, reports each phase, and says where the project's modules came from."""

    def __init__(
        self, config: pytest.Config, setup: dict[str, Any], channel: Channel, integrity: Integrity, counter: Counter
    ) -> None:
        super().__init__(config)
        self.counter = counter
        self.setup = setup
        self.channel = channel
        self.asked: frozenset[str] | None = None if setup["nodeids"] is None else frozenset(setup["nodeids"])
        self.integrity = integrity

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if self.asked is not None:
            asked = self.asked
            items[:] = [item for item in items if _wanted(item.nodeid, asked)]
        for item in items:
            if item.nodeid in self.setup["watched"]:
                self.integrity.collected(item)
        self.channel.send({"is": "collected", "nodeids": [item.nodeid for item in items]})

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.channel.send({"is": "deselected", "nodeids": [item.nodeid for item in items]})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._send_report(report, "collect")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.counter.start()
        self.integrity.watching = item.nodeid in self.setup["watched"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        # Not earlier: its fixtures may run the code under test.
        if item.nodeid in self.setup["watched"] and not self.integrity.called(item):
            self.channel.send({"is": "tampered", "words": f"the code of {item.nodeid} is not what its file says"})

    def log(self, report: pytest.TestReport) -> None:
        self._send_report(report, report.when or "call")

    def _send_report(self, report: Any, phase: str) -> None:
        message: dict[str, Any] = {
            "is": "report",
            "nodeid": report.nodeid,
            "when": phase,
            "outcome": report.outcome,
            "xfail": hasattr(report, "wasxfail"),
            "duration": float(getattr(report, "duration", 0.0)),
            "assertions": self.counter.count,
        }
        if report.failed:
            failure = capture.detach(report, self.config.rootpath)
            message["failure"] = failure.to_dict()
        self.channel.send(message)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.channel.send({"is": "modules", "outside": outside(self.setup["original"], self.setup["copy"])})
        altered = self.integrity.altered(self.config)
        self.channel.send({"is": "finished", "exitstatus": int(exitstatus), "altered": altered})
        if self.setup["alone"]:
            # Nobody reads the summaries that pytest and its plugins write now, and they may take longer than the tests.
            # What was started is stopped all the same.
            self.config._ensure_unconfigure()
            atexit._run_exitfuncs()
            os._exit(int(exitstatus))


def _wanted(nodeid: str, asked: frozenset[str]) -> bool:
    return nodeid in asked or nodeid.partition("::")[0] in asked


def outside(original: str, copy: str) -> list[str]:
    """Files of the user's tree that were imported although the copy was to be tested."""
    if original == copy:
        return []  # the copy is bound over the original: there is no outside
    found = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == __name__.partition(".")[0]:
            continue  # this plugin itself, when it is installed from a checkout
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.startswith(original + os.sep) and not path.startswith(copy + os.sep):
            relative = path[len(original) + 1 :]
            if not any(part in Path(relative).parts for part in ("site-packages", "dist-packages")):
                found.append(relative.replace(os.sep, "/"))
    return sorted(set(found))


def redirect_editable_finders(original: str, copy: str) -> None:
    """Point the finders of editable installs (setuptools' and others' ``MAPPING``) from the user's tree to the copy."""

    def moved(path: Any) -> Any:
        if isinstance(path, str) and (path == original or path.startswith(original + os.sep)):
            return copy + path[len(original) :]
        return [moved(entry) for entry in path] if isinstance(path, list) else path

    for finder in list(sys.meta_path):
        module = sys.modules.get(getattr(finder, "__module__", "") or "")
        for name in ("MAPPING", "NAMESPACES"):
            mapping = getattr(module, name, None) if module is not None and module is not sys else None
            if isinstance(mapping, dict):
                for key, value in list(mapping.items()):
                    mapping[key] = moved(value)
    sys.path[:] = [moved(entry) for entry in sys.path]


@pytest.hookimpl(tryfirst=True)
def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    # The earliest hook of a -p plugin; the config object does not exist as an argument yet, so it is kept here.
    setup_path = os.environ.pop(CONFIG_VARIABLE, "")
    fd = os.environ.pop(CHANNEL_VARIABLE, "")
    if not setup_path or not fd:
        raise pytest.UsageError("pytest_selfheal.judge.child is for children of --selfheal only.")
    setup = json.loads(Path(setup_path).read_text("ascii"))
    Path(setup_path).unlink()  # it names the nonce
    die_with_parent()
    apply_limits(**setup["limits"])
    if setup["fence"]:
        fence.build(setup["fence"])
    _FDS.append(int(fd))
    counter = Counter()
    _PREPARED.append((setup, Channel(int(fd), setup["nonce"]), Integrity(), counter))
    if setup["original"] != setup["copy"]:
        redirect_editable_finders(setup["original"], setup["copy"])


_PREPARED: list[tuple[dict[str, Any], Channel, Integrity, Counter]] = []
_FDS: list[int] = []


def channel_fds() -> tuple[int, ...]:
    """Descriptors of the result channel, which a fork that runs somebody's code has to close first."""
    return tuple(_FDS)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    # Other plugins are imported by now; what they are is not part of the copy.
    setup = prepared()
    for name in setup["imports"]:
        importlib.import_module(name)
    if setup["keep_bytecode"]:
        bytecode.keep(setup["copy"])


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    setup, channel, integrity, counter = _PREPARED.pop()
    judge = Judge(config, setup, channel, integrity, counter)
    config.stash[STATE] = judge
    config.pluginmanager.register(judge, "selfheal-judge")
    if setup["control"]:
        control = Control(setup["control"], setup["token"], channel.send)
        config.pluginmanager.register(control, "selfheal-control")
    timeout = setup.get("test_timeout")
    if timeout is not None and config.pluginmanager.hasplugin("timeout"):
        config.option.timeout = timeout
