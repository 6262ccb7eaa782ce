"""Every exception of the model library becomes one of ours: with a stop reason, a sentence, and nothing of a traceback."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from model_helpers import FIXED, connections, settings

from pytest_selfheal.propose.model import errors
from pytest_selfheal.propose.model.chat import Chat
from pytest_selfheal.propose.model.errors import CallFailed, translate
from pytest_selfheal.propose.model.loading import library
from pytest_selfheal.testing import Answer, ScriptedModel

__all__ = ["connections"]

QUESTION = [{"role": "user", "content": "why?"}]


def foreign() -> Iterator[type[BaseException]]:
    litellm = library()
    for _, found in sorted(vars(litellm.exceptions).items()):
        if inspect.isclass(found) and issubclass(found, BaseException) and found.__module__.startswith("litellm"):
            yield found
    yield from litellm.LITELLM_EXCEPTION_TYPES


def raised(kind: type[BaseException], status: int | None = None) -> BaseException:
    """An instance, made without its constructor: each has another one."""
    error = kind.__new__(kind)
    error.args = ("something happened",)
    for name in ("message", "llm_provider", "model"):
        setattr(error, name, "something happened")
    if status is not None:
        error.status_code = status  # type: ignore[attr-defined]
    for name in ("num_retries", "max_retries", "litellm_debug_info"):
        setattr(error, name, None)
    return error


def test_every_exception_of_the_library_is_mapped() -> None:
    kinds = set(foreign())
    assert len(kinds) >= 20
    catch_all = {"APIError", "OpenAIError", "MockException"}
    for kind in kinds:
        ours = translate(raised(kind), "provider/model")
        assert isinstance(ours, CallFailed)
        assert ours.reason == "infrastructure"
        named = [base.__name__ for base in kind.__mro__ if base.__name__ in errors.BY_NAME]
        if not named:
            assert kind.__name__ in catch_all | {"VectorStoreSearchFailure"} or not kind.__module__.endswith(
                "exceptions"
            )


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("AuthenticationError", "AuthenticationFailed"),
        ("PermissionDeniedError", "AuthenticationFailed"),
        ("RateLimitError", "RateLimited"),
        ("PaymentRequiredError", "QuotaExhausted"),
        ("BudgetExceededError", "QuotaExhausted"),
        ("ContextWindowExceededError", "ContextTooLong"),
        ("ContentPolicyViolationError", "ContentFiltered"),
        ("Timeout", "TimedOut"),
        ("APIConnectionError", "ConnectionFailed"),
        ("ServiceUnavailableError", "ServiceDown"),
        ("BadGatewayError", "ServiceDown"),
        ("InternalServerError", "ServiceDown"),
        ("NotFoundError", "UnknownModel"),
        ("LiteLLMUnknownProvider", "UnknownModel"),
        ("UnsupportedParamsError", "BadRequest"),
        ("JSONSchemaValidationError", "UnusableAnswer"),
    ],
)
def test_to_which_of_ours(name: str, ours: str) -> None:
    assert type(translate(raised(getattr(library().exceptions, name)), "m")).__name__ == ours


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        (Answer("no key", status=401), "AuthenticationFailed"),
        (Answer("pay first", status=402), "QuotaExhausted"),
        (Answer("not for you", status=403), "AuthenticationFailed"),
        (Answer("The model `scripted` does not exist", status=404), "UnknownModel"),
        (
            Answer("This model's maximum context length is 8192 tokens", status=400, code="context_length_exceeded"),
            "ContextTooLong",
        ),
        (Answer("Requested tokens (9000) exceed context window of 8192", status=400), "ContextTooLong"),
        (Answer("prompt violates our content policy", status=400, code="content_policy_violation"), "ContentFiltered"),
        (Answer("temperature must be below 2", status=400), "BadRequest"),
        (Answer("cannot process", status=422), None),
        (Answer("You exceeded your current quota", status=429, code="insufficient_quota"), "QuotaExhausted"),
        (Answer("slow down", status=429, headers={"Retry-After": "3600"}), "RateLimited"),
        (Answer("oops", status=500), "ServiceDown"),
        (Answer("bad gateway", status=502), "ServiceDown"),
        (Answer("overloaded", status=503), "ServiceDown"),
        (Answer(body=b"<html><body>Please log in</body></html>"), "UnusableAnswer"),
        (Answer(body=b'{"choices": []}'), "UnusableAnswer"),
        (Answer(body=b'{"object": "chat.completion"}'), "UnusableAnswer"),
        (Answer(body=b"[1, 2"), "UnusableAnswer"),
        (Answer(body=b""), "UnusableAnswer"),
        (Answer("half", hang_up=True), "ConnectionFailed"),
        (Answer("late", delay=3.0), "TimedOut"),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
def test_what_a_server_may_do(answer: Answer, ours: str | None, tmp_path: Path) -> None:
    with ScriptedModel(lambda request: answer) as model:
        chat = Chat(model.name, settings(model), tmp_path)
        with pytest.raises(CallFailed) as caught:
            chat.ask(QUESTION, max_tokens=10, temperature=0, timeout=1.0 if answer.delay else 30, stopped=Event())
    if ours is not None:
        assert type(caught.value).__name__ == ours
    words = str(caught.value)
    assert words.startswith("Model openai/scripted: ")
    assert words.endswith(".")
    assert "\n" not in words
    assert "Traceback" not in words


def test_nobody_listens(tmp_path: Path) -> None:
    with ScriptedModel([]) as model:
        gone = settings(model)
    with pytest.raises(errors.ConnectionFailed, match="cannot be reached"):
        Chat(gone.model, gone, tmp_path).ask(QUESTION, max_tokens=10, temperature=0, timeout=5, stopped=Event())


def test_a_rate_limit_is_waited_for(tmp_path: Path) -> None:
    script = [Answer("slow down", status=429, headers={"Retry-After": "0"}), Answer(FIXED)]
    with ScriptedModel(script) as model:
        chat = Chat(model.name, settings(model), tmp_path)
        answer = chat.ask(QUESTION, max_tokens=10, temperature=0, timeout=30, stopped=Event())
    assert answer.text == FIXED
    assert len(model.requests) == 2


def test_waiting_for_a_rate_limit_ends(tmp_path: Path) -> None:
    with ScriptedModel(lambda request: Answer("slow down", status=429, headers={"Retry-After": "0"})) as model:
        chat = Chat(model.name, settings(model), tmp_path)
        with pytest.raises(errors.RateLimited):
            chat.ask(QUESTION, max_tokens=10, temperature=0, timeout=30, stopped=Event())
    assert len(model.requests) == 4


def test_unknown_models_get_a_suggestion(tmp_path: Path) -> None:
    from pytest_selfheal.settings import Settings

    chosen = Settings(model="deepseek/deepseek-chatt")
    assert "deepseek/deepseek-chat" in Chat(chosen.model, chosen, tmp_path).near_names()
    chosen = Settings(model="gpt-4oo-mini-x")
    with pytest.raises(errors.UnknownModel, match="gpt-4o-mini"):
        Chat(chosen.model, chosen, tmp_path).ask(QUESTION, max_tokens=5, temperature=0, timeout=5, stopped=Event())


def test_a_call_in_flight_is_given_up_when_the_run_is_stopped(tmp_path: Path) -> None:
    stopped = Event()

    def script(request: Any) -> Answer:
        stopped.set()
        return Answer("late", delay=2.0)

    with ScriptedModel(script) as model:
        chat = Chat(model.name, settings(model), tmp_path)
        with pytest.raises(errors.TimedOut, match="stopped"):
            chat.ask(QUESTION, max_tokens=5, temperature=0, timeout=60, stopped=stopped)


def test_retry_after_as_a_date_or_nonsense() -> None:
    error = raised(library().exceptions.RateLimitError)
    error.litellm_response_headers = {"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"}  # type: ignore[attr-defined]
    assert (errors.retry_after(error) or 0) > 1e6
    error.litellm_response_headers = {"retry-after": "soon"}  # type: ignore[attr-defined]
    assert errors.retry_after(error) is None


def test_the_body_of_an_error_is_json() -> None:
    """The helper's own promise."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    with ScriptedModel([Answer("no", status=401, code="bad")]) as model, pytest.raises(HTTPError) as caught:
        urlopen(Request(f"{model.url}/chat/completions", b"{}"), timeout=5)
    assert json.loads(caught.value.read())["error"]["code"] == "bad"
    caught.value.close()
