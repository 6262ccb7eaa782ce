"""Whether the healed patches hold as a whole: each was verified alone, and what alone is right may not be right together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from pytest_selfheal.judge.repeats import is_as_before
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.rounds import Tools
from pytest_selfheal.triage import closed
from pytest_selfheal.types import Outcome


class Together:
    """Looks at the patches of one run. ``deadline`` is a ``time.monotonic()`` value; later, nothing is run any more."""

    def __init__(
        self, tools: Tools, event: Callable[..., object], note: Callable[[str], None], deadline: float
    ) -> None:
        self._tools = tools
        self._event = event
        self._note = note
        self._deadline = deadline

    def look(self, healed: Sequence[Outcome]) -> tuple[list[str], list[str]]:
        """Tests that all patches together leave or make failing, and the causes whose patches conflict with an earlier one's.

        Without time to run them, the tests of patches that change one file count as failing: nobody knows. So do all when
        the run does not come to its end.
        """
        from pytest_selfheal.record.report import all_changes

        if len(healed) < 2:
            return [], []
        changes, apart = all_changes(healed)
        merged = [outcome for outcome in healed if outcome.diagnosis.id not in apart]
        wanted = [n for outcome in merged for n in (outcome.verdict.failing_now_pass if outcome.verdict else ())]
        if self._late:
            touched = [path for outcome in merged if not outcome.includes for path in _paths(outcome)]
            return (wanted if len(set(touched)) < len(touched) else []), apart
        self._note("checking all patches together")
        affected = self._tools.affected.of([change.path for change in changes], wanted, changes)
        workshop = self._tools.workshop
        with workshop.fresh(changes) as workspace:
            result = run_tests(workshop, workspace, [*wanted, *affected.nodeids])
        if not result.finished:
            return wanted, apart
        before = {**workshop.project.outcomes, **dict.fromkeys(wanted, "passed")}
        broken = [n for n in (*wanted, *affected.nodeids) if not is_as_before(before.get(n), result.outcomes.get(n))]
        others = [nodeid for nodeid in broken if nodeid not in wanted]
        alone = workshop.unpatched(others) if others else {}
        broken = [n for n in broken if n not in alone or is_as_before(before.get(n), alone[n])]
        self._event("together", patches=len(healed), tests=len(result.outcomes), broken=broken)
        return broken, apart

    def withdrawn(self, whole: Sequence[Outcome]) -> Iterator[Outcome]:
        """The causes, as unhealed ones, whose patch does not go with those before it, or may not for all that is known."""
        kept: list[Outcome] = []
        for outcome in sorted(whole, key=lambda outcome: outcome.diagnosis.id):
            same_file = [other for other in kept if not _paths(other).isdisjoint(_paths(outcome))]
            if kept and self.look([*kept, outcome])[0]:
                yield _unhealed(outcome, (same_file or kept)[0], self._late)
            else:
                kept.append(outcome)

    @property
    def _late(self) -> bool:
        return time.monotonic() > self._deadline


def _paths(outcome: Outcome) -> frozenset[str]:
    return frozenset(change.path for change in outcome.patch.changes) if outcome.patch is not None else frozenset()


def _unhealed(outcome: Outcome, other: Outcome, late: bool) -> Outcome:
    words = (
        f"A patch was found, but no time was left to check it together with that of {other.diagnosis.id}: "
        "run again once that one is applied."
        if late
        else f"A patch was found that heals it alone, but it does not hold together with that of {other.diagnosis.id}: "
        "run again once that one is applied."
    )
    return closed(outcome.diagnosis, "time_limit" if late else "attempts_exhausted", words).but(
        attempts=outcome.attempts,
        usage=outcome.usage,
        critic_usage=outcome.critic_usage,
        candidates_tried=outcome.candidates_tried,
        cpu_seconds=outcome.cpu_seconds,
    )
