"""One cause, at most so many rounds: ask, read, hand over the patch, learn what became of it, ask again.

What ends the rounds is checked in this order, and the first that holds gives the stop reason:

1. cost: the caps on money and tokens, before each call against its worst case and after it against the bill;
   with it the clock;
2. infrastructure: a call failed for a reason that is not the prompt's; ends at once, is never shown to a critic;
3. success: the loop stops pulling;
4. truncation: the reply was cut off (``selfheal_warn_only = truncated`` goes on with what there is);
5. stuck: the same failure, the same feedback, or a patch that was there before, ``selfheal_stuck_after`` times in a row;
   or no improvement over twice as many rounds (``selfheal_warn_only = stuck`` goes on);
6. attempts.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_selfheal.propose.model import prompt
from pytest_selfheal.propose.model.budget import Budget, Refusal
from pytest_selfheal.propose.model.chat import Chat, Message
from pytest_selfheal.propose.model.context import Context, gather
from pytest_selfheal.propose.model.errors import ContextTooLong
from pytest_selfheal.propose.model.fingerprint import changes_anything, fingerprint
from pytest_selfheal.propose.model.paid import Hider, PaidChat, Said, Trace, no_trace
from pytest_selfheal.propose.model.reply import SCHEMA, Unusable, diagnosis_of, read
from pytest_selfheal.propose.model.resolve import resolve
from pytest_selfheal.propose.model.stuck import stuck
from pytest_selfheal.redact import Redactor
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, Diagnosis, GaveUp, Patch, Rejected, Usage

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop

log = logging.getLogger("pytest_selfheal.model")

HEAT = 0.3
"""How much the temperature rises with each round, each parallel sample, and each patch that changed nothing or came again."""
HOTTEST = 1.0
SHRUNK = 0.5
"""What the second prompt may have of the first one's tokens when the provider found that too long."""


@dataclass(frozen=True)
class _Cause:
    """What stays the same over the rounds."""

    diagnosis: Diagnosis
    context: Context
    chat: Chat
    structured: bool
    """The provider enforces the reply's schema."""
    deadline: float


@dataclass
class _Round:
    """What one sample of a round has come to so far."""

    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    cut_off: bool = False
    end: Refusal | None = None
    proposal: Patch | Rejected | None = None


class ModelProposer:
    """Asks a model. One instance for one cause; instances share the ``budget``.

    ``workshop`` names the project (``None``: the diagnosis's copy is all there is), ``redactor`` hides secrets in
    prompts and puts them back into replies, ``trace`` receives every prompt and reply, ``before`` is called once before the
    first question. Two attributes may be set before the first round: ``evidence``, sentences about what the embedded
    engine learned, and ``deadline`` on the monotonic clock (default: ``--selfheal-time-limit`` from then on).
    """

    name = "model"

    def __init__(
        self,
        workshop: Workshop | None,
        settings: Settings,
        budget: Budget,
        *,
        redactor: Hider | None = None,
        trace: Trace | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.evidence: tuple[str, ...] = ()
        self.deadline: float | None = None
        self._before = before
        self._redactor = redactor or Redactor()
        self._trace = trace or no_trace
        project = workshop.project if workshop is not None else None
        self._roots = tuple(
            root.relative_to(project.top).as_posix().removeprefix(".")
            for root in (project.import_roots if project else ())
            if project and root.is_relative_to(project.top)
        )
        self._rootdir = project.rootdir if project else None

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Patch | Rejected | GaveUp]:
        self._before()
        deadline = self.deadline or time.monotonic() + self.settings.time_limit
        chat = Chat(self.settings.model, self.settings, self._rootdir or Path(diagnosis.rootdir or diagnosis.root))
        structured = chat.has_schemas() and "response_format" not in chat.params
        cause = _Cause(diagnosis, gather(diagnosis, self._roots), chat, structured, deadline)
        seen = {fingerprint(a.patch.changes) for a in history if a.patch is not None and a.proposer != self.name}
        for n in range(1, self.settings.attempts + 1):
            samples = self._samples(n, cause, list(history))
            for sample in samples:
                if sample.proposal is not None:
                    yield self._without_repeats(sample.proposal, seen)
            if end := next((sample.end for sample in samples if sample.end is not None), None):
                yield GaveUp(end.reason, end.words, self.name)
                return
            if any(sample.cut_off for sample in samples) and not self._only_warn("truncated", "the reply was cut off"):
                limit = self.settings.coder_max_tokens
                yield GaveUp(
                    "truncated", f"the reply was cut off; raise selfheal_coder_max_tokens ({limit})", self.name
                )
                return
            mine = [attempt for attempt in history if attempt.proposer == self.name]
            reason = stuck(mine, diagnosis.failures, self.settings.stuck_after)
            if reason and n < self.settings.attempts and not self._only_warn("stuck", reason):
                yield GaveUp("stuck", reason, self.name)
                return
        rounds = f"{self.settings.attempts} rounds" if self.settings.attempts > 1 else "one round"
        yield GaveUp("attempts_exhausted", f"{rounds} with {self.settings.model} brought no accepted patch", self.name)

    # --- a round ------------------------------------------------------------------------------------------------------

    def _samples(self, n: int, cause: _Cause, history: Sequence[Attempt]) -> list[_Round]:
        count = self.settings.samples
        if count == 1:
            return [self._round(n, 0, cause, history)]
        with ThreadPoolExecutor(count, thread_name_prefix="selfheal-sample") as pool:
            return list(pool.map(lambda sample: self._round(n, sample, cause, history), range(count)))

    def _round(self, n: int, sample: int, cause: _Cause, history: Sequence[Attempt]) -> _Round:
        """One question, and one request to repair the reply's form where that is needed."""
        result = _Round()
        about = {"id": cause.diagnosis.id, "role": "coder", "round": n, "sample": sample}
        paid = PaidChat(cause.chat, self.budget, self._redactor, self._trace, about)
        repeats = sum(attempt.proposer == self.name and attempt.verdict == "duplicate" for attempt in history)
        temperature = min(HOTTEST, self.settings.coder_temperature + HEAT * (n - 1 + sample + repeats))
        messages = self._prompt(cause, history)
        try:
            said = self._ask(result, paid, messages, cause, temperature)
        except ContextTooLong:
            messages = self._prompt(cause, history, int(cause.chat.count(messages) * SHRUNK))
            try:
                said = self._ask(result, paid, messages, cause, temperature)
            except ContextTooLong as error:
                result.end = Refusal("infrastructure", str(error))
                said = None
        if said is None:
            return result
        try:
            self._accept(result, said, cause)
        except Unusable as error:
            idea = diagnosis_of(said.text)
            self._reject(result, said, str(error), cause)
            if result.cut_off:
                return result
            again: list[Message] = [
                *messages,
                {"role": "assistant", "content": said.text[-8000:]},
                {"role": "user", "content": prompt.repair_request(str(error), cause.context, cause.structured)},
            ]
            with contextlib.suppress(ContextTooLong):
                said = self._ask(result, paid, again, cause, temperature)
                if said is not None:
                    try:
                        self._accept(result, said, cause)
                    except Unusable as second:
                        self._reject(result, said, str(second), cause)
            # The second call is paid whatever came of it.
            if result.proposal is not None:
                words = result.proposal.diagnosis or idea
                result.proposal = replace(result.proposal, diagnosis=words, usage=result.usage, seconds=result.seconds)
        return result

    def _prompt(self, cause: _Cause, history: Sequence[Attempt], budget: int | None = None) -> list[dict[str, str]]:
        return prompt.compose(
            cause.diagnosis,
            cause.context,
            history,
            self.evidence,
            self.settings,
            cause.chat.count_text,
            structured=cause.structured,
            budget=budget,
        )

    def _ask(
        self, result: _Round, paid: PaidChat, messages: Sequence[Message], cause: _Cause, temperature: float
    ) -> Said | None:
        """``None`` when there is no answer; then ``result.end`` says why."""
        said = paid.ask(
            messages,
            max_tokens=self.settings.coder_max_tokens,
            temperature=temperature,
            deadline=cause.deadline,
            schema=SCHEMA if cause.structured else None,
        )
        if isinstance(said, Refusal):
            result.end = said
            return None
        result.usage = result.usage + said.answer.usage
        result.seconds += said.answer.seconds
        result.cut_off |= said.cut_off
        return said

    def _accept(self, result: _Round, said: Said, cause: _Cause) -> None:
        """Make the reply the round's patch. Raises :class:`Unusable`."""
        if said.cut_off and "truncated" not in self.settings.warn_only:
            raise Unusable("the reply was cut off")  # what is there may parse and still lack its end
        try:
            reply = read(said.text)
            changes = resolve(reply, Path(cause.diagnosis.root), cause.context.shown)
        except Unusable:
            raise
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OSError) as error:
            # Reading what anybody may have written must not end the run.
            log.warning("a reply could not be read: %r", error, exc_info=True)
            raise Unusable(f"it could not be read ({type(error).__name__})") from error
        files = ", ".join(change.path for change in changes)
        result.proposal = Patch(
            changes=changes,
            proposer=self.name,
            description=f"change {reply.function.rpartition('::')[2] or files} in {files}",
            diagnosis=reply.diagnosis,
            model=self.settings.model,
            usage=result.usage,
            seconds=result.seconds,
        )

    def _reject(self, result: _Round, said: Said, reason: str, cause: _Cause) -> None:
        log.info("%s: reply not usable: %s", cause.diagnosis.id, reason)
        words = diagnosis_of(said.text)
        model, usage, seconds = self.settings.model, result.usage, result.seconds
        result.proposal = Rejected("malformed", reason, self.name, words, model, usage, seconds)

    # --- after a round ------------------------------------------------------------------------------------------------

    def _without_repeats(self, proposal: Patch | Rejected, seen: set[str]) -> Patch | Rejected:
        if isinstance(proposal, Rejected):
            return proposal
        if not changes_anything(proposal.changes):
            return _repeat(proposal, "the patch changes nothing")
        mark = fingerprint(proposal.changes)
        if mark in seen:
            return _repeat(proposal, "the same patch was tried before")
        seen.add(mark)
        return proposal

    def _only_warn(self, safeguard: str, words: str) -> bool:
        if safeguard in self.settings.warn_only:
            log.warning("%s; going on, because selfheal_warn_only says so", words)
            return True
        return False


def _repeat(patch: Patch, reason: str) -> Rejected:
    return Rejected("duplicate", reason, patch.proposer, patch.diagnosis, patch.model, patch.usage, patch.seconds)
