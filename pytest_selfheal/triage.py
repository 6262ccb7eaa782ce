"""Reasons to stop before a second or a cent is spent on a cause: what is missing, what is wrong in the test, what was never written."""

from __future__ import annotations

import ast
import contextlib
import threading
from pathlib import Path

from pytest_selfheal import doubt, parsing, stub
from pytest_selfheal.diagnose import missing_fixture, missing_package, missing_service
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.types import Diagnosis, Failure, Outcome, StopReason

NOBODYS_FAULT = ("flaky", "not_reproduced", "environment", "test_suspect", "interrupted")
"""Reasons for which no patch should be expected: skipped rather than unhealed."""


def closed(diagnosis: Diagnosis, reason: StopReason, words: str) -> Outcome:
    """The outcome of a cause on which nobody works."""
    return Outcome(
        diagnosis=diagnosis,
        status="skipped" if reason in NOBODYS_FAULT else "unhealed",
        reason=reason,
        words=words,
    )


class Triage:
    """Reads the sources of each workshop's pristine copy once."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
        self._doubts: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def before(self, diagnosis: Diagnosis, workshop: Workshop) -> Outcome | None:
        """Reasons to stop before a second or a cent is spent."""
        failure = diagnosis.failure
        sources, tests = self._sources(workshop)
        if package := missing_package(failure, [_module(path) for path in (*sources, *tests)]):
            return closed(
                diagnosis,
                "environment",
                f"The package {package!r} is not installed; install it, no edit should fake it.",
            )
        if why := missing_service(failure):
            return closed(diagnosis, "environment", f"{why[0].upper()}{why[1:]}.")
        if lacking := missing_fixture(failure):
            name, meant = lacking
            if meant:
                words = f"The test asks for a fixture {name!r} that does not exist; {meant!r} does."
                return closed(diagnosis, "test_suspect", words)
            words = f"No conftest and no installed plugin provides the fixture {name!r}; install the plugin that does."
            return closed(diagnosis, "environment", words)
        signals = self._signals(failure, workshop)
        if len(signals) >= doubt.ENOUGH:
            outcome = closed(diagnosis, "test_suspect", "Several signs say that the test is wrong, not the code.")
            return outcome.but(evidence=signals)
        return None

    def stub(self, diagnosis: Diagnosis, workshop: Workshop) -> str | None:
        """The function that was never written, when that is what fails."""
        sources, tests = self._sources(workshop)
        failure = diagnosis.failure
        return stub.find_stub(failure, sources, _function_source(failure, tests.get(failure.path, "")))

    def after(self, outcome: Outcome, workshop: Workshop) -> Outcome:
        """A sign that the test is wrong weighs more once no change was found that suits all tests."""
        if outcome.reason not in ("no_candidate", "attempts_exhausted"):
            return outcome
        signs = self._signals(outcome.diagnosis.failure, workshop)
        if not signs:
            return outcome
        tried = max(outcome.candidates_tried, len(outcome.attempts))
        signs += (f"none of {tried} changes to the code satisfies this test and the others",)
        words = "Several signs say that the test is wrong, not the code."
        return outcome.but(status="skipped", reason="test_suspect", words=words, evidence=signs)

    def _signals(self, failure: Failure, workshop: Workshop) -> tuple[str, ...]:
        """See :func:`.doubt.signals`; asked once of what is the same failure."""
        key = str(workshop.folder), failure.nodeid, failure.signature
        if key not in self._doubts:
            sources, tests = self._sources(workshop)
            self._doubts[key] = doubt.signals(failure, tests, sources, workshop.project.outcomes)
        return self._doubts[key]

    def _sources(self, workshop: Workshop) -> tuple[dict[str, str], dict[str, str]]:
        """Text of all Python files below rootdir (paths relative to it): code under test, and tests."""
        key, project = str(workshop.folder), workshop.project
        with self._lock:
            if key not in self._texts:
                code: dict[str, str] = {}
                tests: dict[str, str] = {}
                root = workshop.pristine.rootdir
                for path in sorted(root.rglob("*.py")):
                    name = path.relative_to(root).as_posix()
                    with contextlib.suppress(OSError):
                        text = path.read_bytes().decode("utf-8", "replace")
                        (tests if project.is_test_file(project.from_top(name)) else code)[name] = text
                self._texts[key] = (code, tests)
            return self._texts[key]


def _module(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("src", "lib", "__init__"))


def _function_source(failure: Failure, text: str) -> str:
    """The failing test's own function, so that stubs called by other tests of the file do not count."""
    name = failure.nodeid.rpartition("::")[2].partition("[")[0]
    try:
        tree = parsing.parse(text)
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return ast.unparse(node)
    return ""
