"""What people are told before the first call: where their code goes, what it may cost at worst, what works here."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pytest_selfheal.propose.model.chat import Chat, is_loopback
from pytest_selfheal.propose.model.errors import LibraryMissing
from pytest_selfheal.propose.model.loading import library
from pytest_selfheal.settings import Settings


def _chats(settings: Settings, rootdir: Path | None = None) -> dict[str, Chat]:
    """Who is asked in this run, by role."""
    names = {"model": settings.model if settings.model != "builtin" else None, "critic": settings.critic}
    return {role: Chat(name, settings, rootdir or Path.cwd()) for role, name in names.items() if name}


def host_notice(settings: Settings) -> str | None:
    """The line that names every host which will receive source code; ``None`` when all of it stays on this machine."""
    hosts = list(dict.fromkeys(chat.host() for chat in _chats(settings).values()))
    away = [host for host in hosts if not is_loopback(host)]
    if not away:
        return None
    return f"Source code and failure messages of this project will be sent to {' and '.join(away)} (secrets are replaced by placeholders)."


def worst_case(settings: Settings, failures: int) -> str:
    """The most that ``failures`` causes can cost in this run, in a sentence."""
    chats = _chats(settings)
    if not chats:
        return "The embedded engine costs nothing."
    rounds = failures * settings.attempts * settings.samples
    # Each round may need one repair request, and the critic one retry.
    calls = {"model": (rounds * 2, settings.coder_max_tokens), "critic": (rounds * 2, settings.critic_max_tokens)}
    tokens, cost = 0, 0.0
    known = True
    for role, chat in chats.items():
        count, limit = calls[role]
        tokens += count * (settings.prompt_tokens + limit)
        price = chat.worst_case(settings.prompt_tokens, limit)
        known &= price is not None
        cost += count * (price or 0.0)
    tokens = min(tokens, settings.max_tokens)
    causes = f"{failures} failure" + ("s" if failures != 1 else "")
    if not known:
        return f"At worst {causes} will use {tokens:,} tokens; the price of this model is not known (selfheal_prices), so only the token cap holds."
    spent = min(cost, settings.max_cost)
    cap = f"; the cap is ${settings.max_cost:.2f}" if cost <= settings.max_cost else ", where the cap ends it"
    return f"At worst {causes} will cost ${spent:.2f} and {tokens:,} tokens{cap}."


class Announcement:
    """Tells people what a run may send and spend, worked out beside the healing because it needs the model library."""

    def __init__(self, settings: Settings, failures: int, say: Callable[[str, bool], None]) -> None:
        """``say(line, important)``; where source code goes is important."""
        self._settings = settings
        self._failures = failures
        self._say = say
        self._thread = threading.Thread(target=self._run, name="selfheal-notice", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(Exception):  # said when it is needed
            self._say(worst_case(self._settings, self._failures), False)
            if line := host_notice(self._settings):
                self._say(line, True)

    def wait(self) -> None:
        """Until it has been said: before the first call to a model."""
        self._thread.join()


def check_model(settings: Settings) -> list[str]:
    """Lines for ``selfheal check``, each beginning with ``ok``, ``note`` or ``problem``. Sends no prompt, costs nothing."""
    if not _chats(settings):
        return ["ok: the embedded engine needs no model"]
    try:
        library()
    except LibraryMissing as error:
        return [f"problem: {error}"]
    lines: list[str] = []
    for role, chat in _chats(settings).items():
        provider = chat.provider()
        if not provider:
            near = chat.near_names()
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            lines.append(f"problem: {role} {chat.model}: no such provider; the form is provider/name{hint}")
            continue
        lines.append(_key(role, chat))
        lines.append(_endpoint(role, chat))
        price = chat.price()
        if price is None:
            lines.append(
                f"note: {role} {chat.model}: price unknown, costs will be null; declare it with selfheal_prices"
            )
        else:
            lines.append(
                f"ok: {role} {chat.model}: ${price.input * 1e6:g} in, ${price.output * 1e6:g} out per million tokens"
            )
    return lines


def _key(role: str, chat: Chat) -> str:
    missing: list[str] = []
    with contextlib.suppress(Exception):
        missing = list(library().validate_environment(chat.model).get("missing_keys") or ())
    if not missing or "api_key" in chat.params:
        return f"ok: {role} {chat.model}: key present, or none needed"
    if chat.settings.api_base:
        return f"note: {role} {chat.model}: {', '.join(missing)} not set; fine for an endpoint that wants no key"
    return f"problem: {role} {chat.model}: {', '.join(missing)} not set in the environment"


def _endpoint(role: str, chat: Chat) -> str:
    base = chat.base()
    if not base:
        return f"note: {role} {chat.model}: the address is chosen by litellm ({chat.provider()})"
    parts = urlsplit(base if "//" in base else f"//{base}")
    host = parts.hostname or base
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        with socket.create_connection((host, port), timeout=3):
            return f"ok: {role} {chat.model}: {host}:{port} is reachable"
    except OSError as error:
        return f"problem: {role} {chat.model}: {host}:{port} cannot be reached ({error.strerror or error})"
