"""Once single causes are done: which of them were one and the same, and whether their patches hold as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from pytest_selfheal.join import join
from pytest_selfheal.results import Results
from pytest_selfheal.rounds import Tools
from pytest_selfheal.together import Together
from pytest_selfheal.types import Outcome

GIVEN_UP = ("no_candidate", "attempts_exhausted", "guarded")
"""Reasons of causes that the patch of another one may repair."""


class Settling:
    """The last stages of one run. ``tools.deadline`` is the end of the run: the time of single causes is over."""

    def __init__(self, results: Results, tools: Tools, note: Callable[[str], None]) -> None:
        self._results = results
        self._tools = tools
        self._together = Together(tools, tools.event, note, tools.deadline)

    def join_given_up(self) -> None:
        """A cause that was given up before the patch of another one was found may be repaired by it."""
        self._join([outcome for outcome in self._results.all() if outcome.reason in GIVEN_UP])

    def look_together(self) -> str | None:
        """``all.patch`` is a claim of its own: verify the healed patches as a whole, and drop what does not go with the rest.

        A sentence where what cannot be dropped does not hold.
        """
        results, together = self._results, self._together
        broken, apart = together.look(results.healed())
        if broken or apart:
            # Patches that do not go together may be repairs of one cause, found from two sides.
            known = len(results)
            self._join(results.whole())
            if len(results) < known:
                broken, _ = together.look(results.healed())
        for outcome in together.withdrawn(results.whole()) if broken else ():
            results.take_back(outcome.diagnosis.id)
            results.write(outcome)
        # A patch of the second wave stands on another one, so that neither can be withdrawn alone.
        if not broken or not any(outcome.includes for outcome in results.healed()):
            return None
        left, _ = together.look(results.healed())
        more = f" and {len(left) - 1} more fail" if len(left) > 1 else " fails"
        words = f"{left[0]}{more}. Apply them one by one and run the tests after each." if left else ""
        return f"Applied together, the patches do not hold: {words}" if words else None

    def _join(self, outcomes: Iterable[Outcome]) -> None:
        """Join finished causes to those whose patch repairs them too; what was written of them goes."""
        left = {outcome.diagnosis.id: outcome.diagnosis for outcome in outcomes}
        for each in self._results.all():
            key = each.diagnosis.id
            outcome = self._results.get(key)
            others = [diagnosis for id, diagnosis in left.items() if id != key]
            if outcome is None or outcome.status != "healed" or not others or time.monotonic() > self._tools.deadline:
                continue
            merged, joined = join(outcome, others, self._tools)
            for other in joined:
                del left[other.id]
                self._results.take_back(other.id)
                self._results.joined.add(other.id)
            if joined:
                merged = self._results.write(merged)
                if key in left:
                    left[key] = merged.diagnosis
