"""One redactor for all that leaves this process: prompts, traces, reports. Patches never pass through it."""

from __future__ import annotations

import base64
import contextlib
import functools
import html
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from pytest_selfheal.settings import Settings

_PLACEHOLDER: Final = re.compile(r"<secret-\d+>")
_SHORTEST: Final = 6
"""Known values below this length are left alone: hiding every ``1`` or ``test`` would ruin the text."""
_LARGEST: Final = 200_000
"""Bytes of a file that is searched for secrets in advance; all that is ever written is searched anyway."""
_PIECE: Final = 10
"""A bounded repr may cut a secret: its first or last so many characters are enough to recognise the rest."""


_SPELLED: Final = 8
"""Other spellings of shorter values than this would hide what is no secret."""
_START: Final = 3
"""A secret that is broken over lines starts with so many characters in a piece."""


class Redactor:
    """Replaces secrets by placeholders such as ``<secret-3>``; the same secret always gets the same one.

    Thread-safe; redacting twice changes nothing. ``restore(hide(text)) == text`` unless ``text`` itself holds a
    placeholder that was given out before.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._placeholder: dict[str, str] = {}
        self._secret: dict[str, str] = {}
        self._reserved: set[str] = set()
        self._known: tuple[str, ...] = ()
        self._spelled: tuple[str, ...] = ()
        """Other spellings of the known ones."""
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """More values that are secret wherever they appear."""
        with self._lock:
            values = {value.strip() for value in secrets if len(value.strip()) >= _SHORTEST}
            fresh = values.difference(self._known)
            if not fresh:
                return
            # Longest first: a secret that contains another is replaced whole.
            self._known = tuple(sorted(values | set(self._known), key=lambda value: (-len(value), value)))
            spelled = {other for value in fresh for other in _spellings(value)}.union(self._spelled)
            self._spelled = tuple(sorted(spelled.difference(self._known), key=lambda value: (-len(value), value)))

    def learn(self, text: str) -> None:
        """Remember the secrets that can be recognised in ``text``, so that they are hidden without their surroundings too."""
        self.add(find_secrets(text))

    def hide(self, text: str) -> str:
        """``text`` with every known or recognised secret replaced."""
        if not text:
            return text
        self.learn(_PLACEHOLDER.sub("", text))
        with self._lock:
            self._reserved.update(name for name in _PLACEHOLDER.findall(text) if name not in self._secret)
            known, spelled = self._known, self._spelled
        for value in (*known, *spelled):
            if value in text:
                text = text.replace(value, self._for(value))
        for value in known:
            if value[:_START] in text:
                text = _broken(value).sub(lambda found: self._for(found.group()), text)
            if len(value) > _PIECE + 1:
                text = self._hide_pieces(text, value)
        return text

    def restore(self, text: str) -> str:
        """``text`` with every placeholder that this redactor gave out replaced by what it stands for."""
        return _PLACEHOLDER.sub(lambda found: self._secret.get(found.group(), found.group()), text)

    def _hide_pieces(self, text: str, value: str) -> str:
        for at_end in (False, True):
            anchor = value[-_PIECE:] if at_end else value[:_PIECE]
            start = text.find(anchor)
            if start < 0:
                continue
            end = start + _PIECE
            if at_end:
                rest = len(value) - _PIECE
                while start > 0 and rest > 0 and text[start - 1] == value[rest - 1]:
                    start, rest = start - 1, rest - 1
            else:
                while end < len(text) and end - start < len(value) and text[end] == value[end - start]:
                    end += 1
            piece = text[start:end]
            text = text.replace(piece, self._for(piece))
        return text

    def _for(self, value: str) -> str:
        with self._lock:
            if value not in self._placeholder:
                n = len(self._placeholder) + 1
                while f"<secret-{n}>" in self._secret or f"<secret-{n}>" in self._reserved:
                    n += 1
                self._placeholder[value] = f"<secret-{n}>"
                self._secret[f"<secret-{n}>"] = value
            return self._placeholder[value]


def _spellings(value: str) -> Iterator[str]:
    """How a secret may come out of a program that prints it in another form."""
    if len(value) < _SPELLED:
        return
    data = value.encode("utf-8", "surrogatepass")
    others = {value.upper(), value.lower(), value[::-1], data.hex(), data.hex().upper()}
    others |= {repr(value)[1:-1], repr(data)[2:-1], json.dumps(value)[1:-1], html.escape(value)}
    others |= {quote(data), quote(data, safe=""), quote_plus(data)}
    for before in range(3):  # bytes that stand before it in what is encoded
        rest = (len(data) + before) % 3
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(before) + data).decode("ascii")
            others.add(encoded[(0, 2, 3)[before] : len(encoded) - (0, 3, 2)[rest]])
    yield from (other for other in others if len(other) >= _SPELLED)


@functools.lru_cache(maxsize=512)
def _broken(value: str) -> re.Pattern[str]:
    """A secret that is broken over lines or adjacent literals somewhere."""
    between = r"""(?:['"]?[ \t]*\\?(?:\n|\\n)[ \t]*(?:[E>|][ \t]+)?[rbuf]{0,2}['"]?|['"][ \t+]*[rbuf]{0,2}['"])?"""
    return re.compile(between.join(map(re.escape, value)))


def redactor_for(settings: Settings, folders: Iterable[Path], files: Iterable[Path]) -> Redactor:
    """The redactor of one run: values of credentials in the environment and in ``.env`` files of ``folders``, and what
    can be recognised in ``files``, so that it is hidden also where it appears alone (in a compared value, in output)."""
    from pytest_selfheal.judge.environment import stripped_values

    redactor = Redactor(stripped_values(settings))
    for folder in dict.fromkeys(folders):
        redactor.add(env_file_values(folder))
    for path in dict.fromkeys(files):
        with contextlib.suppress(OSError):
            if path.stat().st_size <= _LARGEST:
                redactor.learn(path.read_text(encoding="utf-8", errors="replace"))
    return redactor


def env_file_values(folder: Path) -> Iterator[str]:
    """Values of ``.env`` files in ``folder`` (``.env``, ``.env.local``, …) that are long enough to be secrets."""
    for path in sorted(folder.glob(".env*")):
        if not path.is_file() or path.name.endswith((".example", ".sample", ".template", ".dist")):
            continue
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            name, separator, value = line.partition("=")
            value = value.strip().strip("'\"")
            if separator and not name.lstrip().startswith("#") and len(value) >= 8 and not value.startswith("/"):
                yield value


_BLOCK: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]{1,20000}?(?:-----END [A-Z0-9 ]*-----|\Z)"
)
_URL: Final = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s/:@'\"<>]*:([^\s/@'\"<>]+)@")
_BEARER: Final = re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9._~+/=-]{16,})")
_ASSIGNED: Final = re.compile(
    r"""(?ix)
    \b[\w.-]*(?:api_?-?key|secret(?:_?-?key)?|access_?-?key|private_?-?key|passw(?:or)?d|passphrase|token|credentials?|auth_?-?key)
    (?:_\w+)?['"]?\s*\]?\s*(?::\s*[\w\[\] |.]+\s*=|=>|:|=|==)\s*[rbuf]{0,2}
    (?:"([^"\s]{6,})"|'([^'\s]{6,})'|([A-Za-z0-9+/=_.~!@#$%^&*-]{12,}))
    """
)
_COMMAND: Final = re.compile(
    r"""(?ix)
    --?(?:password|passwd|passphrase|token|secret|api-?key)[ =]['"]?([^\s'"<-][^\s'"]{5,})
    | (?:^|\s)(?:-u|--user)[ =]['"]?[\w.@-]+:([^\s'"]{6,})
    | \b(?:login|user)\s+\S+\s+password\s+(\S{6,})
    """
)
"""Passwords on a command line, and in a ``.netrc``."""
_TOKEN: Final = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{40,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_DENSE: Final = re.compile(r"[A-Za-z0-9+/_=-]{24,}")
_CODE: Final = re.compile(r"^[\w.]+\(|^(?:None|True|False|null|self|os|str|int|bytes)\b|[(){}\[\]]|^\$|^<|^%|\.\.\.")
"""What an assignment to ``token`` often holds without being a secret: calls, names, interpolations."""


def find_secrets(text: str) -> set[str]:
    """Values in ``text`` that look like credentials: key blocks, passwords in URLs, known token formats, assignments to
    names such as ``password``, and dense random strings."""
    found = set(_BLOCK.findall(text))
    found.update(_URL.findall(text))
    found.update(_BEARER.findall(text))
    found.update(_TOKEN.findall(text))
    for groups in _COMMAND.findall(text):
        found.update(value for value in groups if value and not _CODE.search(value))
    for match in _ASSIGNED.finditer(text):
        quoted = match.group(1) or match.group(2)
        value = quoted or match.group(3)
        if _CODE.search(value) or (quoted is None and not _random_looking(value)):
            continue
        if quoted is None or not quoted.isidentifier() or _random_looking(quoted) or any(map(str.isdigit, quoted)):
            found.add(value)
    found.update(value for value in _DENSE.findall(text) if _dense_secret(value))
    for line in text.splitlines():
        if 16 <= len(line) <= 2000:
            for analyze in _detectors():
                found.update(analyze(line))
    return {value for value in found if len(value) >= _SHORTEST}


def _entropy(value: str) -> float:
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _random_looking(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and _entropy(value) > 3.0


def _dense_secret(value: str) -> bool:
    """Mixed case and digits, without the words of a path or an identifier."""
    if len(re.findall(r"\d+", value)) < 3 or not any(map(str.islower, value)) or not any(map(str.isupper, value)):
        return False
    if value.count("/") > 2 or value.count("_") > 2 or value.count("-") > 4 or "0123456789" in value:
        return False
    # Words with numbers between them: of 100,000 random base-62 strings of 24 characters, 77 have such long runs.
    if len(value) > 3 * len(re.findall(r"[a-z]+|[A-Z]+|\d+|[^a-zA-Z\d]+", value)):
        return False
    return _entropy(value) > 4.0


@functools.lru_cache(maxsize=1)
def _detectors() -> tuple[Callable[[str], set[str]], ...]:
    """The token formats that detect-secrets knows (not its entropy and keyword guesses, which hide ordinary code).

    Its plugins are asked directly: its scanner would read settings from the project and may verify keys over the network.
    """
    from detect_secrets.plugins.artifactory import ArtifactoryDetector
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
    from detect_secrets.plugins.base import RegexBasedDetector
    from detect_secrets.plugins.cloudant import CloudantDetector
    from detect_secrets.plugins.discord import DiscordBotTokenDetector
    from detect_secrets.plugins.mailchimp import MailchimpDetector
    from detect_secrets.plugins.npm import NpmDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.square_oauth import SquareOAuthDetector
    from detect_secrets.plugins.stripe import StripeDetector
    from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
    from detect_secrets.plugins.twilio import TwilioKeyDetector

    plugins: tuple[type[RegexBasedDetector], ...] = (
        ArtifactoryDetector,
        AWSKeyDetector,
        AzureStorageKeyDetector,
        CloudantDetector,
        DiscordBotTokenDetector,
        MailchimpDetector,
        NpmDetector,
        SendGridDetector,
        SlackDetector,
        SquareOAuthDetector,
        StripeDetector,
        TelegramBotTokenDetector,
        TwilioKeyDetector,
    )
    return tuple(_ask(plugin()) for plugin in plugins)


def _ask(plugin: object) -> Callable[[str], set[str]]:
    def analyze(line: str) -> set[str]:
        return {str(value) for value in plugin.analyze_string(line)}  # type: ignore[attr-defined]

    return analyze
