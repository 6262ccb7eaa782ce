"""See the failures again, unpatched, in the sandbox, before anybody works on them."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_selfheal.judge.assertions import COUNTING
from pytest_selfheal.judge.run import ChildRun, run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.types import Failure, StopReason

Sighting = Literal["reproduced", "flaky", "not_reproduced", "environment", "infrastructure"]

MANY = 50
"""Failing tests that are all run as often as the settings say; describing each failure takes far longer than the test."""

GONE = (
    "failed in your run and passes alone in a copy of the project; "
    "it may depend on other tests, on their order, or on files that git ignores."
)
FLICKERS = "failed in your run and passed at once when it was run again without any change."


@dataclass(frozen=True)
class Reproduced:
    """What became of one failure when it was looked at again."""

    failure: Failure
    """As the sandbox shows it, where it was reproduced."""
    reason: StopReason | None
    """Why nobody should work on it; ``None``: it is there, each time and the same."""
    words: str = ""


def reproduce(workshop: Workshop, failures: Sequence[Failure]) -> tuple[Reproduced, ...]:
    """Run the failing tests ``settings.repeats`` times; one fresh interpreter for all of them each time.

    They share a temporary folder, so that a test that keeps state outside the project flickers as it does at home. A
    test that ran into its time limit twice (in the user's run and here) is not made to do so again; of more than
    :data:`MANY` failing tests, all are seen once more, and a part of them, of as many functions as there are, each time.
    """
    seen = Reproduction(workshop, failures)
    seen.look(workshop.settings.repeats)
    return seen.sum_up()


class Reproduction:
    """The sightings of some failures, which may be summed up before all of them were made."""

    def __init__(self, workshop: Workshop, failures: Sequence[Failure]) -> None:
        self._workshop = workshop
        self._failures = failures
        self._sightings: dict[str, list[tuple[str, tuple[Failure, ...]]]] = defaultdict(list)
        self._pending = list(dict.fromkeys(failure.nodeid for failure in failures))
        self._slow = {failure.nodeid for failure in failures if _is_timeout(failure)}
        self._trouble: tuple[StopReason, str] | None = None

    def look(self, times: int) -> None:
        """Run the tests so many times more, as far as there is anything left to see."""
        for _ in range(times):
            if not self._pending or self._trouble is not None:
                return
            self._look_once()

    def _look_once(self) -> None:
        workshop, pending = self._workshop, self._pending
        run = run_tests(
            workshop,
            workshop.pristine,
            pending,
            tmp=workshop.shared_tmp,
            arguments=COUNTING,
            watched=pending,
            keep_bytecode=not self._sightings,
        )
        for nodeid, count in run.assertions.items():
            workshop.assertions[nodeid] = min(count, workshop.assertions.get(nodeid, count))
        if run.timed_out and time.monotonic() > workshop.deadline:
            words = "the time of this run was used up before the failure was seen again; raise --selfheal-total-time."
            self._trouble = "time_limit", words
            return
        self._trouble = _trouble(run)
        for nodeid in pending:
            found = tuple(failure for failure in run.failures if failure.nodeid == nodeid)
            self._sightings[nodeid].append((run.outcomes.get(nodeid, "missing"), found))
        # What passed once is flaky or gone already; what timed out again has been seen often enough.
        pending = [nodeid for nodeid in pending if self._is_worth_another_look(nodeid)]
        if len(pending) > MANY:
            firsts = {nodeid.partition("[")[0]: nodeid for nodeid in reversed(pending)}.values()
            pending = list(dict.fromkeys((*reversed(firsts), *pending)))[:MANY]
        self._pending = pending

    def _is_worth_another_look(self, nodeid: str) -> bool:
        found = self._sightings[nodeid][-1][1]
        return bool(found) and not (nodeid in self._slow and all(map(_is_timeout, found)))

    def split(self, nodeids: Iterable[str]) -> Reproduction:
        """Take the failures of these tests out, with what was seen of them: to be looked at on their own, or no more."""
        asked = frozenset(nodeids)
        other = Reproduction(self._workshop, [failure for failure in self._failures if failure.nodeid in asked])
        other._sightings.update({nodeid: self._sightings.pop(nodeid) for nodeid in other._pending})
        other._pending = [nodeid for nodeid in other._pending if other._is_worth_another_look(nodeid)]
        self._failures = [failure for failure in self._failures if failure.nodeid not in asked]
        self._pending = [nodeid for nodeid in self._pending if nodeid not in asked]
        return other

    def so_far(self) -> tuple[Reproduced, ...]:
        """What became of each failure by what was seen, in the order of the failures."""
        if self._trouble is not None:
            return tuple(Reproduced(failure, *self._trouble) for failure in self._failures)
        sandbox = self._workshop.sandbox.name
        return tuple(_sum_up(failure, self._sightings[failure.nodeid], sandbox) for failure in self._failures)

    def there(self) -> list[Failure]:
        """The failures that have come again each time so far, as the sandbox shows them."""
        return [each.failure for each in self.so_far() if each.reason is None]

    def sum_up(self) -> tuple[Reproduced, ...]:
        """As :meth:`so_far`, once all was seen. A failure that is gone is run twice more: it may come and go."""
        return tuple(
            Reproduced(each.failure, "flaky", FLICKERS)
            if each.words == GONE and _keeps_state(each.failure, self._workshop)
            else each
            for each in self.so_far()
        )


class Confirmation:
    """The other sightings of failures that were seen once: made while others search already, where children cannot meet."""

    def __init__(self, seen: Reproduction, times: int, workshop: Workshop) -> None:
        self._seen = seen
        self._times = times
        self._error: BaseException | None = None
        self._all: tuple[Reproduced, ...] = ()
        self._first = seen.so_far()
        self._thread = threading.Thread(target=self._look, name="selfheal-reproduce", daemon=True)
        self._thread.start()
        if not workshop.sandbox.apart or (os.cpu_count() or 1) < 2:
            self._thread.join()

    def _look(self) -> None:
        try:
            self._seen.look(self._times)
            self._all = self._seen.sum_up()
        except BaseException as error:  # raised again where somebody asks
            self._error = error

    def result(self) -> tuple[Reproduced, ...]:
        """What all sightings say, once they have been made."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._all

    def flickering(self) -> frozenset[tuple[str, str]]:
        """See :func:`flickering`, once the other sightings have been made."""
        return flickering(self._first, self.result())


def flickering(first: Sequence[Reproduced], now: Sequence[Reproduced]) -> frozenset[tuple[str, str]]:
    """:attr:`.Failure.key` of what was there at ``first``, as it was shown there, and did not come again each time.

    Both are of the same failures in the same order. What was taken for two of them, of which one came again, is there.
    """
    pairs = [(was.failure.key, became.reason) for was, became in zip(first, now, strict=True) if was.reason is None]
    return frozenset(key for key, reason in pairs if reason) - {key for key, reason in pairs if not reason}


def _trouble(run: ChildRun) -> tuple[StopReason, str] | None:
    if run.outside:
        return (
            "infrastructure",
            f"the copy's tests import {run.outside[0]} from your working tree, so a patch in the copy could not be judged; "
            "run pytest from an environment where the project is not installed in that way, or use the bwrap sandbox.",
        )
    if not run.finished and not run.outcomes:
        lines = [line for line in run.output.strip().splitlines() if line.strip()]
        last = next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "no output")
        return ("infrastructure", f"the tests could not be run in a copy of the project: {last.strip()[:300]}")
    return None


def _sum_up(failure: Failure, seen: Sequence[tuple[str, tuple[Failure, ...]]], sandbox: str) -> Reproduced:
    failed = [found for _, found in seen if found]
    if len(failed) < len(seen):
        passes = sum(outcome in ("passed", "xfailed", "skipped") for outcome, _ in seen)
        if failed:
            return Reproduced(
                failure,
                "flaky",
                f"passes and fails without any change ({len(failed)} of {len(seen)} runs failed); "
                "make the test independent of time, order and what earlier runs left behind.",
            )
        if passes:
            return Reproduced(failure, "not_reproduced", GONE)
        return Reproduced(
            failure, "not_reproduced", "was not found when its file was run alone in a copy of the project."
        )
    like = [max(found, key=lambda f: (f.phase == failure.phase, _loose(f) == _loose(failure))) for found in failed]
    places = {_loose(each) for each in like}
    if len(places) > 1:
        return Reproduced(failure, "flaky", f"fails in {len(places)} different ways without any change.")
    here = like[0]
    if _loose(here) != _loose(failure) and here.exception != failure.exception:
        hint = (
            "if the test needs a service on this machine try the ini key selfheal_network = host, "
            "if it needs files or sockets outside the project name them in selfheal_binds."
            if sandbox == "bwrap"
            else "it may need files that git ignores."
        )
        shown = f"{here.exception}: {_first_line(here.message)}"
        how = (
            f"its teardown fails in your run and not in a copy of the project, where only the test itself does ({shown})"
            if (failure.phase, here.phase) == ("teardown", "call")
            else f"fails differently in a copy of the project ({shown})"
        )
        return Reproduced(
            failure,
            "not_reproduced",
            f"{how}; {hint} "
            "A variable that looks like a credential reaches tests only when selfheal_pass_env names it.",
        )
    return Reproduced(replace(here, nodeid=failure.nodeid), None)


def _keeps_state(failure: Failure, workshop: Workshop) -> bool:
    """Run the test twice more: one that alternates through files shows it when it is asked again and again."""
    outcomes = [
        run_tests(workshop, workshop.pristine, [failure.nodeid], tmp=workshop.shared_tmp).outcomes.get(failure.nodeid)
        for _ in range(2)
    ]
    return "failed" in outcomes or "error" in outcomes


def _loose(failure: Failure) -> tuple[str, str, int]:
    """What must agree between sightings: the message may hold an address, a time, the order of a set."""
    place = failure.innermost
    if _is_timeout(failure) or place is None:
        return (failure.exception, "", 0)
    return (failure.exception, place.path, place.line)


def _is_timeout(failure: Failure) -> bool:
    return failure.exception == "Failed" and failure.message.startswith("Timeout ")


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:160]
