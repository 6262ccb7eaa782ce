"""``report.md`` and ``failures/*.md``: the same story as in the terminal, for a browser or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_selfheal.record import words
from pytest_selfheal.record.message import file_name, money, reproduce, times
from pytest_selfheal.types import Attempt, Outcome, RunReport


def run_report(report: RunReport) -> str:
    """The whole run as Markdown."""
    lines = ["# Self-heal report", "", f"{words.totals(report)}.", ""]
    lines += [f"- {note}" for note in report.notes] + ([""] if report.notes else [])
    if report.outcomes:
        lines += [
            "| id | test | status | reason | confidence | patch or report |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_row(outcome) for outcome in report.outcomes] + [""]
    lines += _generated(report)
    for outcome in report.outcomes:
        lines += _healed(outcome) if outcome.status == "healed" else _unhealed(outcome)
    lines += ["## How", "", f"Model: {report.model}, critic: {report.critic or 'none'}, strategy: {report.strategy}, "]
    lines += [
        f"sandbox: {report.sandbox}. Started {report.started}, took {report.seconds:.1f} s; stop: {report.stop}.",
        "",
    ]
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    diagnosis = outcome.diagnosis
    more = f" (+{len(diagnosis.nodeids) - 1})" if len(diagnosis.nodeids) > 1 else ""
    healed = outcome.status == "healed"
    target = (outcome.patch_file if healed else None) or f"failures/{file_name(outcome)}.md"
    cells = [
        diagnosis.id,
        code(diagnosis.failure.nodeid) + more,
        outcome.status,
        outcome.reason,
        outcome.confidence or "",
        f"[{'patch' if healed else 'report'}]({target})",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _generated(report: RunReport) -> list[str]:
    """Generated tests: a sentence, and figures per function."""
    made = report.test_generation
    if not made:
        return []
    lines = ["## Generated tests", "", *(f"- {text(line)}" for line in str(made.get("words", "")).splitlines()), ""]
    rows = made.get("table") or []
    if len(rows) > 1:
        lines += ["| " + " | ".join(text(str(cell)) for cell in rows[0]) + " |", "|" + " --- |" * len(rows[0])]
        lines += ["| " + " | ".join(text(str(cell)) for cell in row) + " |" for row in rows[1:]]
        lines.append("")
    return lines


def _readable(diff: str) -> str:
    """A diff without the names of git's objects."""
    return re.sub(r"^index [0-9a-f]{40}\.\.[0-9a-f]{40}\n", "", diff, flags=re.MULTILINE)


def _healed(outcome: Outcome) -> list[str]:
    patch, verdict = outcome.patch, outcome.verdict
    lines = [f"## {outcome.diagnosis.id}: healed, {outcome.confidence or 'unknown'} confidence", "", *_error(outcome)]
    if patch is not None:
        lines += [f"**Change:** {text(patch.description)}", ""]
        if patch.diagnosis and patch.diagnosis != patch.description:
            lines += [text(patch.diagnosis), ""]
    lines += [*fenced(_readable(outcome.diff), "diff"), ""]
    if verdict is not None:
        passing = len(verdict.failing_now_pass)
        tests = "1 failing test now passes" if passing == 1 else f"{passing} failing tests now pass"
        lines += [f"**Evidence:** {tests}, {times(verdict.repeats)} in a row; "]
        scope = f" ({text(verdict.scope)})" if verdict.scope else ""
        lines += [f"{verdict.affected_pass} other tests re-run and passing{scope}.", ""]
    if patch is not None:
        lines += [text(patch.note), ""] if patch.note else []
        for other in patch.alternatives:
            hint = f": {code(other.distinguishing_input)}" if other.distinguishing_input else ""
            lines += [f"- Alternative: {text(other.description)}{hint}"]
        lines += [""] if patch.alternatives else []
    lines += [f"Cost: {money(outcome.usage.cost_usd)}; candidates tried: {outcome.candidates_tried}.", ""]
    return lines


def _unhealed(outcome: Outcome) -> list[str]:
    return [
        f"## {outcome.diagnosis.id}: not healed ({outcome.reason})",
        "",
        *_error(outcome),
        text(outcome.words),
        "",
        f"Next: {words.next_step(outcome)}",
        "",
    ]


def failure_report(outcome: Outcome, prefix: str = "") -> str:
    """``failures/NNNN-slug.md``: what was not healed, everything that was tried, and what a person could try next."""
    diagnosis = outcome.diagnosis
    lines = [f"# {diagnosis.id}: not healed", "", f"**Why:** {words.REASONS[outcome.reason]}.", ""]
    lines += [text(outcome.words), ""] if outcome.words else []
    lines += [f"**Next:** {words.next_step(outcome)}", "", "## The failure", "", *_error(outcome)]
    lines += [f"- kind: {diagnosis.kind}; phase: {diagnosis.failure.phase}"]
    lines += [f"- {text(diagnosis.summary)}"] if diagnosis.summary else []
    lines += [f"- tests: {', '.join(code(nodeid) for nodeid in diagnosis.nodeids)}"]
    lines += ["", "Reproduce:", "", *fenced(reproduce(diagnosis.nodeids, prefix), "sh"), ""]
    if outcome.evidence:
        lines += ["## Signals", "", *(f"- {text(signal)}" for signal in outcome.evidence), ""]
    if diagnosis.suspects:
        lines += ["## Suspects", "", "| place | function | suspiciousness | why |", "| --- | --- | --- | --- |"]
        for suspect in diagnosis.suspects[:10]:
            cells = [
                code(f"{suspect.path}:{suspect.line}"),
                code(suspect.function),
                f"{suspect.score:.2f}",
                text(suspect.why),
            ]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    if diagnosis.sources:
        lines += ["## The code in question", ""]
        for excerpt in diagnosis.sources:
            lines += [f"{code(excerpt.function)} in {code(excerpt.path)}:", ""]
            lines += [*fenced(words.numbered(excerpt), ""), ""]
    lines += ["## What was tried", ""]
    lines += (
        [f"Candidates tried by the embedded engine: {outcome.candidates_tried}.", ""]
        if outcome.candidates_tried
        else []
    )
    for attempt in outcome.attempts:
        lines += _attempt(attempt)
    if not outcome.attempts:
        lines += ["No patch came as far as verification.", ""]
    lines += ["## pytest's own report", "", *fenced(diagnosis.failure.text or diagnosis.failure.message, ""), ""]
    return "\n".join(lines)


def _attempt(attempt: Attempt) -> list[str]:
    by = f"{attempt.proposer} ({attempt.model})" if attempt.model else attempt.proposer
    spent = f"{attempt.seconds:.1f} s, {money(attempt.usage.cost_usd)}"
    lines = [f"### Attempt {attempt.n}: {attempt.verdict} (by {by}; {spent})", ""]
    lines += [text(attempt.diagnosis), ""] if attempt.diagnosis else []
    lines += [f"**Outcome:** {text(attempt.reason)}", ""]
    lines += [*fenced(_readable(attempt.diff), "diff"), ""] if attempt.diff else []
    return lines + ([f"**Feedback:** {text(attempt.feedback)}", ""] if attempt.feedback else [])


def _error(outcome: Outcome) -> list[str]:
    failure = outcome.diagnosis.failure
    message = f"{failure.exception}: {failure.message}" if failure.message else failure.exception
    where = [f"at {code(f'{failure.innermost.path}:{failure.innermost.line}')}"] if failure.innermost else []
    return [code(failure.nodeid) + (" " + where[0] if where else ""), "", *fenced(message[:2000], ""), ""]


def code(value: str) -> str:
    """``value`` as inline code, whatever backticks it holds."""
    flat = " ".join(value.split())
    longest = max((len(run) for run in re.findall("`+", flat)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}" if flat else ""


def fenced(value: str, language: str) -> Iterable[str]:
    """A code block that its own content cannot end."""
    longest = max((len(run) for run in re.findall("`{3,}", value)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}", value.rstrip("\n"), fence]


def text(value: str) -> str:
    """Words from elsewhere as one paragraph, never markup."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(value.split()))
