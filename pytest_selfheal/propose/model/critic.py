"""The critic: after a patch has verified, does it do what is *meant*? It can lower confidence and choose; never heal.

Its word is strict JSON, checked field by field; one retry; what still cannot be read is a low score, never a pass.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_selfheal.propose.model import prompt
from pytest_selfheal.propose.model.budget import Budget, Refusal
from pytest_selfheal.propose.model.chat import Chat
from pytest_selfheal.propose.model.context import gather
from pytest_selfheal.propose.model.errors import ContextTooLong
from pytest_selfheal.propose.model.paid import Hider, PaidChat, Trace, no_trace
from pytest_selfheal.redact import Redactor
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Alternative, Diagnosis, Patch, StopReason, Usage, Verdict

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop

log = logging.getLogger("pytest_selfheal.model")

LOWEST, HIGHEST = 1, 10
# Bounds are checked by hand: not every provider's schemas know them.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score", "feedback", "preferred"],
    "properties": {
        "score": {"type": "integer"},
        "feedback": {"type": "string"},
        "preferred": {"type": "integer"},
    },
}


@dataclass(frozen=True)
class Opinion:
    """What the critic thinks of a verified patch."""

    score: int
    """1-10; below ``selfheal_critic_threshold`` the feedback goes into another round."""
    feedback: str
    preferred: int = 0
    """0: the patch itself; ``n``: the ``n``-th of the alternatives."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    failed: StopReason | None = None
    """Set when there is no opinion, because the critic could not be asked; the score is then the lowest."""


class Critic:
    """A second model (``--selfheal-critic``), sharing the run's ``budget``."""

    def __init__(
        self,
        settings: Settings,
        budget: Budget,
        *,
        workshop: Workshop | None = None,
        redactor: Hider | None = None,
        trace: Trace | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        if settings.critic is None:
            raise ValueError("there is no critic without --selfheal-critic")
        self.settings = settings
        self.budget = budget
        self._before = before
        self._model = settings.critic
        self._rootdir = workshop.project.rootdir if workshop is not None else None
        self._redactor = redactor or Redactor()
        self._trace = trace or no_trace

    def score(
        self,
        diagnosis: Diagnosis,
        patch: Patch,
        verdict: Verdict,
        alternatives: Sequence[Alternative] = (),
        deadline: float | None = None,
    ) -> Opinion:
        """Only for patches whose verdict is ``healed``: what fails needs no opinion.

        ``deadline`` on the monotonic clock; default: ``--selfheal-time-limit`` from now on.
        """
        if verdict.kind != "healed":
            raise ValueError(f"the critic judges verified patches, not {verdict.kind} ones")
        self._before()
        deadline = deadline or time.monotonic() + self.settings.time_limit
        chat = Chat(self._model, self.settings, self._rootdir or Path(diagnosis.rootdir or diagnosis.root))
        messages = self._messages(diagnosis, patch, verdict, alternatives, chat)
        about = {"id": diagnosis.id, "role": "critic"}
        paid = PaidChat(chat, self.budget, self._redactor, self._trace, about)
        usage, seconds, trouble = Usage(), 0.0, ""
        for _ in range(2):
            try:
                said = paid.ask(
                    messages,
                    max_tokens=self.settings.critic_max_tokens,
                    temperature=self.settings.critic_temperature,
                    deadline=deadline,
                    schema=SCHEMA if chat.has_schemas() else None,
                )
            except ContextTooLong as error:
                said = Refusal("infrastructure", str(error))
            if isinstance(said, Refusal):
                log.warning("the critic could not be asked: %s", said.words)
                return Opinion(LOWEST, "", 0, usage, seconds, said.reason)
            usage, seconds = usage + said.answer.usage, seconds + said.answer.seconds
            try:
                data = parse_opinion(said.text, len(alternatives))
            except ValueError as error:
                trouble = str(error)
                request = f"This is not the JSON object that was asked for: {trouble}. Send only that."
                messages = [
                    *messages,
                    {"role": "assistant", "content": said.text[-4000:]},
                    {"role": "user", "content": request},
                ]
            else:
                return Opinion(data["score"], data["feedback"], data["preferred"], usage, seconds)
        return Opinion(LOWEST, f"the critic's reply could not be read ({trouble})", 0, usage, seconds)

    def _messages(
        self, diagnosis: Diagnosis, patch: Patch, verdict: Verdict, alternatives: Sequence[Alternative], chat: Chat
    ) -> list[dict[str, str]]:
        context = gather(diagnosis)
        patches = [f"## Patch 0: {patch.description}\n{patch.diagnosis}\n```diff\n{prompt.diff(patch.changes)}\n```"]
        for n, other in enumerate(alternatives, 1):
            apart = f"\nTold apart by: {other.distinguishing_input}" if other.distinguishing_input else ""
            patches.append(f"## Patch {n}: {other.description}{apart}\n```diff\n{prompt.diff(other.changes)}\n```")
        passed = f"{len(verdict.failing_now_pass)} failing tests now pass, {verdict.affected_pass} others still do."
        end = "\n\n".join(
            [
                "# The repair",
                *patches,
                passed,
                *([f"The developer wants: {self.settings.hint}"] if self.settings.hint else []),
            ]
        )
        system = prompt.template("critic.txt")
        left = self.settings.prompt_tokens - chat.count_text(system) - chat.count_text(end)
        body = "# Before the repair\n\n" + prompt.fit(context.sections, left, chat.count_text)
        return [{"role": "system", "content": system}, {"role": "user", "content": f"{body}\n\n{end}"}]


def parse_opinion(text: str, alternatives: int) -> dict[str, Any]:
    """The critic's object. Raises :class:`ValueError` in words for anything that the schema does not allow."""
    text = text.strip()
    start, stop = text.find("{"), text.rfind("}")
    if start < 0:
        raise ValueError("there is no object")
    try:
        data = json.loads(text[start : stop + 1])
    except (ValueError, RecursionError):
        raise ValueError("it does not parse") from None
    if (
        not isinstance(data, dict)
        or not {"score", "feedback"} <= set(data)
        or set(data) - {"score", "feedback", "preferred"}
    ):
        raise ValueError("it must have exactly the fields score, feedback and preferred")
    score, preferred = data["score"], data.get("preferred", 0)
    if type(score) is not int or not LOWEST <= score <= HIGHEST:
        raise ValueError("score must be a whole number from 1 to 10")
    if not isinstance(data["feedback"], str):
        raise ValueError("feedback must be a text")
    if type(preferred) is not int or not 0 <= preferred <= alternatives:
        raise ValueError(f"preferred must be a whole number from 0 to {alternatives}")
    return {"score": score, "feedback": data["feedback"].strip()[:2000], "preferred": preferred}
