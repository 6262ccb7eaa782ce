"""How often the failures of a run are seen again: once by all, before anybody works on them, then beside the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_selfheal.judge.reproduce import Confirmation, Reproduced, Reproduction, flickering
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.types import Failure


class Sightings:
    """What was seen of the failures so far. Failures that an earlier run has seen in this very code are spared the rest.

    Made of :class:`.Reproduction` and :class:`.Confirmation`: this one knows who is looked at how often.
    """

    def __init__(self, workshop: Workshop, failures: Sequence[Failure]) -> None:
        self._workshop = workshop
        self._seen = Reproduction(workshop, failures)
        self._spared = Reproduction(workshop, ())
        self._confirmation: Confirmation | None = None

    def look(self) -> list[Failure]:
        """Look at all failures once; those that have come again, as the sandbox shows them."""
        self._seen.look(1)
        return self._seen.there()

    def confirm(self, spared: Iterable[str]) -> None:
        """Look as often as the settings say, but for the tests in ``spared``; in the background where children cannot meet."""
        self._spared = self._seen.split(spared)
        self._confirmation = Confirmation(self._seen, self._workshop.settings.repeats - 1, self._workshop)

    def hold(self, failures: Iterable[Failure]) -> bool:
        """Wait for the other sightings; whether these failures, as the first one has shown them, came again each time.

        A test may have several failures, of which one comes and goes.
        """
        if self._confirmation is None:
            return True
        return self._confirmation.flickering().isdisjoint(failure.key for failure in failures)

    def result(self) -> tuple[Reproduced, ...]:
        """What became of each failure that was not spared."""
        return self._confirmation.result() if self._confirmation is not None else ()

    def look_at_spared(self, nodeids: Iterable[str]) -> tuple[frozenset[tuple[str, str]], list[Reproduced]]:
        """Look at these tests as often as at any after all; what did not come again each time, by key and in words."""
        spared = self._spared.split(nodeids)
        before = spared.so_far()
        spared.look(self._workshop.settings.repeats - 1)
        now = spared.sum_up()
        return flickering(before, now), [each for each in now if each.reason is not None]
