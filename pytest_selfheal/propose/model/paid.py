"""A paid question: hide secrets, reserve the worst case, ask, settle the bill, leave a record. Coder and critic ask so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_selfheal.propose.model.budget import Budget, Refusal
from pytest_selfheal.propose.model.chat import Answer, Chat, Message
from pytest_selfheal.propose.model.errors import CallFailed, ContextTooLong, LibraryMissing, TimedOut

Trace = Callable[..., None]
"""Takes an event's name (``prompt``, ``reply``, ``model_error``) and its content as keywords, redacted and fit for JSON."""


def no_trace(event: str, /, **content: Any) -> None:
    """For runs that keep no record."""


class Hider(Protocol):
    """What prompts pass through: :class:`pytest_selfheal.redact.Redactor`."""

    def hide(self, text: str) -> str: ...

    def restore(self, text: str) -> str: ...


@dataclass(frozen=True)
class Said:
    """An answer with the redactor's placeholders restored."""

    text: str
    answer: Answer

    @property
    def cut_off(self) -> bool:
        return self.answer.finish == "length"


@dataclass(frozen=True)
class PaidChat:
    """One model, the run's budget, and who listens."""

    chat: Chat
    budget: Budget
    redactor: Hider
    trace: Trace
    about: Mapping[str, Any]
    """Goes with every event: the cause's id and who asks."""

    def ask(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        deadline: float,
        schema: Mapping[str, Any] | None = None,
    ) -> Said | Refusal:
        """``deadline`` on the monotonic clock. A :class:`Refusal` says why there is no answer.

        Raises :class:`ContextTooLong`, which the caller may cure, and no other :class:`CallFailed`.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            return Refusal("time_limit", "the time for this failure ended before the model was asked")
        about = {**self.about, "model": self.chat.model, "temperature": temperature, "max_tokens": max_tokens}
        messages = [{**message, "content": self.redactor.hide(message["content"])} for message in messages]
        tokens = self.chat.count(messages)
        try:
            worst = self.chat.worst_case(tokens, max_tokens)
        except LibraryMissing as error:
            return self._failed(error, about, deadline)
        reserved = self.budget.reserve(worst, tokens + max_tokens, deadline)
        if isinstance(reserved, Refusal):
            return reserved
        self.trace("prompt", **about, messages=messages, params=self.chat.shown_params, schema=schema is not None)
        try:
            answer = self.chat.ask(
                messages,
                max_tokens=max_tokens,
                temperature=temperature,
                timeout=deadline - time.monotonic(),
                schema=schema,
                stopped=self.budget.stopped,
            )
        except BaseException as error:
            # Only a time-out may have been billed.
            reserved.forfeit() if isinstance(error, TimedOut) else reserved.release()
            if not isinstance(error, CallFailed):
                raise
            return self._failed(error, about, deadline)
        reserved.settle(answer.usage)
        self.budget.works()
        usage = answer.usage
        self.trace(
            "reply",
            **about,
            text=self.redactor.hide(answer.text),
            finish=answer.finish,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=usage.cost_usd,
            seconds=round(answer.seconds, 3),
            reply_id=answer.id,
            cached=answer.cached,
        )
        return Said(self.redactor.restore(answer.text), answer)

    def _failed(self, error: CallFailed, about: Mapping[str, Any], deadline: float) -> Refusal:
        words = self.redactor.hide(str(error))
        self.trace("model_error", **about, error=words, kind=type(error).__name__)
        if isinstance(error, ContextTooLong):
            raise error
        if isinstance(error, TimedOut) and time.monotonic() >= deadline - 1:
            return Refusal("time_limit", words)
        if self.budget.refusal is not None and self.budget.refusal.reason != "infrastructure":
            return self.budget.refusal  # the wait was broken off because the run was stopped
        if not error.about_prompt:
            self.budget.fault(words, error.fatal)
        return Refusal("infrastructure", words)
