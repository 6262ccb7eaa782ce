"""``report.html``: one file without outside assets, for a browser, a phone or a printer.

Everything that came from tests, models or files is text: the template escapes it, Pygments escapes what it colours, and
a content security policy lets no script run but the report's own.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_selfheal.record import words
from pytest_selfheal.record.diff import Hunk, parse
from pytest_selfheal.record.message import money, reproduce
from pytest_selfheal.record.report import rootdir_prefix
from pytest_selfheal.types import Attempt, Outcome, RunReport

_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_TEXT_LIMIT = 20_000
_ATTEMPT_LIMIT = 40
"""Attempts of one cause that are told in full; report.json has all."""

Hide = Callable[[str], str]


def render(report: RunReport, hide: Hide = str, events: Iterable[Mapping[str, Any]] = ()) -> str:
    """The page. ``events`` are those of ``trace.jsonl``; without them there is no timeline."""
    import pytest
    from markupsafe import Markup

    from pytest_selfheal import __version__

    environment, css, script = _assets()
    prefix = rootdir_prefix(Path(report.rootdir), Path(report.top)) if report.top and report.rootdir else ""
    page = environment.get_template("report.html.j2")
    html: str = page.render(
        report=report,
        totals=words.totals(report),
        causes=[_cause(outcome, hide, prefix) for outcome in report.outcomes],
        timeline=_timeline(report, events),
        cost=money(report.usage.cost_usd),
        tokens=report.usage.prompt_tokens + report.usage.completion_tokens,
        made=_generation(report, hide),
        notes=[hide(note) for note in report.notes],
        tool=f"pytest-selfheal {__version__}",
        python=platform.python_version(),
        pytest=pytest.__version__,
        system=platform.platform(),
        css=Markup(css),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html


@lru_cache(maxsize=1)
def _assets() -> tuple[Any, str, str]:
    """The template's environment, the style sheet and the script."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.PackageLoader("pytest_selfheal.record", "templates")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else fit(str(value)),
    )
    css, script = (loader.get_source(environment, name)[0] for name in ("report.css", "report.js"))
    return environment, css + _colours(), script


def fit(text: str) -> str:
    """``text`` with only characters that HTML may hold."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def _cause(outcome: Outcome, hide: Hide, prefix: str) -> dict[str, Any]:
    """What the template needs of one cause, redacted. ``prefix``: the way from the top to pytest's rootdir."""
    diagnosis, patch, verdict = outcome.diagnosis, outcome.patch, outcome.verdict
    failure = diagnosis.failure
    healed = outcome.status == "healed"
    place = failure.innermost
    nodeids = [hide(nodeid) for nodeid in diagnosis.nodeids]  # parameters become part of them
    return {
        "id": diagnosis.id,
        "healed": healed,
        "status": outcome.status,
        "reason": outcome.reason,
        "reason_words": words.REASONS[outcome.reason],
        "next": words.next_step(outcome),
        "words": hide(outcome.words),
        "nodeids": nodeids,
        "kind": diagnosis.kind,
        "phase": failure.phase,
        "error": hide(f"{failure.exception}: {failure.message}" if failure.message else failure.exception)[:2000],
        "place": f"{place.path}:{place.line}" if place else "",
        "summary": hide(diagnosis.summary),
        "suspects": diagnosis.suspects[:8],
        "sources": [(e.path, e.function, hide(words.numbered(e))) for e in diagnosis.sources],
        "text": hide(failure.text[:_TEXT_LIMIT]),
        "evidence": [hide(signal) for signal in outcome.evidence],
        "confidence": outcome.confidence or "",
        "description": hide(patch.description) if patch else "",
        "why": hide(patch.diagnosis) if patch and patch.diagnosis != patch.description else "",
        "note": hide(patch.note) if patch else "",
        "alternatives": [(hide(a.description), hide(a.distinguishing_input)) for a in patch.alternatives]
        if patch
        else [],
        "files": side_by_side(hide(outcome.diff)) if healed else [],
        "patch_file": outcome.patch_file if healed else None,
        "verdict": verdict if healed else None,
        "attempts": [_attempt(attempt, hide) for attempt in outcome.attempts[:_ATTEMPT_LIMIT]],
        "more_attempts": max(0, len(outcome.attempts) - _ATTEMPT_LIMIT),
        "candidates": outcome.candidates_tried,
        "tried": f"{outcome.candidates_tried:,} candidate{'' if outcome.candidates_tried == 1 else 's'} tried",
        "seconds": outcome.seconds,
        "cost": money(outcome.usage.cost_usd),
        "tokens": outcome.usage.prompt_tokens + outcome.usage.completion_tokens,
        "reproduce": reproduce(nodeids, prefix),
        "generated": outcome.generated_tests,
    }


def _attempt(attempt: Attempt, hide: Hide) -> dict[str, Any]:
    return {
        "n": attempt.n,
        "by": f"{attempt.proposer} ({attempt.model})" if attempt.model else attempt.proposer,
        "verdict": attempt.verdict,
        "description": hide(attempt.description),
        "diagnosis": hide(attempt.diagnosis) if attempt.diagnosis != attempt.description else "",
        "reason": hide(attempt.reason),
        "feedback": hide(attempt.feedback),
        "score": attempt.critic_score,
        "seconds": attempt.seconds,
        "cost": money(attempt.usage.cost_usd),
        "tokens": attempt.usage.prompt_tokens + attempt.usage.completion_tokens,
        "files": side_by_side(hide(attempt.diff)) if attempt.verdict != "healed" else [],
    }


def _generation(report: RunReport, hide: Hide) -> dict[str, Any] | None:
    made = report.test_generation
    if not made:
        return None
    rows = [[hide(str(cell)) for cell in row] for row in made.get("table") or ()]
    return {
        "words": hide(str(made.get("words", ""))).splitlines(),
        "head": rows[0] if rows else [],
        "rows": rows[1:],
        "patch": made.get("patch"),
    }


# --- diffs -----------------------------------------------------------------------------------------------------------


def side_by_side(diff: str) -> list[dict[str, Any]]:
    """For each file its path, what happens to it, and hunks of rows ``(kind, old line, old HTML, new line, new HTML)``."""
    files = []
    for patch in parse(diff.encode("utf-8", "surrogateescape")):
        what = "new file" if patch.old is None else "deleted" if patch.new is None else ""
        files.append({"path": patch.path, "what": what, "hunks": [_rows(hunk, patch.path) for hunk in patch.hunks]})
    return files


def _rows(hunk: Hunk, path: str) -> list[tuple[str, str, Any, str, Any]]:
    from difflib import SequenceMatcher

    old, new = (_coloured(side, path) for side in (hunk.before, hunk.after))
    rows: list[tuple[str, str, Any, str, Any]] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, hunk.before, hunk.after, autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + step, j1 + step
            left = (str(hunk.old_start + i + 1), old[i]) if i < i2 else ("", "")
            right = (str(hunk.new_start + j + 1), new[j]) if j < j2 else ("", "")
            rows.append(("same" if tag == "equal" else "changed", *left, *right))
    return rows


def _coloured(lines: Sequence[bytes], path: str) -> list[Any]:
    """Each line as HTML; the colours are a guess where a hunk starts inside a string, the text never is."""
    from markupsafe import Markup
    from pygments import highlight
    from pygments.util import ClassNotFound

    texts = [fit(line.rstrip(b"\r\n").decode("utf-8", "replace")).replace("\r", "␍") for line in lines]
    try:
        lexer = _lexer(path)
    except ClassNotFound:
        lexer = _lexer("x.txt")
    before = ['"""'] if path.endswith((".py", ".pyi")) and _starts_in_docstring(texts) else []
    html = highlight("\n".join([*before, *texts]) + "\n", lexer, _formatter()).split("\n")[len(before) : -1]
    if len(html) != len(texts):  # a lexer that drops or joins lines would show the wrong text
        return list(texts)
    return [Markup(line) for line in html]


def _starts_in_docstring(lines: Sequence[str]) -> bool:
    """Whether the first triple quote of a hunk ends a docstring that began before it, as far as one can tell."""
    first = next((number for number, line in enumerate(lines) if '"""' in line), None)
    if first is None or sum(line.count('"""') for line in lines) % 2 == 0:
        return False
    before, after = lines[first].split('"""', 1)
    above = next((line for line in reversed(lines[:first]) if line.strip()), "")
    return not after.strip() and not (before.strip() or above.rstrip()).endswith((":", "(", "=", ","))


@lru_cache(maxsize=1)
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


@lru_cache(maxsize=32)
def _lexer(path: str) -> Any:
    from pygments.lexers import get_lexer_for_filename

    return get_lexer_for_filename(path, stripnl=False, ensurenl=False)


def _colours() -> str:
    from pygments.formatters import HtmlFormatter

    def of(style: str, scope: str) -> str:
        rules = HtmlFormatter(style=style).get_style_defs(f"{scope} .code")
        # The page decides on backgrounds, and a hunk that begins inside a string is no fault of the code.
        unwanted = ("background", "line-height", ".err ")
        return "\n".join(rule for rule in rules.splitlines() if not any(word in rule for word in unwanted))

    # Styles whose every colour is readable on the page's red and green; paper is white whatever the screen was.
    dark = of("github-dark", ":root[data-theme=dark]")
    system = of("github-dark", ":root:not([data-theme=light])")
    return (
        f"\n{of('xcode', ':root')}\n@media screen {{\n{dark}\n}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n{system}\n}}\n"
    )


# --- timeline --------------------------------------------------------------------------------------------------------


def _timeline(report: RunReport, events: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Bars (a cause each, from its first second to its last), attempts as ticks, and the money spent until then."""
    events = list(events)
    ends = {str(e.get("id")): float(e["t"]) for e in events if e.get("event") == "outcome"}
    attempts = [e for e in events if e.get("event") == "attempt"]
    if not ends:
        return None
    last = max([*ends.values(), *(float(e["t"]) for e in attempts), 0.001])
    bars = []
    for outcome in report.outcomes:
        id = outcome.diagnosis.id
        if id not in ends:
            continue
        start = max(0.0, ends[id] - outcome.seconds)
        width = max(3.0, 1000 * (ends[id] - start) / last)
        ticks = [(1000 * float(e["t"]) / last, str(e.get("verdict"))) for e in attempts if e.get("id") == id]
        bars.append(
            {
                "id": id,
                "healed": outcome.status == "healed",
                "x": min(1000 * start / last, 1000 - width),  # what took no time at the end shows as well
                "width": width,
                "ticks": ticks,
                "told": f"{outcome.seconds:.1f} s, {outcome.candidates_tried} candidates, {money(outcome.usage.cost_usd)}",
            }
        )
    spent, line = 0.0, [(0.0, 0.0)]
    for event in attempts:
        spent += float(event.get("cost_usd") or 0.0)
        line.append((1000 * float(event["t"]) / last, spent))
    points = " ".join(f"{x:.1f},{60 - 56 * cost / spent:.1f}" for x, cost in [*line, (1000.0, spent)]) if spent else ""
    unknown = any(event.get("cost_usd", 0.0) is None for event in attempts)
    return {"bars": bars, "seconds": last, "money": points, "spent": f"{'at least ' if unknown else ''}{money(spent)}"}
