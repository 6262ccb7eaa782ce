"""One cause's way: propose → guard → verify → (critic) → next round, until a patch verifies or a budget ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_selfheal.ahead import Ahead
from pytest_selfheal.guard import Reviews
from pytest_selfheal.heldback import MAX_MISSES, hold_back, is_miss, weighed
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.along import comes_into_question, quick
from pytest_selfheal.judge.verify import verify
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.neighbours.probe import tried_elsewhere
from pytest_selfheal.propose import Proposal, Proposer
from pytest_selfheal.remembered import Remembered
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import (
    Alternative,
    Attempt,
    Confidence,
    Diagnosis,
    GaveUp,
    Likely,
    Outcome,
    Patch,
    Rejected,
    StopReason,
    Usage,
    Verdict,
    VerdictKind,
    lower,
)

if TYPE_CHECKING:
    from pytest_selfheal.propose.model import Critic

MAX_REFUSALS = 12
"""So many refused or failed patches of the embedded engine in a row mean that its next ones will not do either."""

FILES_WORTH_A_LANE = 2
"""Test files of the affected tests from which on the runs of a patch go side by side beside a search as well."""

UNCONFIRMED: tuple[StopReason, str] = ("interrupted", "The failure did not come again each time.")


class Hooks(Protocol):
    """The parts of pytest's hooks that the loop calls; a run without pytest has none."""

    def guard(self, patch: Patch, diagnosis: Diagnosis) -> str | None: ...
    def attempt(self, diagnosis: Diagnosis, attempt: Attempt) -> None: ...


@dataclass
class Tools:
    """What the loop works with, the same for all causes of a run."""

    settings: Settings
    workshop: Workshop
    affected: AffectedTests
    hooks: Hooks
    critic: Critic | None
    event: Callable[..., None]
    progress: Callable[[str, str], None]
    """``(id, what is being done)``."""
    deadline: float
    """``time.monotonic()`` at which all healing ends."""
    stop: threading.Event = field(default_factory=threading.Event)
    confirmed: Callable[[Diagnosis], bool] = lambda diagnosis: True
    """Waits until the failures have been seen as often as they should be; whether they came again each time. Until then
    the embedded engine may search, but nothing is judged and no model is asked."""
    cores: Callable[[], int] = lambda: 1
    """How many children of one cause may run at once; more than one only where they cannot meet."""
    reviews: Reviews = field(init=False)

    def __post_init__(self) -> None:
        self.reviews = Reviews(self.settings)


@dataclass
class Rounds:
    """The state of one cause's work."""

    tools: Tools
    diagnosis: Diagnosis
    proposers: Sequence[Proposer]
    others: Callable[[], Sequence[Diagnosis]] = tuple
    """Other causes that are open now."""
    history: list[Attempt] = field(default_factory=list)
    evidence: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    critic_usage: Usage = field(default_factory=Usage)
    candidates: int = 0
    cpu_seconds: float = 0.0
    verified: list[Attempt] = field(default_factory=list)
    dropped: threading.Event = field(default_factory=threading.Event)
    """Set when the patch of another cause turned out to repair this one as well: what is left to do here is not done."""
    settled: bool = False
    """A patch verified, and no critic says that the intent is not met."""
    remembering: bool = False
    """What is proposed was found by an earlier run."""
    searching: bool = False
    """The embedded engine is at work."""
    last_words: GaveUp | None = None
    held_back: frozenset[str] = frozenset()
    """Failing cases that the proposer at work does not see."""
    misses: int = 0
    """Patches that passed all that they were made for and failed a case that was kept back."""

    def run(self) -> Outcome:
        started = time.monotonic()
        self._ahead = Ahead(self._verify_ahead)
        self.deadline = min(self.tools.deadline, started + self.tools.settings.time_limit)
        reason, words = self._ask_everyone()
        outcome = self._outcome(reason, words)
        return outcome.but(seconds=time.monotonic() - started)

    # ------------------------------------------------------------------ the loop

    def _ask_everyone(self) -> tuple[StopReason, str]:
        ended: tuple[StopReason, str] = ("no_candidate", "Nobody had anything to propose.")
        for proposer in self.proposers:
            if hasattr(proposer, "evidence"):
                proposer.evidence = self.evidence
            if hasattr(proposer, "deadline"):
                proposer.deadline = self.deadline
            if hasattr(proposer, "dropped"):
                proposer.dropped = self.dropped
            ended = self._ask(proposer) or ended
            if self.settled or self.dropped.is_set() or self.tools.stop.is_set():
                break
        if self.tools.stop.is_set():
            return "interrupted", "The run was interrupted before this failure was done."
        return ended

    def _ask(self, proposer: Proposer) -> tuple[StopReason, str] | None:
        self.remembering, self.searching = proposer.name == Remembered.name, proposer.name == "search"
        if self.remembering:
            return self._pull(proposer, self.diagnosis)
        if not self.searching:
            return self._pull(proposer, self.diagnosis) if self.tools.confirmed(self.diagnosis) else UNCONFIRMED
        shown, self.held_back = hold_back(self.diagnosis)
        ended = self._pull(proposer, shown)
        self.held_back = frozenset()
        if not self.misses or self.settled or self.tools.stop.is_set() or time.monotonic() > self.deadline:
            return ended
        return self._pull(proposer, self.diagnosis)  # the cases that were kept back say more than the others

    def _pull(self, proposer: Proposer, diagnosis: Diagnosis) -> tuple[StopReason, str] | None:
        proposals = proposer.propose(diagnosis, self.history)
        try:
            return self._take(proposer, proposals)
        finally:
            # An abandoned engine must not go on searching.
            close = getattr(proposals, "close", None)
            if close is not None:
                close()
            self._ahead.drop()

    def _take(self, proposer: Proposer, proposals: Iterator[Proposal]) -> tuple[StopReason, str] | None:
        bad_in_a_row = 0
        for proposal in proposals:
            if self.tools.stop.is_set() or self.dropped.is_set():
                return "interrupted", "The run was interrupted before this failure was done."
            if isinstance(proposal, Likely):
                if self.tools.cores() > 1:
                    self._ahead.begin(proposal.patch)
                continue
            if not self.tools.confirmed(self.diagnosis):
                return UNCONFIRMED
            if isinstance(proposal, GaveUp):
                return self._gave_up(proposal)
            if isinstance(proposal, Rejected):
                self._record(self._attempt_of_rejected(proposal))
            else:
                attempt = self._judge(proposal)
                self._record(attempt)
                if attempt.verdict == "healed" and self._good_enough(attempt):
                    return None
                bad_in_a_row += 1
            if time.monotonic() > self.deadline:
                return "time_limit", "The time limit came before a patch verified."
            if self.searching and bad_in_a_row >= MAX_REFUSALS:
                break
            if self.held_back and self.misses >= MAX_MISSES:
                break
        refused = [attempt for attempt in self.history if attempt.verdict == "guarded"]
        if refused and all(attempt.verdict in ("guarded", "duplicate") for attempt in self.history):
            return "guarded", f"Every proposed change was refused; the last one: {refused[-1].reason}."
        return "attempts_exhausted", f"{len(self.history)} proposed changes were tried and none held."

    def _judge(self, patch: Patch) -> Attempt:
        started = time.monotonic()
        self.usage = self.usage + patch.usage
        self.candidates = max(self.candidates, patch.candidates_tried)
        self.cpu_seconds = max(self.cpu_seconds, patch.cpu_seconds)
        if any(other.patch is not None and other.patch.changes == patch.changes for other in self.history):
            return self._attempt(patch, "duplicate", "this very change was judged before", started)
        if all(change.before == change.after for change in patch.changes):
            return self._attempt(patch, "duplicate", "the proposal changes nothing", started)
        self.tools.progress(self.diagnosis.id, f"checking {patch.description}")
        checked = self.tools.reviews.of(patch, self.diagnosis)
        refusal = checked.reason or self.tools.hooks.guard(patch, self.diagnosis)
        if refusal:
            self._ahead.drop()
            refused = self._attempt(patch, "guarded", refusal, started)
            return replace(refused, refused_by=checked.refused_by or "another plugin")
        self.tools.progress(self.diagnosis.id, f"verifying {patch.description}")
        verdict = self._ahead.take(patch) or self._verify(patch, self.dropped)
        verdict = replace(verdict, guards=checked.passed)
        if patch.proposer == "search":
            self.misses += is_miss(verdict, self.held_back)
            verdict = weighed(verdict, self.held_back, self.misses) if verdict.kind == "healed" else verdict
        elif verdict.kind == "healed" and not checked.caution:
            left = max(1.0, self.deadline - time.monotonic())
            affected = self.tools.affected.of(patch.paths, self.diagnosis.nodeids, patch.changes)
            verdict = tried_elsewhere(self.tools.workshop, patch, verdict, affected.nodeids, left)
        if checked.caution and verdict.kind == "healed":
            verdict = replace(verdict, confidence="low", reason=f"{verdict.reason}; {checked.caution}")
        return self._attempt(patch, verdict.kind, verdict.reason, started, verdict)

    def _verify_ahead(self, patch: Patch, stop: threading.Event) -> Verdict | None:
        # The engine has run its own small edit already, behind the same walls: guards read it while its tests run.
        if not self.searching and self.tools.reviews.of(patch, self.diagnosis).reason:
            return None
        if not (self.remembering or self.tools.confirmed(self.diagnosis)):
            return None
        return self._verify(patch, stop, searching=not self.remembering)

    def _verify(self, patch: Patch, stop: threading.Event, searching: bool = False) -> Verdict:
        tools = self.tools
        affected = tools.affected.of(patch.paths, self.diagnosis.nodeids, patch.changes)
        files = {nodeid.partition("::")[0] for nodeid in affected.nodeids}
        # A search takes the other core: runs side by side pay only where one of them has much to collect.
        cores = 1 if searching and len(files) < FILES_WORTH_A_LANE else tools.cores()
        others = [other for other in self.others() if comes_into_question(other, patch.paths, tools.affected)]
        return verify(
            tools.workshop,
            patch,
            self.diagnosis,
            affected,
            deadline=self.deadline,
            cores=cores,
            stop=stop,
            along=quick(others, tools.workshop.project.durations),
        )

    def _good_enough(self, attempt: Attempt) -> bool:
        """Whether to stop here: always, unless a critic says that the intent is not met and another round is left."""
        critic = self.tools.critic
        self.settled = True
        if critic is None or attempt.patch is None or attempt.result is None:
            self.verified.append(attempt)
            return True
        self.tools.progress(self.diagnosis.id, "asking the critic")
        opinion = critic.score(self.diagnosis, attempt.patch, attempt.result, attempt.patch.alternatives, self.deadline)
        self.usage = self.usage + opinion.usage
        self.critic_usage = self.critic_usage + opinion.usage
        self.tools.event("critic", id=self.diagnosis.id, score=opinion.score, feedback=opinion.feedback)
        if opinion.failed is not None:
            # Nobody judged the intent: the patch stands, but its confidence does not.
            self.verified.append(replace(attempt, result=replace(attempt.result, confidence="low")))
            return True
        if opinion.preferred:
            other = self._judge_alternative(attempt.patch, opinion.preferred - 1)
            if other is not None:
                attempt = other
        judged = replace(attempt, critic_score=opinion.score, feedback=opinion.feedback)
        self.history[self.history.index(attempt)] = judged
        self.verified.append(judged)
        self.settled = opinion.score >= self.tools.settings.critic_threshold
        # The engine has many patches; the critic's opinions of them are bounded as the model's rounds are.
        asked = sum(one.proposer == attempt.proposer for one in self.verified)
        return self.settled or asked >= self.tools.settings.attempts

    def _judge_alternative(self, patch: Patch, index: int) -> Attempt | None:
        """The plausible patch that the critic prefers, if it verifies too; the first one then becomes an alternative."""
        chosen = patch.alternatives[index]
        others = tuple(other for n, other in enumerate(patch.alternatives) if n != index)
        swapped = replace(
            patch,
            changes=chosen.changes,
            description=chosen.description,
            alternatives=(Alternative(patch.changes, patch.description, chosen.distinguishing_input), *others),
            usage=Usage(),
            seconds=0.0,
        )
        attempt = self._judge(swapped)
        self._record(attempt)
        return attempt if attempt.verdict == "healed" else None

    def _gave_up(self, last: GaveUp) -> tuple[StopReason, str]:
        self.usage = self.usage + last.usage
        self.candidates = max(self.candidates, last.candidates_tried)
        self.cpu_seconds = max(self.cpu_seconds, last.cpu_seconds)
        self.evidence += last.evidence
        self.last_words = last
        self.tools.event("gave_up", id=self.diagnosis.id, proposer=last.proposer, reason=last.reason, words=last.words)
        return last.reason, last.words

    # ------------------------------------------------------------------ history

    def _record(self, attempt: Attempt) -> None:
        self.history.append(attempt)
        self.tools.event("attempt", id=self.diagnosis.id, **attempt.to_json())
        self.tools.hooks.attempt(self.diagnosis, attempt)

    def _attempt(
        self, patch: Patch, verdict: VerdictKind, reason: str, started: float, result: Verdict | None = None
    ) -> Attempt:
        from pytest_selfheal.record.patch import make_diff

        return Attempt(
            n=len(self.history) + 1,
            proposer=patch.proposer,
            model=patch.model,
            diagnosis=patch.diagnosis,
            diff=make_diff(patch.changes).decode("utf-8", "replace"),
            verdict=verdict,
            reason=reason,
            description=patch.description,
            usage=patch.usage,
            seconds=patch.seconds + time.monotonic() - started,
            patch=patch,
            result=result,
        )

    def _attempt_of_rejected(self, proposal: Rejected) -> Attempt:
        self.usage = self.usage + proposal.usage
        return Attempt(
            n=len(self.history) + 1,
            proposer=proposal.proposer,
            model=proposal.model,
            diagnosis=proposal.diagnosis,
            diff="",
            verdict=proposal.verdict,
            reason=proposal.reason,
            usage=proposal.usage,
            seconds=proposal.seconds,
        )

    def _outcome(self, reason: StopReason, words: str) -> Outcome:
        common: dict[str, Any] = {
            "diagnosis": self.diagnosis,
            "attempts": tuple(self.history),
            "candidates_tried": self.candidates,
            "usage": self.usage,
            "critic_usage": self.critic_usage,
            "cpu_seconds": self.cpu_seconds,
            "evidence": self.evidence,
        }
        if not self.verified:
            return Outcome(status="unhealed", reason=reason, words=words, **common)
        best = max(self.verified, key=lambda attempt: attempt.critic_score or 0)
        assert best.patch is not None
        assert best.result is not None
        confidence: Confidence = lower(best.patch.confidence, best.result.confidence)
        if best.critic_score is not None and best.critic_score < self.tools.settings.critic_threshold:
            confidence = "low"
        return Outcome(
            status="healed",
            reason="healed",
            words=best.patch.description,
            patch=best.patch,
            verdict=best.result,
            confidence=confidence,
            diff=best.diff,
            **common,
        )
