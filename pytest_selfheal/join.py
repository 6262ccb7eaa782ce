"""Causes that only looked different: what one healed patch repairs as well is one cause, one repair, one bill.

The other failures also tell plausible patches apart: an alternative that repairs more of them than the chosen patch does
takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.guard import review
from pytest_selfheal.judge.along import comes_into_question
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.verify import verify
from pytest_selfheal.rounds import Tools
from pytest_selfheal.types import Alternative, Diagnosis, Outcome, Patch, Usage, lower

MAX_ALTERNATIVES = 3


def join(healed: Outcome, others: Iterable[Diagnosis], tools: Tools) -> tuple[Outcome, tuple[Diagnosis, ...]]:
    """The outcome with the failures of all ``others`` that its patch repairs too, and which these are.

    One run for each plausible patch tells who comes into question; these are then verified like any patch's failing
    tests. What a run of tests cannot show cheaply (endless tests, modules that do not collect) stays apart.
    """
    if healed.patch is None or healed.verdict is None:
        return healed, ()
    asked = [other for other in others if comes_into_question(other, healed.patch.paths, tools.affected)]
    if not asked:
        return healed, ()
    try:
        # Some were run along when the patch was verified.
        verified = tuple(other for other in asked if other.id in healed.verdict.repaired)
        left = [other for other in asked if other.id not in healed.verdict.asked]
        best, joined = healed.patch, (*verified, *(_repaired(healed.patch, left, tools) if left else ()))
        for patch in _alternatives(healed.patch):
            if len(joined) == len(asked):
                break
            also = _repaired(patch, asked, tools)
            if len(also) > len(joined):
                best, joined = patch, also
        if not joined:
            return healed, ()
        if best is healed.patch and joined == verified:
            return _taken_along(healed, joined, tools)
        return _verified(healed, best, joined, tools)
    except SelfhealError:
        return healed, ()  # the patch stands as it was verified; the others are worked on by themselves


def _alternatives(patch: Patch) -> Iterator[Patch]:
    """The patches that were plausible as well, each with the chosen one among its alternatives."""
    for index, chosen in enumerate(patch.alternatives[:MAX_ALTERNATIVES]):
        others = tuple(other for n, other in enumerate(patch.alternatives) if n != index)
        yield replace(
            patch,
            changes=chosen.changes,
            description=chosen.description,
            alternatives=(Alternative(patch.changes, patch.description, chosen.distinguishing_input), *others),
            note="",
            usage=Usage(),
        )


def _repaired(patch: Patch, others: Sequence[Diagnosis], tools: Tools) -> tuple[Diagnosis, ...]:
    nodeids = [nodeid for other in others for nodeid in other.nodeids]
    with tools.workshop.fresh(patch.changes) as workspace:
        run = run_tests(tools.workshop, workspace, nodeids, stop=tools.stop)
    if run.tampered or run.outside or not run.finished:
        return ()
    return tuple(other for other in others if all(run.outcomes.get(n) == "passed" for n in other.nodeids))


def _together(healed: Outcome, joined: Sequence[Diagnosis]) -> Diagnosis:
    failures = [failure for other in joined for failure in other.failures]
    return replace(healed.diagnosis, failures=(*healed.diagnosis.failures, *failures))


def _taken_along(healed: Outcome, joined: tuple[Diagnosis, ...], tools: Tools) -> tuple[Outcome, tuple[Diagnosis, ...]]:
    """The outcome with causes that were verified when it was: only the guards have not seen their tests yet."""
    assert healed.patch is not None
    assert healed.verdict is not None
    together = _together(healed, joined)
    checked = review(healed.patch, together, tools.settings)
    if checked.reason or tools.hooks.guard(healed.patch, together):
        return healed, ()
    passing = dict.fromkeys((*healed.verdict.failing_now_pass, *(n for other in joined for n in other.nodeids)))
    return healed.but(
        diagnosis=together,
        verdict=replace(healed.verdict, failing_now_pass=tuple(passing), guards=checked.passed),
        confidence="low" if checked.caution else healed.confidence,
    ), joined


def _verified(
    healed: Outcome, patch: Patch, joined: tuple[Diagnosis, ...], tools: Tools
) -> tuple[Outcome, tuple[Diagnosis, ...]]:
    from pytest_selfheal.record.patch import make_diff

    assert healed.verdict is not None
    together = _together(healed, joined)
    checked = review(patch, together, tools.settings)
    if checked.reason or tools.hooks.guard(patch, together):
        return healed, ()
    affected = tools.affected.of(patch.paths, together.nodeids, patch.changes)
    verdict = verify(tools.workshop, patch, together, affected, deadline=tools.deadline)
    if verdict.kind != "healed":
        return healed, ()
    confidence = "low" if checked.caution else lower(patch.confidence, verdict.confidence)
    return healed.but(
        diagnosis=together,
        patch=patch,
        words=patch.description,
        diff=make_diff(patch.changes).decode("utf-8", "replace"),
        verdict=replace(verdict, guards=checked.passed),
        confidence=confidence if healed.confidence is None else lower(confidence, healed.confidence),
    ), joined
