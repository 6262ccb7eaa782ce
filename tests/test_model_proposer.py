"""Rounds with a scripted model over real HTTP: what is asked, what is made of the reply, and every reason to stop."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_helpers import (
    FIXED,
    PROJECT,
    ask,
    cause,
    connections,
    failure,
    heal,
    settings,
    still_failing,
    unchanged,
    wrong,
)

from pytest_selfheal.propose.model import Budget, ModelProposer
from pytest_selfheal.redact import Redactor
from pytest_selfheal.testing import Answer, Request, ScriptedModel
from pytest_selfheal.types import Attempt, Patch, Verdict

__all__ = ["connections"]

NONSENSE = "I think that everything is fine."
PRICES = ("openai/scripted = 1.0, 2.0",)


def healed_by(n: int) -> Any:
    def judge(patch: Patch, number: int) -> Verdict:
        return Verdict("healed", "") if number == n else still_failing(patch, number)

    return judge


# --- what is asked --------------------------------------------------------------------------------------------------------


def test_the_first_prompt_holds_what_is_needed_and_no_more(tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [FIXED], healed_by(1))
    assert end is None
    [request] = model.requests
    assert request.path == "/v1/chat/completions"
    assert not request.body.get("stream")
    assert request.body["temperature"] == 0
    for piece in (
        "assert 162 == 238",
        "def test_total():",
        "def gross(net, rate=RATE):",
        "shop/cart.py",
        "cart = <Cart>",
    ):
        assert piece in request.last
    from pytest_selfheal.propose.model.loading import library

    tokens = library().token_counter(model="openai/scripted", messages=request.messages)
    assert tokens <= 2500
    [attempt] = attempts
    assert attempt.diagnosis == "gross subtracts the tax rate instead of adding it."
    assert attempt.patch is not None
    assert attempt.patch.changes[0].after == str(PROJECT["shop/cart.py"]).replace("100 - rate", "100 + rate").encode()
    assert attempt.patch.description == "change gross in shop/cart.py"
    assert attempt.usage.prompt_tokens == model.prompt_tokens


def test_each_round_knows_every_earlier_one_and_gets_warmer(tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [wrong(1), wrong(2), FIXED], healed_by(3), hint="the tax is added")
    assert end is None
    assert [attempt.verdict for attempt in attempts] == ["still_failing", "still_failing", "healed"]
    first, second, third = model.requests
    assert "Earlier attempts" not in first.last
    assert "Attempt 1" in second.last
    assert "assert 1 == 238" in second.last
    assert "Attempt 1" in third.last
    assert "Attempt 2" in third.last
    assert "assert 2 == 238" in third.last
    assert "different approach" in third.last
    assert all("the tax is added" in request.last for request in model.requests)
    assert [request.body["temperature"] for request in model.requests] == pytest.approx([0, 0.3, 0.6])


def test_the_engines_findings_and_the_critics_words_are_passed_on(tmp_path: Path) -> None:
    with ScriptedModel([wrong(1), FIXED]) as model:
        chosen = settings(model)
        proposer = ModelProposer(None, chosen, Budget(chosen))
        proposer.evidence = ("replacing - with * changes the result to 380",)
        heal(proposer, cause(tmp_path), healed_by(2), feedback="Think of the rate's sign.")
    assert "changes the result to 380" in model.requests[0].last
    assert "Think of the rate's sign." in model.requests[1].last


def test_few_shot_examples_come_first(tmp_path: Path) -> None:
    _, _, model = ask(tmp_path, [FIXED], healed_by(1), few_shot=2)
    roles = [message["role"] for message in model.requests[0].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


def test_secrets_stay_here_and_come_back_in_the_patch(tmp_path: Path) -> None:
    secret = "hunter2-hunter2-hunter2"
    files = {
        **PROJECT,
        "shop/cart.py": str(PROJECT["shop/cart.py"]).replace("RATE = 19", f'RATE = 19\nLOGIN = "{secret}"'),
    }
    seen: list[dict[str, Any]] = []

    def script(request: Request) -> str:
        line = next(line for line in request.last.split("\n") if line.startswith("LOGIN"))
        assert secret not in request.prompt
        return FIXED.replace("def gross", f"{line}\n\n\ndef gross")

    with ScriptedModel(script) as model:
        chosen = settings(model)
        proposer = ModelProposer(
            None,
            chosen,
            Budget(chosen),
            redactor=Redactor([secret]),
            trace=lambda event, **content: seen.append({"event": event, **content}),
        )
        attempts, _ = heal(proposer, cause(tmp_path, files), healed_by(1))
    assert attempts[0].patch is not None
    assert f'LOGIN = "{secret}"'.encode() in (attempts[0].patch.changes[0].after or b"")
    assert [event["event"] for event in seen] == ["prompt", "reply"]
    assert secret not in str(seen)
    assert seen[1]["prompt_tokens"] == model.prompt_tokens


def test_settings_reach_the_request(tmp_path: Path) -> None:
    params = ("top_p = 0.5", 'user = "me"', "seed = 7")
    _, _, model = ask(tmp_path, [FIXED], healed_by(1), model_params=params, coder_max_tokens=77, coder_temperature=0.4)
    body = model.requests[0].body
    assert body["top_p"] == 0.5
    assert body["seed"] == 7
    assert body["temperature"] == 0.4
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_structured_output_where_the_provider_has_it(tmp_path: Path) -> None:
    from test_model_reply import FUNCTION, as_json

    with ScriptedModel([as_json(path="shop/cart.py", code=FUNCTION)], name="openai/gpt-4o") as model:
        chosen = settings(model)
        attempts, _ = heal(ModelProposer(None, chosen, Budget(chosen)), cause(tmp_path), healed_by(1))
    assert attempts[0].verdict == "healed"
    assert model.requests[0].body["response_format"]["type"] == "json_schema"
    assert attempts[0].usage.cost_usd == pytest.approx(
        model.prompt_tokens * 2.5e-6 + model.completion_tokens * 10e-6, rel=1e-9
    )


def test_thorough_effort_draws_samples_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def script(request: Request) -> str:
        together.wait(90)
        return FIXED if request.body["temperature"] > 0.5 else wrong(1)

    attempts, _, model = ask(tmp_path, script, healed_by(3), effort="thorough")
    assert len(model.requests) == 3
    assert len({request.body["temperature"] for request in model.requests}) == 3
    assert [attempt.verdict for attempt in attempts] == ["still_failing", "duplicate", "healed"]


# --- what is made of it ----------------------------------------------------------------------------------------------------


def test_a_malformed_reply_gets_one_repair_request_and_costs_both(tmp_path: Path) -> None:
    attempts, _, model = ask(tmp_path, [NONSENSE, FIXED], healed_by(1))
    [attempt] = attempts
    assert attempt.verdict == "healed"
    assert "cannot be used" in model.requests[1].last
    assert model.requests[1].messages[-2] == {"role": "assistant", "content": NONSENSE}
    assert attempt.usage.prompt_tokens == model.prompt_tokens
    assert attempt.usage.completion_tokens == model.completion_tokens


def test_a_reply_malformed_twice_is_a_paid_attempt(tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [NONSENSE] * 4, attempts=2, prices=PRICES)
    assert [attempt.verdict for attempt in attempts] == ["malformed", "malformed"]
    assert "no code" in attempts[0].reason
    assert end is not None
    assert end.reason == "attempts_exhausted"
    spent = sum(attempt.usage.cost_usd or 0 for attempt in attempts)
    assert spent == pytest.approx((model.prompt_tokens + 2 * model.completion_tokens) / 1e6, rel=1e-12)


@pytest.mark.parametrize(
    "reply",
    [
        FIXED.replace("100 + rate", "100 - rate"),
        FIXED.replace(
            "    return math.ceil(net * (100 + rate) / 100)", "    # fine\n    return math.ceil(net * (100-rate) / 100)"
        ),
        FIXED.replace("100 + rate", "50 + 50 - rate"),
    ],
    ids=["same", "restyled", "compiles alike"],
)
def test_what_changes_nothing_is_not_run(reply: str, tmp_path: Path) -> None:
    def judge(patch: Patch, n: int) -> Verdict:
        raise AssertionError("was run")

    attempts, _, model = ask(tmp_path, [reply, reply], judge, attempts=2)
    assert [attempt.verdict for attempt in attempts] == ["duplicate", "duplicate"]
    assert attempts[0].reason == "the patch changes nothing"
    assert "changes nothing" in model.requests[1].last
    # Models repeat what they read, so the idea behind it is not quoted; and what came again is asked for more warmly.
    assert "gross subtracts" not in model.requests[1].last
    assert "has to differ" in model.requests[1].last
    assert [request.body["temperature"] for request in model.requests] == [0.0, 0.6]


def test_the_same_patch_again_is_not_run_and_the_model_hears_of_it(tmp_path: Path) -> None:
    again = wrong(1).replace("return math", "return  math")
    attempts, _, model = ask(tmp_path, [wrong(1), again, FIXED], healed_by(3))
    assert [attempt.verdict for attempt in attempts] == ["still_failing", "duplicate", "healed"]
    assert "tried before" in model.requests[2].last


def test_patches_of_the_engine_are_not_repeated(tmp_path: Path) -> None:
    with ScriptedModel([wrong(1), wrong(1)]) as model:
        chosen = settings(model, attempts=1)
        diagnosis = cause(tmp_path)
        [patch] = [
            p for p in ModelProposer(None, chosen, Budget(chosen)).propose(diagnosis, []) if isinstance(p, Patch)
        ]
        tried = Attempt(1, "search", None, "", "", "still_failing", "", patch=replace(patch, proposer="search"))
        first = next(iter(ModelProposer(None, chosen, Budget(chosen)).propose(diagnosis, [tried])))
    assert getattr(first, "verdict", None) == "duplicate"


# --- every reason to stop ---------------------------------------------------------------------------------------------------


def test_attempts(tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [wrong(n) for n in range(1, 9)], attempts=3)
    assert len(attempts) == len(model.requests) == 3
    assert end is not None
    assert end.reason == "attempts_exhausted"


def test_stuck_on_the_same_failure(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [wrong(n) for n in range(1, 9)], unchanged, attempts=5, stuck_after=2)
    assert len(attempts) == 2
    assert end is not None
    assert end.reason == "stuck"


def test_stuck_on_the_same_patch(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [wrong(1)] * 9, attempts=6, stuck_after=2)
    assert [attempt.verdict for attempt in attempts] == ["still_failing", "duplicate", "duplicate"]
    assert end is not None
    assert end.reason == "stuck"


def test_stuck_on_the_same_feedback(tmp_path: Path) -> None:
    with ScriptedModel([wrong(n) for n in range(1, 9)]) as model:
        chosen = settings(model, attempts=5, stuck_after=2)
        attempts, end = heal(
            ModelProposer(None, chosen, Budget(chosen)), cause(tmp_path), feedback="Round 1: wrong sign!"
        )
    assert len(attempts) == 2
    assert end is not None
    assert "feedback" in end.words


def test_no_improvement(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [wrong(n) for n in range(1, 20)], attempts=12, stuck_after=2)
    assert len(attempts) == 4
    assert end is not None
    assert end.reason == "stuck"
    assert "no improvement" in end.words


def test_improvement_goes_on(tmp_path: Path) -> None:
    def further(patch: Patch, n: int) -> Verdict:
        return Verdict("still_failing", "", still_failing=(failure(f"assert {n} == 238", line=7 + n),))

    attempts, end, _ = ask(tmp_path, [wrong(n) for n in range(1, 20)], further, attempts=8)
    assert len(attempts) == 8
    assert end is not None
    assert end.reason == "attempts_exhausted"


def test_stuck_can_be_a_warning_only(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [wrong(n) for n in range(1, 9)], unchanged, attempts=4, warn_only=("stuck",))
    assert len(attempts) == 4
    assert end is not None
    assert end.reason == "attempts_exhausted"


def test_truncated(tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [Answer(FIXED, finish="length")] * 3)
    assert [attempt.verdict for attempt in attempts] == ["malformed"]
    assert attempts[0].usage.completion_tokens == model.completion_tokens > 0
    assert end is not None
    assert end.reason == "truncated"
    assert len(model.requests) == 1


def test_truncated_can_be_a_warning_only(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [Answer(FIXED, finish="length")], healed_by(1), warn_only=("truncated",))
    assert end is None
    assert attempts[0].verdict == "healed"


def test_cost_limit_is_checked_before_the_call(tmp_path: Path) -> None:
    _, end, model = ask(tmp_path, [FIXED], prices=("openai/* = 1000, 1000",), max_cost=0.01)
    assert end is not None
    assert end.reason == "cost_limit"
    assert model.requests == []


def test_cost_limit_is_checked_after_the_call(tmp_path: Path) -> None:
    dear = Answer(wrong(1), completion_tokens=900_000)
    attempts, end, model = ask(tmp_path, [dear, FIXED], prices=PRICES)
    assert [attempt.verdict for attempt in attempts] == ["still_failing"]
    assert end is not None
    assert end.reason == "cost_limit"
    assert len(model.requests) == 1


def test_token_limit_holds_without_a_price(tmp_path: Path) -> None:
    attempts, end, _ = ask(tmp_path, [wrong(1), FIXED], max_tokens=5000)
    assert attempts[0].usage.cost_usd is None
    assert end is not None
    assert end.reason == "token_limit"


def test_time_limit(tmp_path: Path) -> None:
    started = time.monotonic()
    _, end, _ = ask(tmp_path, [Answer(FIXED, delay=4)], time_limit=2.0)
    assert end is not None
    assert end.reason == "time_limit"
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("status", [401, 402, 403, 500, 503])
def test_infrastructure_ends_at_once(status: int, tmp_path: Path) -> None:
    attempts, end, model = ask(tmp_path, [Answer("no", status=status), FIXED])
    assert attempts == []
    assert end is not None
    assert end.reason == "infrastructure"
    assert len(model.requests) == 1


def test_the_second_infrastructure_error_in_a_row_ends_it_for_all(tmp_path: Path) -> None:
    with ScriptedModel(
        [Answer("down", status=503), FIXED, Answer("down", status=503), Answer("down", status=500), FIXED]
    ) as model:
        chosen = settings(model, attempts=1)
        budget = Budget(chosen)
        ends = []
        for n in range(5):
            _, end = heal(ModelProposer(None, chosen, budget), cause(tmp_path / str(n)))
            ends.append(end.reason if end else None)
    assert ends == ["infrastructure", "attempts_exhausted", "infrastructure", "infrastructure", "infrastructure"]
    assert len(model.requests) == 4


def test_a_bad_key_ends_it_for_all_at_once(tmp_path: Path) -> None:
    with ScriptedModel([Answer("bad key", status=401), FIXED]) as model:
        chosen = settings(model)
        budget = Budget(chosen)
        for n in range(3):
            _, end = heal(ModelProposer(None, chosen, budget), cause(tmp_path / str(n)))
            assert end is not None
            assert end.reason == "infrastructure"
            assert "key" in end.words
    assert len(model.requests) == 1


def test_a_prompt_that_is_too_long_is_shrunk_once(tmp_path: Path) -> None:
    long = "\n\n".join(f"def helper_{n}(x):\n    return gross(x) + {n}  # {'x' * 80}" for n in range(60))
    files = {**PROJECT, "shop/cart.py": f"{PROJECT['shop/cart.py']}\n\n{long}\n"}
    diagnosis = cause(tmp_path, files)
    too_long = Answer("maximum context length is 100 tokens", status=400, code="context_length_exceeded")
    attempts, end, model = ask(tmp_path, [too_long, FIXED], healed_by(1), diagnosis=diagnosis, prompt_tokens=4000)
    assert end is None
    assert len(attempts) == 1
    assert len(model.requests[1].prompt) <= len(model.requests[0].prompt)
    _, end, model = ask(tmp_path, [too_long, too_long], diagnosis=diagnosis)
    assert end is not None
    assert end.reason == "infrastructure"
    assert len(model.requests) == 2


def test_a_stopped_run_asks_nothing(tmp_path: Path) -> None:
    with ScriptedModel([FIXED]) as model:
        chosen = settings(model)
        budget = Budget(chosen)
        budget.stop("interrupted", "Ctrl-C")
        _, end = heal(ModelProposer(None, chosen, budget), cause(tmp_path))
    assert end is not None
    assert end.reason == "interrupted"
    assert model.requests == []


def test_the_cache_saves_the_second_call(tmp_path: Path) -> None:
    with ScriptedModel([FIXED]) as model:
        chosen = settings(model, cache=True, prices=PRICES)
        costs = []
        for _ in range(2):
            attempts, _ = heal(ModelProposer(None, chosen, Budget(chosen)), cause(tmp_path), healed_by(1))
            costs.append(attempts[0].usage.cost_usd)
    assert len(model.requests) == 1
    assert costs[0] > 0
    assert costs[1] == 0
