"""The critic: strict about its own word, never a way to heal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_helpers import FIXED, cause, connections, settings

from pytest_selfheal.propose.model import Budget, Critic, ModelProposer, Opinion
from pytest_selfheal.propose.model.critic import parse_opinion
from pytest_selfheal.testing import Answer, ScriptedModel
from pytest_selfheal.types import Alternative, Patch, Verdict

__all__ = ["connections"]

HEALED = Verdict("healed", "", failing_now_pass=("tests/test_cart.py::test_total",), affected_pass=3)


def opinion(**fields: Any) -> str:
    return json.dumps({"score": 8, "feedback": "fine", "preferred": 0, **fields})


def judged(root: Path, script: list[Any], **changes: Any) -> tuple[Opinion, ScriptedModel]:
    with ScriptedModel([FIXED, *script]) as model:
        chosen = settings(model, critic="openai/critic", **changes)
        budget = Budget(chosen)
        diagnosis = cause(root)
        patch = next(iter(ModelProposer(None, chosen, budget).propose(diagnosis, [])))
        assert isinstance(patch, Patch)
        other = Alternative(patch.changes, "another way", "gross(0) → 1 here, 0 in the chosen patch")
        found = Critic(chosen, budget).score(diagnosis, patch, HEALED, (other,))
        return found, model


def test_an_opinion(tmp_path: Path) -> None:
    found, model = judged(tmp_path, [opinion(preferred=1)])
    assert (found.score, found.feedback, found.preferred, found.failed) == (8, "fine", 1, None)
    request = model.requests[1]
    assert request.body["model"] == "critic"
    assert "def gross" in request.prompt
    assert "+    return math.ceil(net * (100 + rate) / 100)" in request.prompt
    assert "gross(0) → 1 here" in request.prompt
    assert found.usage.prompt_tokens == len(request.prompt.split())


def test_own_limits(tmp_path: Path) -> None:
    _, model = judged(tmp_path, [opinion()], critic_max_tokens=55, critic_temperature=0.2, coder_max_tokens=99)
    coder, critic = (request.body for request in model.requests)
    assert 99 in (coder.get("max_tokens"), coder.get("max_completion_tokens"))
    assert 55 in (critic.get("max_tokens"), critic.get("max_completion_tokens"))
    assert critic["temperature"] == 0.2


def test_one_retry(tmp_path: Path) -> None:
    found, model = judged(tmp_path, ["I like it. 9/10!", opinion(score=9)])
    assert found.score == 9
    assert len(model.requests) == 3
    assert found.usage.completion_tokens == 4 + len(opinion(score=9).split())


def test_what_cannot_be_read_is_a_low_score(tmp_path: Path) -> None:
    found, model = judged(tmp_path, ["great", opinion(score=11), opinion()])
    assert found.score == 1
    assert found.failed is None
    assert "could not be read" in found.feedback
    assert len(model.requests) == 3


def test_a_critic_that_cannot_be_asked_says_nothing(tmp_path: Path) -> None:
    found, _ = judged(tmp_path, [Answer("down", status=503)])
    assert found.score == 1
    assert found.feedback == ""
    assert found.failed == "infrastructure"


def test_the_critic_pays_from_the_same_purse(tmp_path: Path) -> None:
    found, _ = judged(tmp_path, [opinion()], max_tokens=1500, coder_max_tokens=100)
    assert found.failed == "token_limit"


def test_only_verified_patches_are_judged(tmp_path: Path) -> None:
    with ScriptedModel([FIXED]) as model:
        chosen = settings(model, critic="openai/critic")
        diagnosis = cause(tmp_path)
        patch = next(iter(ModelProposer(None, chosen, Budget(chosen)).propose(diagnosis, [])))
        assert isinstance(patch, Patch)
        with pytest.raises(ValueError, match="verified"):
            Critic(chosen, Budget(chosen)).score(diagnosis, patch, Verdict("still_failing", ""))
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8",
        "[8]",
        "{}",
        "{'score': 8, 'feedback': ''}",
        opinion(score="8"),
        opinion(score=True),
        opinion(score=0),
        opinion(score=8.5),
        opinion(score=None),
        opinion(feedback=None),
        opinion(preferred=2),
        opinion(preferred=-1),
        opinion(verdict="pass"),
        opinion() + opinion(),
        '{"score": 8}',
        "{" * 5000,
    ],
)
def test_strict(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_opinion(text, 1)


@pytest.mark.parametrize("text", [opinion(), f"```json\n{opinion()}\n```", '{"score": 8, "feedback": "fine"}'])
def test_readable(text: str) -> None:
    assert parse_opinion(text, 1) == {"score": 8, "feedback": "fine", "preferred": 0}
