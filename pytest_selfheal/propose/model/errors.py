"""What can go wrong between us and a model, and the one mapping from litellm's exceptions to ours.

::

    CallFailed                 a ModelError
    ├── AuthenticationFailed   401, 403: fatal for the run
    ├── QuotaExhausted         402, or 429 that waiting does not cure: fatal for the run
    ├── UnknownModel           404, no such provider: fatal for the run
    ├── RateLimited            429: waited for, within bounds
    ├── ContextTooLong         the prompt is shrunk once
    ├── TimedOut               may have been billed: counted against the caps
    ├── ConnectionFailed
    ├── ServiceDown            5xx
    ├── UnusableAnswer         HTML, half an object, no choices
    ├── ContentFiltered        this prompt only, says nothing about the next one
    ├── BadRequest
    └── LibraryMissing         litellm cannot be imported: fatal for the run

litellm raises OpenAI-style classes, but puts some statuses (402, 403) into its catch-all ``APIError`` and lets plain
Python errors escape from answers that it did not foresee; so the class name is looked at first, then the status, and
whatever is left is an :class:`UnusableAnswer`. Names instead of classes keep litellm out of this module.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_selfheal.errors import ModelError


class CallFailed(ModelError):
    """A call that brought no answer; ``str()`` is one sentence that says what to do."""

    fatal: ClassVar[bool] = False
    """No other call of this run can succeed either."""
    about_prompt: ClassVar[bool] = False
    """The next prompt may well succeed: says nothing about the provider's health."""
    advice: ClassVar[str] = ""


class AuthenticationFailed(CallFailed):
    fatal = True
    advice = "check the provider's key in the environment"


class QuotaExhausted(CallFailed):
    fatal = True
    advice = "top up the account or choose another model"


class UnknownModel(CallFailed):
    fatal = True
    advice = "check --selfheal-model (form: provider/name)"


class RateLimited(CallFailed):
    advice = "lower --selfheal-workers or try again later"
    retry_after: float | None = None
    """Seconds that the provider asked to wait."""


class ContextTooLong(CallFailed):
    about_prompt = True
    advice = "lower selfheal_prompt_tokens or choose a model with a larger context"


class TimedOut(CallFailed):
    advice = "raise --selfheal-time-limit or choose a faster model"


class ConnectionFailed(CallFailed):
    advice = "check --selfheal-api-base and the network"


class ServiceDown(CallFailed):
    advice = "try again later"


class UnusableAnswer(CallFailed):
    advice = "check that --selfheal-api-base is a chat completions endpoint (it often ends in /v1)"


class ContentFiltered(CallFailed):
    about_prompt = True
    advice = "choose another model for this failure"


class LibraryMissing(CallFailed):
    fatal = True
    advice = "reinstall it, or use --selfheal-model builtin"


class BadRequest(CallFailed):
    advice = "check the model's name and selfheal_model_params"


BY_NAME: Mapping[str, type[CallFailed]] = {
    "ContextWindowExceededError": ContextTooLong,
    "ContentPolicyViolationError": ContentFiltered,
    "RejectedRequestError": ContentFiltered,
    "GuardrailRaisedException": ContentFiltered,
    "BlockedPiiEntityError": ContentFiltered,
    "ModifyResponseException": ContentFiltered,
    "SensitiveDataRouteException": ContentFiltered,
    "PaymentRequiredError": QuotaExhausted,
    "BudgetExceededError": QuotaExhausted,
    "AuthenticationError": AuthenticationFailed,
    "PermissionDeniedError": AuthenticationFailed,
    "LiteLLMUnknownProvider": UnknownModel,
    "ModelNotMappedError": UnknownModel,
    "NotFoundError": UnknownModel,
    "RateLimitError": RateLimited,
    "Timeout": TimedOut,
    "APITimeoutError": TimedOut,
    "ServiceUnavailableError": ServiceDown,
    "BadGatewayError": ServiceDown,
    "APIResponseValidationError": UnusableAnswer,
    "UnsupportedParamsError": BadRequest,
    "UnprocessableEntityError": BadRequest,
    "BadRequestError": BadRequest,
    "InternalServerError": ServiceDown,
    "APIConnectionError": ConnectionFailed,
}
"""The nearest of an exception's class names that is listed here decides, refined by status and words."""

_BY_STATUS: Mapping[int, type[CallFailed]] = {
    401: AuthenticationFailed,
    402: QuotaExhausted,
    403: AuthenticationFailed,
    404: UnknownModel,
    408: TimedOut,
    413: ContextTooLong,
    429: RateLimited,
}

_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|exceeds? the (available )?context",
    re.I,
)
_NO_MONEY = re.compile(
    r"insufficient.{0,3}(quota|balance|funds|credit)|exceeded your current quota|credit balance|billing", re.I
)
_NO_PROVIDER = re.compile(r"LLM Provider NOT provided|unknown provider|model.{0,40}(does not exist|not found)", re.I)
_BAD_KEY = re.compile(
    r"api.?key.{0,60}(missing|must be set|not (set|found|valid)|invalid|required)|invalid api.?key", re.I
)
_NOT_JSON = re.compile(
    r"empty or invalid response|<html|<!doctype|Expecting value|json|no 'choices'|Received response", re.I
)
_NO_CONNECTION = re.compile(r"connection (error|refused|reset|aborted)|cannot connect|name or service not known", re.I)
_FILTERED = re.compile(r"content.?(policy|filter|management)", re.I)


def translate(error: BaseException, model: str, near: tuple[str, ...] = ()) -> CallFailed:
    """Our error for whatever the library raised; ``near`` are known names that look like ``model``."""
    if isinstance(error, CallFailed):
        return error
    words = _first_line(_words(error))
    kind = _kind(error, words)
    found = kind(f"Model {model}: {_LEADS[kind]}{_detail(error, words)}; {_advice(kind, near)}.")
    if isinstance(found, RateLimited):
        found.retry_after = retry_after(error)
    return found


_LEADS: Mapping[type[CallFailed], str] = {
    AuthenticationFailed: "access was refused",
    QuotaExhausted: "the account's quota or credit is used up",
    UnknownModel: "the model or its provider is not known",
    RateLimited: "the rate limit was hit again and again",
    ContextTooLong: "the prompt is longer than the model's context",
    TimedOut: "no answer in time",
    ConnectionFailed: "the endpoint cannot be reached",
    ServiceDown: "the provider has a problem",
    UnusableAnswer: "the endpoint did not answer with a chat completion",
    ContentFiltered: "the provider's content filter refused",
    BadRequest: "the provider refused the request",
}


def _kind(error: BaseException, words: str) -> type[CallFailed]:
    named = next((BY_NAME[base.__name__] for base in type(error).__mro__ if base.__name__ in BY_NAME), None)
    status = getattr(error, "status_code", None)
    status = int(status) if isinstance(status, int | str) and str(status).isdigit() else None
    text = f"{words} {getattr(error, 'code', '') or ''}"
    if named in (BadRequest, RateLimited, None) and _NO_MONEY.search(text):
        return QuotaExhausted
    if named in (BadRequest, None, ServiceDown) and _TOO_LONG.search(text):
        return ContextTooLong
    if named in (BadRequest, None) and _FILTERED.search(text):
        return ContentFiltered
    if named in (BadRequest, None) and _NO_PROVIDER.search(text):
        return UnknownModel
    if named in (ServiceDown, ConnectionFailed, BadRequest, None) and _BAD_KEY.search(text):
        return AuthenticationFailed
    if named in (ServiceDown, ConnectionFailed) and _NOT_JSON.search(text) and not _server_said_so(error):
        return UnusableAnswer
    if named is ServiceDown and _NO_CONNECTION.search(text) and not _server_said_so(error):
        return ConnectionFailed
    if named is not None and named is not UnusableAnswer:
        return named
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and 500 <= status < 600 and named is None and _is_api_error(error):
        return ServiceDown
    if status is not None and 400 <= status < 500:
        return BadRequest
    return UnusableAnswer


def _is_api_error(error: BaseException) -> bool:
    return any(base.__name__ in ("APIError", "OpenAIError") for base in type(error).__mro__)


def _server_said_so(error: BaseException) -> bool:
    """Whether a status of 5xx came from the server, and not from the library that could not read a 200."""
    response = getattr(error, "response", None)
    return bool(getattr(response, "headers", None))


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 240 else line[:239] + "…"


def _detail(error: BaseException, words: str) -> str:
    words = re.sub(r"^(litellm\.)?\w*(Error|Exception|Timeout)\s*:\s*", "", words)
    words = re.sub(r"^(\w*(Error|Exception)\s*[:-]\s*)+", "", words).rstrip(". ")
    return f" ({words})" if words else f" ({type(error).__name__})"


def _advice(kind: type[CallFailed], near: tuple[str, ...]) -> str:
    if kind is UnknownModel and near:
        return f"did you mean {' or '.join(near)}?".rstrip("?") + "; otherwise " + kind.advice
    return kind.advice


def retry_after(error: BaseException) -> float | None:
    """Seconds of a ``Retry-After`` header (a number or an HTTP date), if the error carries one."""
    for holder in (getattr(error, "response", None), error):
        headers: Any = getattr(holder, "headers", None) or getattr(holder, "litellm_response_headers", None)
        raw = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
        if raw is None:
            continue
        try:
            return max(0.0, float(raw))
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(raw).timestamp() - time.time())
        except (TypeError, ValueError):
            return None
    return None
