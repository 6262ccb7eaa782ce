"""What people write into ini and ``.env`` for models: further parameters, prices, keys. Imports nothing heavy."""

from __future__ import annotations

import fnmatch
import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_selfheal.errors import UsageError
from pytest_selfheal.settings import Settings

_KEY_NAMES = (
    "*_API_KEY",
    "*_API_BASE",
    "*_BASE_URL",
    "*_API_VERSION",
    "*_TOKEN",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_*",
    "VERTEX*",
)


@dataclass(frozen=True)
class Price:
    """USD per token."""

    input: float
    output: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens * self.input + completion_tokens * self.output


def validate(settings: Settings) -> None:
    """Raises :class:`UsageError` for model settings that cannot be read. Imports nothing."""
    read_params(settings.model_params)
    read_prices(settings.prices)


_OWN_SETTING: Mapping[str, str] = {
    "model": "use --selfheal-model",
    "api_base": "use --selfheal-api-base",
    "max_tokens": "use selfheal_coder_max_tokens",
    "max_completion_tokens": "use selfheal_coder_max_tokens",
    "n": "use --selfheal-effort thorough",
    "messages": "use --selfheal-hint for what you want to say",
    "stream": "replies are read whole",
}
"""Parameters that the caps are computed from, or that this module decides."""


def read_params(lines: Sequence[str]) -> dict[str, Any]:
    """``name = JSON value`` a line; a value that is no JSON is a text."""
    params: dict[str, Any] = {}
    for line in _lines(lines):
        name, separator, raw = (part.strip() for part in line.partition("="))
        if not separator or not name.isidentifier() or not raw:
            raise UsageError(f"selfheal_model_params: {line!r} is not 'name = JSON value'.")
        if name in _OWN_SETTING:
            raise UsageError(f"selfheal_model_params: {name} cannot be set here; {_OWN_SETTING[name]}.")
        try:
            params[name] = json.loads(raw)
        except ValueError:
            params[name] = raw
    return params


def read_prices(lines: Sequence[str]) -> tuple[tuple[str, Price], ...]:
    """``model = USD per million input tokens, USD per million output tokens`` a line; ``model`` may be a glob."""
    prices: list[tuple[str, Price]] = []
    for line in _lines(lines):
        name, _, raw = (part.strip() for part in line.partition("="))
        try:
            sent, said = (float(number) / 1e6 for number in raw.split(","))
        except ValueError:
            sent = said = -1.0
        if not name or not (0 <= sent < 1 and 0 <= said < 1):
            raise UsageError(
                f"selfheal_prices: {line!r} is not 'model = USD per million input tokens, USD per million output tokens'."
            )
        prices.append((name, Price(sent, said)))
    return tuple(prices)


def _lines(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        for line in text.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield line.strip()


def read_env_file(path: Path) -> None:
    """Put the provider settings of a ``.env`` file into the environment, where it does not have them yet.

    Only names that look like a provider's: the rest of the file is the project's business, and tests inherit the
    environment.
    """
    if not path.is_file():
        return
    dotenv = importlib.import_module("dotenv")
    for name, value in dotenv.dotenv_values(path).items():
        if value and any(fnmatch.fnmatchcase(name, pattern) for pattern in _KEY_NAMES):
            os.environ.setdefault(name, value)
