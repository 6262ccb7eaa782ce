"""Judge a candidate by importing the project anew with it: for what a swap of code objects cannot carry."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.files import Files
from pytest_selfheal.propose.search.fork import Usage
from pytest_selfheal.propose.search.slow import Order, Result, Zygote

FAILING_SECONDS, PASSING_SECONDS = 10.0, 30.0
"""Wall seconds that one candidate's tests may take beside what they took unpatched."""


class FreshImport:
    """Runs the failing tests, and then the passing ones, in a fork of the zygote."""

    def __init__(
        self,
        zygote: Zygote,
        files: Files,
        rootdir: str,
        failing: Sequence[str],
        passing: Sequence[str],
        others: Sequence[str],
        arguments: Sequence[str],
        basetemp: str,
        usage: Usage,
        wall: float,
    ) -> None:
        """``arguments`` is this process's own pytest command line; ``wall`` what the failing tests take unpatched."""
        self._zygote = zygote
        self._files = files
        self._rootdir = rootdir
        self._failing = tuple(failing)
        self._passing = tuple(passing)
        self._others = tuple(others)
        self._arguments = (*without_the_engine(arguments), f"--basetemp={basetemp}")
        self._usage = usage
        self._wall = wall
        self._warm = False

    def __call__(self, candidate: Candidate) -> bool:
        """Whether the failing tests pass with the candidate, and the passing ones still do."""
        if not self._warm:
            self._warm = True
            self._zygote.warm(self._third_party())
        try:
            content = self._files.after(candidate)
        except UnicodeEncodeError:
            return False
        for nodeids, seconds in ((self._failing, FAILING_SECONDS), (self._passing, PASSING_SECONDS)):
            if nodeids and not all_pass(nodeids, self._run(candidate.path, content, nodeids, seconds, True)):
                return False
        return True

    def repairs(self, candidate: Candidate) -> float:
        """Which share of the tests that fail by what may be another cause pass with the candidate.

        Of a file that can be collected at last, every test is one of them.
        """
        nodeids = (*(nodeid for nodeid in self._failing if "::" not in nodeid), *self._others)
        if not nodeids:
            return 0.0
        result = self._run(candidate.path, self._files.after(candidate), nodeids, PASSING_SECONDS, False)
        asked = {*self._others, *result.collected}
        return sum(result.outcomes.get(nodeid) == "passed" for nodeid in asked) / max(len(asked), 1)

    def _run(self, path: str, content: bytes, nodeids: tuple[str, ...], seconds: float, first_failure: bool) -> Result:
        names = dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids)
        files = [os.path.join(self._rootdir, name) for name in names]  # noqa: PTH118
        arguments = (*self._arguments, *files)
        order = Order(self._files.absolute(path), content, nodeids, arguments, seconds + 5 * self._wall, first_failure)
        result = self._zygote.judge(order)
        self._usage.seconds += result.cpu
        return result

    def _third_party(self) -> list[str]:
        """Top-level modules that are loaded here and do not lie in the project."""
        found = []
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if "." not in name and isinstance(path, str):
                inside = os.path.realpath(path).startswith(self._files.top + os.sep)
                if not inside or "site-packages" in path:
                    found.append(name)
        return found


def without_the_engine(arguments: Sequence[str]) -> list[str]:
    """The command line without the judge, the engine, the chosen files and the temporary folder."""
    kept: list[str] = []
    i = 0
    while i < len(arguments):
        argument = str(arguments[i])
        if argument == "-p" and str(arguments[i + 1]).startswith("pytest_selfheal."):
            i += 2
            continue
        if not argument.startswith(("@", "--basetemp")):
            kept.append(argument)
        i += 1
    return kept


def all_pass(nodeids: Sequence[str], result: Result) -> bool:
    """A file (of a collection error) passes when it can be collected at all; a test when it passes."""
    for nodeid in nodeids:
        if "::" in nodeid:
            if result.outcomes.get(nodeid) != "passed":
                return False
        elif result.outcomes.get(nodeid) == "error" or not any(c.startswith(f"{nodeid}::") for c in result.collected):
            return False
    return True
