"""The only door to litellm: one question, one answer, its price; every exception translated.

Nothing here retries except a rate limit, within bounds.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_selfheal.propose.model.errors import (
    RateLimited,
    TimedOut,
    UnusableAnswer,
    translate,
)
from pytest_selfheal.propose.model.loading import library
from pytest_selfheal.propose.model.params import Price, read_env_file, read_params, read_prices
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Usage

log = logging.getLogger("pytest_selfheal.model")

Message = Mapping[str, str]
RATE_LIMIT_WAITS = (2.0, 5.0, 15.0)
"""Seconds before each further try after a rate limit when the provider names none."""
LONGEST_WAIT = 60.0
"""A provider that asks for a longer pause than this has answered no."""
LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_NO_KEY = "no-key"
_CREDENTIAL = re.compile(r"key|token|secret|passw|credential|header|auth", re.I)


@dataclass(frozen=True)
class Answer:
    """What the model said to one question, and what that cost."""

    text: str
    finish: str
    """``stop``; ``length`` when it was cut off; ``content_filter``."""
    usage: Usage
    seconds: float
    id: str = ""
    cached: bool = False


class Chat:
    """One model, as the settings describe it.

    ``rootdir`` is where ``.env`` and the cache are looked for. Raises :class:`UsageError` for unreadable
    ``selfheal_model_params`` or ``selfheal_prices``, never for anything that the provider does.
    """

    def __init__(self, model: str, settings: Settings, rootdir: Path) -> None:
        self.model = model
        self.settings = settings
        self.params = read_params(settings.model_params)
        self._prices = read_prices(settings.prices)
        self._cache = settings.run_dir(rootdir) / "cache" / "model" if settings.cache else None
        if settings.env_file:
            read_env_file(rootdir / ".env")

    @property
    def shown_params(self) -> dict[str, Any]:
        """The further parameters without any that may hold a credential, for the record."""
        return {name: value for name, value in self.params.items() if not _CREDENTIAL.search(name)}

    # --- facts about the model ----------------------------------------------------------------------------------------

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt by litellm's counter: an estimate for models whose tokenizer it does not have."""
        try:
            return int(library().token_counter(model=self.model, messages=[dict(message) for message in messages]))
        except Exception as error:
            log.debug("token counter failed for %s: %r", self.model, error)
            return sum(len(message["content"]) for message in messages) // 3

    def count_text(self, text: str) -> int:
        return self.count([{"role": "user", "content": text}])

    def price(self) -> Price | None:
        """From ``selfheal_prices``, else from litellm's map, else ``None``."""
        for pattern, price in self._prices:
            if fnmatch.fnmatchcase(self.model, pattern):
                return price
        entry = self._entry()
        if not entry:
            return None
        found = Price(float(entry.get("input_cost_per_token") or 0), float(entry.get("output_cost_per_token") or 0))
        # The map holds zeros for free models and for unknown ones alike; only a model on this machine is surely free.
        return found if found.input or found.output or is_loopback(self.host()) else None

    def _entry(self) -> Mapping[str, Any] | None:
        known: Mapping[str, Mapping[str, Any]] = library().model_cost
        names = [self.model]
        with contextlib.suppress(Exception):
            bare, provider, *_ = library().get_llm_provider(self.model)
            names += [f"{provider}/{bare}", bare]
        return next((known[name] for name in names if "input_cost_per_token" in known.get(name, {})), None)

    def worst_case(self, prompt_tokens: int, max_tokens: int) -> float | None:
        price = self.price()
        return price.of(prompt_tokens, max_tokens) if price else None

    def has_schemas(self) -> bool:
        """Whether the provider enforces a JSON schema on replies."""
        try:
            return bool(library().supports_response_schema(model=self.model))
        except Exception:
            return False

    def base(self) -> str | None:
        """The address that requests go to, where it is known."""
        if self.settings.api_base:
            return self.settings.api_base
        provider = self.provider()
        prefix = provider.upper()
        for name in (f"{prefix}_API_BASE", f"{prefix}_BASE_URL"):
            if os.environ.get(name):
                return os.environ[name]
        with contextlib.suppress(Exception):
            base = library().get_llm_provider(self.model)[3]
            if base:
                return str(base)
        return _BASES.get(provider)

    def host(self) -> str:
        """Name of the host that prompts are sent to; for providers with many, the provider's name."""
        from urllib.parse import urlsplit

        base = self.base()
        if not base:
            return self.provider() or self.model
        return urlsplit(base if "//" in base else f"//{base}").hostname or base

    def provider(self) -> str:
        try:
            return str(library().get_llm_provider(self.model)[1])
        except Exception:
            return ""

    def near_names(self) -> tuple[str, ...]:
        """Known names that look like this one."""
        known = list(library().model_cost)
        wanted = self.model.lower()
        found = difflib.get_close_matches(wanted, known, n=2, cutoff=0.75)
        if not found:
            tails = {name.rpartition("/")[2]: name for name in reversed(known)}
            close = difflib.get_close_matches(wanted.rpartition("/")[2], tails, n=2, cutoff=0.75)
            found = [tails[tail] for tail in close]
        return tuple(name for name in found if name != wanted)

    # --- asking -------------------------------------------------------------------------------------------------------

    def ask(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        timeout: float,
        schema: Mapping[str, Any] | None = None,
        stopped: threading.Event,
    ) -> Answer:
        """One completion. Raises :class:`CallFailed` and nothing else.

        ``timeout`` in seconds covers everything, waiting for a rate limit included; ``stopped`` breaks off at once.
        """
        deadline = time.monotonic() + timeout
        request = self._request(messages, max_tokens, temperature, schema)
        key = self._key(request)
        if (kept := self._from_cache(key)) is not None:
            return kept
        waits = iter(RATE_LIMIT_WAITS)
        while True:
            try:
                answer = self._once(request, max(1.0, deadline - time.monotonic()), stopped)
            except RateLimited as error:
                wait = next(waits, None)
                if wait is not None and error.retry_after is not None:
                    wait = error.retry_after
                if wait is None or wait > LONGEST_WAIT or time.monotonic() + wait >= deadline:
                    raise
                log.info("%s: rate limit, waiting %.1f s", self.model, wait)
                if stopped.wait(wait):
                    raise
            else:
                self._to_cache(key, answer)
                return answer

    def _request(
        self, messages: Sequence[Message], max_tokens: int, temperature: float, schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if self.settings.api_base:
            request["api_base"] = self.settings.api_base
        if schema is not None:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(schema), "strict": True},
            }
        return {**request, **self.params}

    def _once(self, request: Mapping[str, Any], timeout: float, stopped: threading.Event) -> Answer:
        """One request, in a thread of its own: a server that sends a byte a minute never times out by itself, and
        Ctrl-C must not wait for an answer."""
        litellm = library()
        if self.settings.callbacks:
            litellm.success_callback = litellm.failure_callback = list(self.settings.callbacks)
        extra: dict[str, Any] = {"timeout": timeout, "num_retries": 0, "max_retries": 0, "stream": False}
        if self.settings.api_base and "api_key" not in request and not self._has_key():
            extra["api_key"] = _NO_KEY  # servers on one's own machine want none, the client library insists on one
        start = time.monotonic()
        got: list[Any] = []
        done = threading.Event()

        def call() -> None:
            try:
                got.append(litellm.completion(**{**extra, **request}))
            except BaseException as error:
                got.append(error)
            done.set()

        threading.Thread(target=call, name="selfheal-call", daemon=True).start()
        while not done.wait(0.1):
            if stopped.is_set():
                raise TimedOut(f"Model {self.model}: the run was stopped before the answer came.")
            if time.monotonic() - start > timeout + 1:
                raise TimedOut(f"Model {self.model}: no answer in {timeout:.0f} s; {TimedOut.advice}.")
        found = got[0]
        try:
            if isinstance(found, BaseException):
                raise found
            return self._read(found, request["messages"], time.monotonic() - start)
        except BaseException as error:
            near = self.near_names() if type(error).__name__ in ("NotFoundError", "BadRequestError") else ()
            raise translate(error, self.model, near) from error

    def _has_key(self) -> bool:
        provider = self.provider().upper()
        return bool(os.environ.get(f"{provider}_API_KEY")) if provider else False

    def _read(self, response: Any, messages: Sequence[Message], seconds: float) -> Answer:
        choices = getattr(response, "choices", None)
        if not choices:
            raise UnusableAnswer(
                f"Model {self.model}: the endpoint answered without a choice; {UnusableAnswer.advice}."
            )
        text = choices[0].message.content or ""
        usage = self._usage(response, messages, text)
        return Answer(text, choices[0].finish_reason or "stop", usage, seconds, str(getattr(response, "id", "") or ""))

    def _usage(self, response: Any, messages: Sequence[Message], text: str) -> Usage:
        told = getattr(response, "usage", None)
        sent, said = (int(getattr(told, f"{name}_tokens", 0) or 0) for name in ("prompt", "completion"))
        counted = bool(sent or said)
        if not counted:  # some servers do not count
            sent, said = self.count(messages), self.count_text(text)
        price = self.price()
        cost = price.of(sent, said) if price else None
        if price and counted and not any(fnmatch.fnmatchcase(self.model, pattern) for pattern, _ in self._prices):
            # The library knows about cached and other discounted tokens.
            with contextlib.suppress(Exception):
                cost = float(library().completion_cost(completion_response=response, model=self.model)) or cost
        return Usage(sent, said, cost)

    # --- cache --------------------------------------------------------------------------------------------------------

    def _key(self, request: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).hexdigest()

    def _from_cache(self, key: str) -> Answer | None:
        if self._cache is None:
            return None
        try:
            kept = json.loads((self._cache / f"{key}.json").read_text("utf-8"))
            return Answer(kept["text"], kept["finish"], Usage(), 0.0, kept["id"], cached=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _to_cache(self, key: str, answer: Answer) -> None:
        if self._cache is None or answer.finish != "stop":
            return
        path = self._cache / f"{key}.json"
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(asdict(answer)), "utf-8")
            part.replace(path)
        except OSError as error:
            log.warning("the model cache cannot be written: %s", error)


def is_loopback(host: str) -> bool:
    return host in LOOPBACK or host.startswith("127.")


_BASES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "cohere": "https://api.cohere.com",
    "huggingface": "https://router.huggingface.co",
}
"""Where litellm's own lookup names no address."""
