"""A patch's message: what was wrong, what was changed, and the evidence. Also the mail-style patch around it."""

from __future__ import annotations

import re
import shlex
import textwrap
import time
from collections.abc import Callable, Sequence
from email.header import Header
from email.utils import formatdate, parseaddr
from functools import lru_cache
from pathlib import Path

from pytest_selfheal.record import git
from pytest_selfheal.record.diff import diffstat, make_diff
from pytest_selfheal.types import FileChange, Outcome

FALLBACK_AUTHOR = "pytest-selfheal <pytest-selfheal@localhost>"
_NAMED = 10
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def subject(outcome: Outcome) -> str:
    """One line, at most 72 characters: what the change does."""
    assert outcome.patch is not None
    return textwrap.shorten(_clean(outcome.patch.description) or "repair the code under test", 72, placeholder=" …")


def body(outcome: Outcome, prefix: str = "") -> str:
    """The evidence, wrapped at 76. ``prefix``: the way from the top to pytest's rootdir, empty when they are the same."""
    patch, verdict, failure = outcome.patch, outcome.verdict, outcome.diagnosis.failure
    assert patch is not None
    parts = [_wrap(f"{failure.exception}: {_first_line(failure.message)}" if failure.message else failure.exception)]
    why = patch.diagnosis or outcome.diagnosis.summary
    if why and _clean(why) != _clean(patch.description):  # which is the subject
        parts.append(_wrap(why))
    if verdict is not None:
        passing = verdict.failing_now_pass
        parts.append(_listed(f"Failed before, {times(verdict.repeats)} passed with this patch:", passing))
        scope = f" ({verdict.scope})" if verdict.scope else ""
        parts.append(_wrap(f"Other tests re-run and passing: {verdict.affected_pass}{scope}"))
        if verdict.guards:
            parts.append(_wrap(f"Guards passed: {', '.join(verdict.guards)}"))
        parts.append(f"Sandbox: {verdict.sandbox}")
    facts = [f"Confidence: {outcome.confidence or patch.confidence}", f"Proposed by: {patch.model or patch.proposer}"]
    if outcome.candidates_tried:
        facts.append(f"Candidates tried: {outcome.candidates_tried}")
    facts.append(f"Cost: {money(outcome.usage.cost_usd)}, {outcome.seconds:.1f} s")
    parts.append("\n".join(_wrap(fact) for fact in facts))
    if patch.note:
        parts.append(_wrap(f"Note: {patch.note}"))
    for other in patch.alternatives[:3]:
        hint = f" ({other.distinguishing_input})" if other.distinguishing_input else ""
        parts.append(_wrap(f"Alternative: {other.description}{hint}"))
    parts.append("Reproduce:\n  " + reproduce(outcome.diagnosis.nodeids, prefix))
    text = "\n\n".join(part for part in parts if part)
    return "\n".join(_harmless(line) for line in text.splitlines())


def file_name(outcome: Outcome) -> str:
    """``NNNN-slug``: what the patch or the failure report of a cause is called, after its test."""
    name = outcome.diagnosis.failure.nodeid.split("::")[-1]
    name = name.split("[")[0].removesuffix(".py").rsplit("/", 1)[-1]
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "failure"
    return f"{outcome.diagnosis.id}-{slug}"


def trailers(outcome: Outcome) -> list[str]:
    """Machine-readable last lines of a message."""
    lines = [f"Selfheal-Id: {outcome.diagnosis.id}"]
    if outcome.includes:
        lines.append("Selfheal-Includes: " + ", ".join(outcome.includes))
    return lines


def reproduce(nodeids: Sequence[str], prefix: str = "") -> str:
    """The shell line that runs the tests."""
    shown = " ".join(shlex.quote(_clean(nodeid)) for nodeid in nodeids[:_NAMED])
    return (f"cd {shlex.quote(prefix)} && " if prefix else "") + f"python -m pytest {shown}"


@lru_cache(maxsize=64)
def identity(top: Path, setting: str | None) -> str:
    """``Name <address>``: the setting's, else the user's git identity, else a neutral one."""
    if setting and "@" in parseaddr(setting)[1]:
        return setting
    repo = git.find_repo(top)
    if repo is not None:
        name = git.in_repo(repo, "config", "--get", "user.name").lines
        address = git.in_repo(repo, "config", "--get", "user.email").lines
        if name and address:
            return f"{name[0]} <{address[0]}>"
    return FALLBACK_AUTHOR


def mail_patch(
    outcome: Outcome,
    *,
    author: str = FALLBACK_AUTHOR,
    signoff: bool = False,
    prefix: str = "",
    hide: Callable[[str], str] = str,
) -> bytes:
    """The healed patch as a mail for ``git apply`` and ``git am``; paths are relative to the top.

    ``hide`` redacts the message; the diff is never altered.
    """
    assert outcome.patch is not None
    changes = outcome.patch.changes
    name, address = parseaddr(author)
    sender = f"{_header(name)} <{address}>" if name else address
    ending = [*trailers(outcome), *([f"Signed-off-by: {author}"] if signoff else [])]
    lines = [
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001",
        f"From: {sender}",
        f"Date: {formatdate(time.time(), localtime=True)}",
        f"Subject: [PATCH] {_header(hide(subject(outcome)))}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        hide(body(outcome, prefix)),
        "",
        *ending,
        "---",
        *_stat(changes),
        "",
        "",
    ]
    from pytest_selfheal import __version__

    head = "\n".join(lines).encode("utf-8", "backslashreplace")
    return head + make_diff(changes) + f"-- \npytest-selfheal {__version__}\n\n".encode()


def _stat(changes: Sequence[FileChange]) -> list[str]:
    rows = diffstat(changes)
    width = max((len(path) for path, _, _ in rows), default=0)
    lines = [
        f" {_clean(path):<{width}} | {added + gone} {'+' * min(added, 20)}{'-' * min(gone, 20)}"
        for path, added, gone in rows
    ]
    added, gone = sum(row[1] for row in rows), sum(row[2] for row in rows)
    counts = [
        f"{count} {word}{'s' * (count != 1)}({sign})"
        for count, word, sign in ((added, "insertion", "+"), (gone, "deletion", "-"))
        if count
    ]
    return [*lines, ", ".join([f" {len(rows)} file{'s' * (len(rows) != 1)} changed", *counts])]


def _header(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=900).encode()


def _clean(text: str) -> str:
    """One line without control characters, which would break a header or a terminal."""
    return _CONTROL.sub("�", " ".join(text.split()))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def _wrap(text: str) -> str:
    lines = [_CONTROL.sub("�", line) for line in text.strip().splitlines()]
    return "\n".join(textwrap.fill(line, 76, break_long_words=False, break_on_hyphens=False) for line in lines)


def _listed(title: str, items: Sequence[str]) -> str:
    shown = [f"  {_clean(item)}" for item in items[:_NAMED]]
    more = [f"  … and {len(items) - _NAMED} more"] if len(items) > _NAMED else []
    return "\n".join([title, *shown, *more])


def _harmless(line: str) -> str:
    """Indent a line that `git am` would take for the message's end or the start of the diff."""
    return f"  {line}" if re.match(r"---|diff -|Index: |From |@@ |\+\+\+ |>|-- ?$", line) else line


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def money(cost: float | None) -> str:
    """A cost for people; an unknown price is never shown as 0."""
    if cost is None:
        return "unknown price"
    return "$0" if cost == 0 else f"${cost:.4f}" if cost < 0.1 else f"${cost:.2f}"


def trailer(message: str, name: str) -> str:
    """The value of a trailer as :func:`trailers` writes it; empty without it."""
    found = re.findall(rf"^{name}: (.*)$", message, re.MULTILINE)
    return str(found[-1]).strip() if found else ""
