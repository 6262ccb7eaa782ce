"""The model through ``pytest --selfheal``: real pytest, real copies, real HTTP; only the model's words are scripted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from model_helpers import FIXED, PROJECT, wrong
from test_model_critic import opinion

from pytest_selfheal.testing import Answer, Example, Request, ScriptedModel

INI = "[pytest]\npythonpath = .\nfilterwarnings = error\n"
ALONE = ("--selfheal-strategy", "model")
OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:asyncio",
    "--selfheal",
    "--selfheal-sandbox",
    "process",
    "--selfheal-effort",
    "fast",
)


def example(folder: Path, **more: str | bytes) -> Example:
    return Example({**PROJECT, "pytest.ini": INI, **more}, folder / "project").git()


def test_a_second_round_heals(tmp_path: Path) -> None:
    project = example(tmp_path)
    before = project.bytes()
    with ScriptedModel([wrong(1), FIXED]) as model:
        result = project.run(*OPTIONS, *model.options, *ALONE, "-o", "selfheal_prices=openai/scripted = 3, 15")
    assert result.code == 1, result.stdout + result.stderr
    assert project.bytes() == before
    [found] = result.report["failures"]
    assert found["status"] == "healed"
    assert [attempt["verdict"] for attempt in found["attempts"]] == ["still_failing", "healed"]
    assert found["attempts"][0]["diagnosis"] == "gross subtracts the tax rate instead of adding it."
    billed = model.prompt_tokens * 3e-6 + model.completion_tokens * 15e-6
    assert result.report["totals"]["cost_usd"] == pytest.approx(billed, rel=1e-9)
    assert result.report["totals"]["tokens"] == model.prompt_tokens + model.completion_tokens
    assert "At worst 1 failure will cost $" in result.stdout
    assert "will be sent to" not in result.stdout  # loopback
    assert "assert 164 == 238" in model.requests[1].last
    events = [event["event"] for event in result.trace]
    assert [name for name in events if name in ("prompt", "reply")] == ["prompt", "reply"] * 2
    # What a replay needs is in the trace: the very messages and parameters, and the reply.
    prompt = next(event for event in result.trace if event["event"] == "prompt")
    assert prompt["messages"] == model.requests[0].messages
    assert prompt["temperature"] == 0


def test_the_engine_first_and_a_model_that_is_not_needed(tmp_path: Path) -> None:
    with ScriptedModel([]) as model:
        result = example(tmp_path).run(*OPTIONS, *model.options)
    [found] = result.report["failures"]
    assert found["status"] == "healed", result.stdout
    assert found["attempts"][-1]["proposer"] == "search"
    assert model.requests == []
    assert result.report["totals"]["cost_usd"] == 0


def test_what_the_engine_learned_reaches_the_model(tmp_path: Path) -> None:
    hard = {
        "words.py": "def shout(text):\n    return text\n",
        "tests/test_cart.py": "from words import shout\n\n\ndef test_shout():\n"
        "    assert shout('ab c') == 'AB-C!?'\n    assert shout('x') == 'X!?'\n    assert shout('q w e') == 'Q-W-E!?'\n",
    }
    fixed = "```python\ndef shout(text):\n    return text.upper().replace(' ', '-') + '!?'\n```"
    with ScriptedModel([fixed]) as model:
        result = example(tmp_path, **hard).run(*OPTIONS, *model.options, "--selfheal-attempts", "1")
    [found] = result.report["failures"]
    assert found["attempts"][-1]["proposer"] == "model", result.stdout
    assert found["status"] == "healed"
    assert "mechanical search" in model.requests[0].last
    assert model.prompt_tokens + model.completion_tokens == result.report["totals"]["tokens"]


def test_the_critic_asks_for_another_round_and_lowers_confidence(tmp_path: Path) -> None:
    special = FIXED.replace("    return math", "    if net > 10**9:\n        return 0\n    return math")

    def script(request: Request) -> str:
        if request.body["model"] != "critic":
            return special if len(model.requests) == 1 else FIXED
        return opinion(score=3, feedback="Large sums are lost.") if "10**9" in request.prompt else opinion(score=9)

    with ScriptedModel(script) as model:
        result = example(tmp_path).run(*OPTIONS, *model.options, *ALONE, "--selfheal-critic", "openai/critic")
    [found] = result.report["failures"]
    assert [attempt["critic_score"] for attempt in found["attempts"]] == [3, 9], result.stdout
    assert "Large sums are lost." in model.requests[2].last
    patch = (result.run_dir / found["patch"]).read_text("utf-8")
    assert "10**9" not in patch
    assert found["confidence"] != "low"


def test_a_critic_never_heals_what_fails(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return opinion(score=10) if request.body["model"] == "critic" else wrong(len(model.requests))

    with ScriptedModel(script) as model:
        result = example(tmp_path).run(*OPTIONS, *model.options, *ALONE, "--selfheal-critic", "openai/critic")
    [found] = result.report["failures"]
    assert found["status"] == "unhealed"
    assert {request.body["model"] for request in model.requests} == {"scripted"}


def test_a_provider_that_is_down_is_asked_twice_for_many_failures(tmp_path: Path) -> None:
    modules: dict[str, str | bytes] = {}
    for n in range(4):
        modules[f"m{n}.py"] = f"def f(x):\n    return x - {n + 1}\n"
        modules[f"tests/test_m{n}.py"] = f"from m{n} import f\n\n\ndef test_{n}():\n    assert f(1) == {n + 2}\n"
    with ScriptedModel(lambda request: Answer("down", status=503)) as model:
        result = example(tmp_path, **modules).run(*OPTIONS, *model.options, *ALONE, "--selfheal-workers", "1")
    assert {found["reason"] for found in result.report["failures"]} == {"infrastructure"}
    assert len(result.report["failures"]) == 5
    assert len(model.requests) == 2
    assert "INTERNALERROR" not in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


def test_secrets_of_the_environment_never_leave(tmp_path: Path) -> None:
    secret = "sk-canary-0123456789abcdef0123456789abcdef"
    leaky = str(PROJECT["shop/cart.py"]).replace("RATE = 19", f'RATE = 19\nAPI_KEY = "{secret}"')
    with ScriptedModel([FIXED]) as model:
        result = example(tmp_path, **{"shop/cart.py": leaky}).run(
            *OPTIONS, *model.options, *ALONE, environment={"SHOP_API_KEY": secret}
        )
    assert result.report["failures"][0]["status"] == "healed", result.stdout
    assert secret not in model.requests[0].prompt
    assert secret not in (result.run_dir / "trace.jsonl").read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_while_the_model_thinks(tmp_path: Path) -> None:
    project = example(tmp_path)
    with ScriptedModel([Answer(FIXED, delay=60)]) as model:
        command = [sys.executable, "-m", "pytest", *OPTIONS, *model.options, *ALONE]
        child = subprocess.Popen(
            command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        deadline = time.monotonic() + 90
        while not model.requests and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=45)
    assert model.requests
    report = json.loads((project.folder / ".selfheal" / "latest" / "report.json").read_text("utf-8"))
    assert report["stop"] == "interrupted", output
    assert report["failures"][0]["reason"] == "interrupted"
    assert "Traceback" not in output


def test_wrong_model_settings_are_usage_errors(tmp_path: Path) -> None:
    result = example(tmp_path).run("--selfheal", "--selfheal-model", "openai/x", "-o", "selfheal_prices=cheap")
    assert result.code == 4
    assert "selfheal_prices" in result.stderr
