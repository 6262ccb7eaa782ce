"""The plugin object of a run with ``--selfheal`` or ``--generate-tests``: watches the tests, then hands over to the healer."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_selfheal.plugin import STARTED_WITH
from pytest_selfheal.settings import Settings

if TYPE_CHECKING:
    from pytest_selfheal.calls import CallRecorder, Calls
    from pytest_selfheal.types import Failure, RunReport


class Outcomes:
    """What became of each test, from the reports of its phases."""

    def __init__(self) -> None:
        self.by_nodeid: dict[str, str] = {}
        self.durations: dict[str, float] = {}

    def add(self, report: Any) -> None:
        nodeid, outcome = report.nodeid, report.outcome
        self.durations[nodeid] = self.durations.get(nodeid, 0.0) + float(getattr(report, "duration", 0.0))
        if hasattr(report, "wasxfail"):
            value = "xfailed" if report.skipped else "xpassed" if report.passed else "failed"
        elif outcome == "failed":
            value = "failed" if report.when == "call" else "error"
        elif outcome == "skipped":
            value = "skipped"
        elif outcome == "passed" and report.when == "call":
            value = "passed"
        else:
            return  # the setup and teardown of a passing test; a rerun, which another report will follow
        worse = ("error", "failed")
        if self.by_nodeid.get(nodeid) not in worse or value in worse:
            self.by_nodeid[nodeid] = value


class Watch:
    """Makes a :class:`Failure` of every failed report. Used in the user's run, in its xdist workers and in our children.

    A wrapper around makereport would cost every passing test; remembering the call does not. The exception is read when
    the report is logged: by then unittest's own hook has put it into the call.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._calls: dict[str, Any] = {}
        """The last call of each phase: other plugins make all reports of a test before they log one."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        self._calls[call.when] = call

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome == "failed":
            call = self._calls.pop(report.when, None)
            if call is not None and call.excinfo is not None:
                from pytest_selfheal import capture

                capture.attach(
                    report,
                    capture.from_exception(report.nodeid, report.when, call.excinfo, report, self.config.rootpath),
                )
        self.log(report)

    def log(self, report: Any) -> None:
        """Called with each report of a test, its failure attached."""

    @pytest.hookimpl
    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: Any, report: Any) -> None:
        if isinstance(report, pytest.CollectReport) and report.failed and call.excinfo is not None:
            from pytest_selfheal import capture

            capture.attach(
                report,
                capture.from_exception(report.nodeid, "collect", call.excinfo, report, self.config.rootpath),
            )


class SelfhealPlugin(Watch):
    """Collects failures; at the session's end heals on the controller, and prints what came of it."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        super().__init__(config)
        self.settings = settings
        self.is_worker = hasattr(config, "workerinput")
        self.outcomes = Outcomes()
        self.failed: list[tuple[Any, str]] = []
        self.report: RunReport | None = None
        self.refusal = ""
        self._set_test_timeout()
        self.calls = self._watch_calls()
        self._called: Calls | None = None

    def _set_test_timeout(self) -> None:
        """Give pytest-timeout our limit unless the project set its own."""
        from pytest_selfheal.project import has_own_timeout

        if not self.settings.selfheal or not self.config.pluginmanager.hasplugin("timeout"):
            return
        if not has_own_timeout(self.config):
            self.config.option.timeout = self.settings.test_timeout
            setattr(self.config, "_selfheal_timeout", True)  # noqa: B010 - an attribute that mypy need not know

    def _watch_calls(self) -> CallRecorder | None:
        from pytest_selfheal.calls import CallRecorder

        if not self.settings.selfheal:
            return None
        recorder = CallRecorder()
        if getattr(self.config.option, "dist", "no") != "no" and not self.is_worker:
            return recorder  # of what xdist's workers saw
        if not recorder.start():
            return None
        self.config.pluginmanager.register(recorder, "selfheal-calls")
        return recorder

    # ------------------------------------------------------------------ watching

    def log(self, report: Any) -> None:
        if self.is_worker:
            return
        self.outcomes.add(report)
        if report.failed:
            self.failed.append((report, report.when or "call"))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.is_worker:
            self.outcomes.by_nodeid[report.nodeid] = "error"
            self.failed.append((report, "collect"))

    def failures(self) -> list[Failure]:
        from pytest_selfheal import capture

        found: dict[str, Failure] = {}
        for report, _phase in self.failed:
            failure = capture.detach(report, self.config.rootpath)
            # xdist reports a broken module once per worker, subtests report one nodeid several times
            key = json.dumps([failure.nodeid, failure.phase, failure.signature])
            found.setdefault(key, failure)
        # pytest's sum after the failures of a test's subtests: what there is to heal has been said.
        told = {failure.nodeid for failure in found.values() if not _is_sum_of_subtests(failure)}
        return [failure for failure in found.values() if failure.nodeid not in told or not _is_sum_of_subtests(failure)]

    # ------------------------------------------------------------------ healing

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # First of all plain implementations, so that junitxml and others can still write what we add to them.
        calls = self._called = self.calls.stop() if self.calls is not None else None
        if self.is_worker:
            if calls is not None:
                self.config.workeroutput["selfheal_calls"] = calls.to_wire()  # type: ignore[attr-defined]
            return
        untested = int(exitstatus) == 5 and self.settings.generate_tests
        if int(exitstatus) not in (0, 1) and not untested and not (int(exitstatus) == 2 and self._broken_collection()):
            self.refusal = self._why_not(int(exitstatus))
            return
        if self.config.option.usepdb and self.failed:
            self.refusal = "not healing under --pdb; run again without it."
            return
        if not self.failed and not self.settings.generate_tests:
            return
        self._heal(session, int(exitstatus))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker of xdist tells at its end what its tests called."""
        wire = (getattr(node, "workeroutput", None) or {}).get("selfheal_calls")
        if wire is not None and self.calls is not None:
            self.calls.calls.add(wire)

    def _broken_collection(self) -> bool:
        """Exit 2 is Ctrl-C or a module that does not collect; only the latter is ours to mend."""
        return bool(self.failed) and not self._interrupted

    _interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # Pytest's own "Interrupted: 1 error during collection" is a subclass.
        self._interrupted = type(excinfo.value) is KeyboardInterrupt

    def _why_not(self, exitstatus: int) -> str:
        if self._interrupted:
            return "interrupted: nothing was healed and nothing was changed; run the same command again to start over."
        if exitstatus in (3, 4):
            return "pytest itself stopped with an error (see above), so nothing was healed."
        if exitstatus == 5:
            return "no test ran, so there is nothing to heal."
        return f"pytest stopped early (exit {exitstatus}), so nothing was healed."

    def _heal(self, session: pytest.Session, exitstatus: int) -> None:
        from pytest_selfheal.errors import SelfhealError
        from pytest_selfheal.healing import heal_run
        from pytest_selfheal.project import of_config
        from pytest_selfheal.record.consent import refusal

        capture_manager = self.config.pluginmanager.getplugin("capturemanager")
        if capture_manager is not None:
            capture_manager.suspend_global_capture(in_=True)
        try:
            self.refusal = refusal(self.settings, self.config)
            if self.refusal:
                return
            project = of_config(self.config, self.outcomes.by_nodeid, self.outcomes.durations, STARTED_WITH)
            project = replace(project, calls=self._called, fixtures=self._fixtures(session))
            # --generate-tests alone asks for tests, not for repairs.
            failures = self.failures() if self.settings.selfheal else []
            self.report = heal_run(failures, project, self.settings, config=self.config, exit_status=exitstatus)
            if self.report.stop == "interrupted":
                session.exitstatus = pytest.ExitCode.INTERRUPTED
        except SelfhealError as error:
            self.refusal = str(error)
        except KeyboardInterrupt:
            self.refusal = "interrupted: nothing was changed; run the same command again to start over."
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        except Exception as error:  # ours to answer for; the user's run must end as it would have
            if os.environ.get("SELFHEAL_DEBUG"):
                raise
            self.refusal = _internal(error)
        finally:
            if capture_manager is not None:
                # As pytest left it: standard input captured, output free. Captured, it would have no width any more.
                capture_manager.resume_global_capture()
                capture_manager.suspend_global_capture(in_=False)

    def _fixtures(self, session: pytest.Session) -> frozenset[str] | None:
        """Of all tests that ran; xdist's controller has none of them, and of a module that does not collect nobody knows."""
        if not {item.nodeid for item in session.items}.issuperset(self.outcomes.by_nodeid):
            return None
        try:
            return frozenset(str(name) for item in session.items for name in getattr(item, "fixturenames", None) or ())
        except Exception:  # an item of another plugin's own kind
            return None

    # ------------------------------------------------------------------ telling

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.is_worker:
            return
        if self.report is not None:
            from pytest_selfheal.record.terminal import summary

            summary(terminalreporter, self.report)
        elif self.refusal:
            terminalreporter.write_sep("=", "self-heal")
            terminalreporter.write_line(self.refusal)

    def pytest_unconfigure(self) -> None:
        if self.calls is not None:
            self.calls.stop()  # a session that never began has no end
        # Without a terminal reporter the reason still has to reach somebody.
        if self.refusal and not self.config.pluginmanager.hasplugin("terminalreporter") and not self.is_worker:
            sys.stderr.write(f"self-heal: {self.refusal}\n")


def _is_sum_of_subtests(failure: Failure) -> bool:
    return re.fullmatch(r"contains \d+ failed subtests?", failure.message.strip()) is not None


def _internal(error: Exception) -> str:
    import logging

    logging.getLogger("pytest_selfheal").debug("healing failed", exc_info=error)
    return (
        f"self-heal stopped by a fault of its own ({type(error).__name__}: {str(error)[:200]}); nothing was changed. "
        "Please report it with SELFHEAL_DEBUG=1 set."
    )
