"""Deciding on patches one by one, at a terminal: after a run (``--selfheal-review``) or later (``selfheal review``).

What was agreed to is written at the end, in one go; quitting writes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_selfheal.errors import RecordError, SelfhealError
from pytest_selfheal.record.consent import told, with_notes
from pytest_selfheal.record.journal import apply_patches, states
from pytest_selfheal.record.reload import reload
from pytest_selfheal.record.screen import Screen, screen_on
from pytest_selfheal.record.stored import StoredPatch, StoredRun

if TYPE_CHECKING:
    from pytest_selfheal.types import Outcome, RunReport

NO_TERMINAL = "review asks questions and needs a terminal: run 'selfheal review' in one, or use 'selfheal show' and 'selfheal apply'."
HELP = """y  yes: apply this patch at the end
n  no: reject it (a reason may follow)
e  edit the patched file in $EDITOR; the tests that failed are run on the result
a  yes to this one and to all that follow
s  skip this one and the rest: they stay undecided; what was agreed to is applied
q  quit: apply nothing, decide nothing
?  this help"""

MAX_REJECTIONS = 3
"""Patches of one cause that a person has to reject before no more are asked for."""

Ask = Callable[[str], str]
Again = Callable[["Outcome", str], "Outcome | None"]
"""Asks for another patch, with a person's reason against the last; ``None``: nobody can make one."""


def review_in_run(stored: StoredRun, report: RunReport, config: Any, again: Again | None = None) -> RunReport:
    """Review at the end of a pytest run; a rejected cause counts as not healed (``rejected``)."""
    reporter = config.pluginmanager.get_plugin("terminalreporter") if config is not None else None
    if reporter is None or not has_terminal():
        return with_notes(report, f"Nothing was applied: {NO_TERMINAL}")
    outcomes = {outcome.diagnosis.id: outcome for outcome in report.outcomes}
    sentences = _review(Screen(reporter._tw), stored, input, outcomes, again)
    rejected = {id: how["reason"] for id, how in stored.decisions().items() if how["decision"] == "rejected"}
    judged = tuple(_rejected(outcome, rejected) for outcome in outcomes.values())
    return with_notes(replace(report, outcomes=judged), *sentences)


def review_stored(stored: StoredRun) -> int:
    """``selfheal review``: takes up what is undecided. Raises :class:`RecordError` without a terminal."""
    if not has_terminal():
        raise RecordError(NO_TERMINAL)
    screen = screen_on(sys.stdout)
    outcomes = {outcome.diagnosis.id: outcome for outcome in reload(stored).outcomes}
    for sentence in _review(screen, stored, input, outcomes):
        screen.line(sentence)
    return 0


def has_terminal() -> bool:
    """Whether somebody can be asked. Never in CI, where a terminal may be emulated."""
    try:
        return sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")
    except (AttributeError, ValueError):
        return False


def undecided(stored: StoredRun) -> list[StoredPatch]:
    """Patches that are neither applied nor decided on."""
    applied = {id for id, state in states(stored.base, stored.folder.name).items() if state == "applied"}
    decided = stored.decisions()
    return [patch for patch in stored.select([]) if patch.id not in applied and patch.id not in decided]


def _review(
    screen: Screen, stored: StoredRun, ask: Ask, outcomes: dict[str, Outcome], again: Again | None = None
) -> list[str]:
    """Ask about every undecided patch. ``outcomes`` are brought up to date where a rejection led to another patch."""
    patches = undecided(stored)
    if not patches:
        return ["There is nothing to review: every patch is applied or decided on."]
    agreed: list[StoredPatch] = []
    refused: dict[str, str] = {}
    for number, first in enumerate(patches, 1):
        patch: StoredPatch | None = first
        answer, reasons = "", 0
        while patch is not None:
            _show(screen, patch, outcomes.get(first.id), f"{number} of {len(patches)}")
            answer, patch = _decide(screen, stored, patch, outcomes.get(first.id), ask)
            if answer != "n":
                break
            refused[first.id] = _line(ask, "  why (empty: no reason): ") or ""
            reasons += 1
            other = again if refused[first.id] and reasons < MAX_REJECTIONS else None
            patch = _another(screen, stored, first.id, refused[first.id], outcomes, other)
        if answer == "q":
            return ["Nothing was applied and nothing decided."]
        if answer == "s":
            refused.pop(first.id, None)
            break
        if patch is not None:
            refused.pop(first.id, None)
            agreed.append(patch)
        if answer == "a":
            agreed += patches[number:]
            break
    return _carry_out(stored, agreed, refused)


def _another(
    screen: Screen, stored: StoredRun, id: str, reason: str, outcomes: dict[str, Outcome], again: Again | None
) -> StoredPatch | None:
    if again is None or id not in outcomes:
        return None
    screen.line("Asking for another patch …")
    outcome = again(outcomes[id], reason)
    if outcome is None:
        return None
    outcomes[id] = outcome
    if outcome.status != "healed":
        screen.line("No other patch was found.", yellow=True)
        return None
    return stored.select([id])[0]


def _decide(
    screen: Screen, stored: StoredRun, patch: StoredPatch, outcome: Outcome | None, ask: Ask
) -> tuple[str, StoredPatch]:
    while True:
        answer = _line(ask, f"Apply {patch.id}? [y,n,e,a,s,q,?] ")
        if answer is None:
            return "s", patch  # the terminal is gone: decide nothing more
        answer = answer.strip().lower()[:1]
        if answer == "e" and outcome is not None:
            try:
                patch = _edited(screen, stored, patch, outcome)
            except SelfhealError as error:
                screen.line(str(error), yellow=True)
                continue
            _show(screen, patch, outcome, "as edited", edited=True)
        elif answer and answer in "ynasq":
            return answer, patch
        else:
            for line in HELP.splitlines():
                screen.line(line)


def _edited(screen: Screen, stored: StoredRun, patch: StoredPatch, outcome: Outcome) -> StoredPatch:
    from pytest_selfheal.record.edit import edit

    return edit(stored, patch, outcome.diagnosis.nodeids, screen.line)


def _line(ask: Ask, prompt: str) -> str | None:
    try:
        return ask(prompt)
    except EOFError:
        return None


def _show(screen: Screen, patch: StoredPatch, outcome: Outcome | None, count: str, edited: bool = False) -> None:
    """The patch and its evidence; what a person has edited has none but the tests that failed."""
    screen.line()
    screen.line(f"{patch.id} ({count}): {patch.subject}", bold=True)
    if outcome is not None:
        failure = outcome.diagnosis.failure
        screen.paragraph(f"{failure.nodeid}: {failure.exception}: {failure.message}"[:400], "  ")
        screen.line()
    screen.diff(patch.diff.decode("utf-8", "replace"), indent="  ", name=True)
    screen.line()
    if outcome is None:
        return
    if edited:
        screen.line("  the tests that failed pass; no other test was run with your version")
        return
    if outcome.confidence:
        colour = {"high": {"green": True}, "medium": {"yellow": True}, "low": {"red": True}}[outcome.confidence]
        screen.line(f"  confidence: {outcome.confidence}", **colour)
    if outcome.verdict is not None:
        passing = len(outcome.verdict.failing_now_pass)
        screen.line(
            f"  {passing} failing test{' now passes' if passing == 1 else 's now pass'}, {outcome.verdict.affected_pass} others re-run and passing"
        )
    if outcome.patch is not None:
        if outcome.patch.note:
            screen.paragraph(outcome.patch.note, "  ", yellow=True)
        for other in outcome.patch.alternatives[:4]:
            hint = f": {other.distinguishing_input}" if other.distinguishing_input else ""
            screen.paragraph(f"alternative: {other.description}{hint}", "  ")


def _carry_out(stored: StoredRun, agreed: Sequence[StoredPatch], refused: dict[str, str]) -> list[str]:
    for id, reason in refused.items():
        stored.decide(id, "rejected", reason)
    sentences = [f"Rejected {id}{': ' + reason if reason else ''}." for id, reason in refused.items()]
    if any(refused.values()):
        sentences.append(
            "To let a model try again with what you said: "
            "pytest --selfheal --selfheal-model NAME --selfheal-hint 'your reason'."
        )
    if not agreed:
        return [*sentences, "Nothing was applied."]
    try:
        result = apply_patches(stored, agreed)
    except SelfhealError as error:
        return [*sentences, f"Not applied: {error}"]
    for id in result.done:
        stored.decide(id, "accepted")
    return [*sentences, *told(result)]


def _rejected(outcome: Outcome, reasons: dict[str, str]) -> Outcome:
    id = outcome.diagnosis.id
    if id not in reasons or outcome.status != "healed":
        return outcome
    words = f"A person said no: {reasons[id]}" if reasons[id] else "A person said no."
    return outcome.but(status="unhealed", reason="rejected", words=words)
