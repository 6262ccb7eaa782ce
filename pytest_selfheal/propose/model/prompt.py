"""The words sent to the model: package templates, the context that fits the token budget, and every earlier attempt."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Sequence
from importlib import resources

from pytest_selfheal.propose.model.context import Context, Section, describe
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Attempt, Diagnosis, Failure, FileChange, Verdict

Count = Callable[[str], int]
ANSWER_NOW = "Now give the corrected code"
"""Small models stop before the code when they are asked for a diagnosis first; so it is a comment in the code, and the
last words show how the block begins."""


@functools.cache
def template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8").strip()


@functools.cache
def examples() -> tuple[tuple[str, str], ...]:
    """Few-shot examples of our own: pairs of a prompt and a good reply."""
    raw = json.loads(resources.files(__package__).joinpath("templates", "examples.json").read_text("utf-8"))
    return tuple((one["prompt"], one["reply"]) for one in raw)


def compose(
    diagnosis: Diagnosis,
    context: Context,
    history: Sequence[Attempt],
    evidence: Sequence[str],
    settings: Settings,
    count: Count,
    *,
    structured: bool = False,
    budget: int | None = None,
) -> list[dict[str, str]]:
    """The messages of one round, within ``budget`` tokens (``selfheal_prompt_tokens``) for all of them together.

    Only what cannot be left out (the failure, one form of the suspects, the last attempt) may exceed it.
    """
    budget = settings.prompt_tokens if budget is None else budget
    system = template("coder_json.txt" if structured else "coder.txt")
    messages = [{"role": "system", "content": system}]
    if not structured:
        for asked, said in examples()[: settings.few_shot]:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
    told = [*context.sections, *_told(diagnosis, history, evidence, settings)]
    left = budget - sum(count(message["content"]) + 6 for message in messages)
    last = "" if structured else f"{ANSWER_NOW}{_beginning(context)}"
    body = fit(told, left - count(last), count)
    if last:
        body += f"\n\n{last}"
    return [*messages, {"role": "user", "content": body}]


def fit(sections: Sequence[Section], budget: int, count: Count) -> str:
    """The sections' longest forms that fit together, served by priority, in the given order."""
    chosen: dict[int, str] = {}
    for n in sorted(range(len(sections)), key=lambda n: sections[n].priority):
        section = sections[n]
        must = section.priority <= 2
        for form in section.forms:
            if not form.strip():
                break
            text = f"## {section.title}\n{form}"
            size = count(text)
            if size <= budget or (must and form is section.forms[-1]):
                chosen[n] = text
                budget -= size
                break
    return "\n\n".join(chosen[n] for n in sorted(chosen))


def _told(
    diagnosis: Diagnosis, history: Sequence[Attempt], evidence: Sequence[str], settings: Settings
) -> list[Section]:
    """What is known beyond the code: the person's hint, the engine's findings, earlier rounds."""
    sections = []
    if settings.hint:
        sections.append(Section("Hint from the developer", (settings.hint,), 0))
    found = [*evidence, *(_engine(attempt) for attempt in history if attempt.proposer == "search")]
    if found:
        lines = [f"- {line}" for line in found]
        title = "What a mechanical search for one-edit repairs found (it did not succeed)"
        sections.append(Section(title, ("\n".join(lines[:12]), "\n".join(lines[:4]), ""), 4))
    mine = [attempt for attempt in history if attempt.proposer != "search"]
    if mine:
        sections.append(Section("Earlier attempts, none of which was accepted", _attempts(diagnosis, mine), 1))
    return sections


def _engine(attempt: Attempt) -> str:
    return f"{attempt.description or attempt.diagnosis or 'a patch'}: {attempt.verdict} ({attempt.reason})"


def _attempts(diagnosis: Diagnosis, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """All of them whole; else the older ones without their diffs."""
    before: Failure = diagnosis.failure
    full, brief = [], []
    for attempt in attempts:
        # Neither its diagnosis, which was wrong, nor a reply without a patch is quoted: models repeat what they read.
        head = f"Attempt {attempt.n}"
        after = _what_happened(attempt, before)
        if attempt.result is not None and attempt.result.still_failing:
            before = attempt.result.still_failing[0]
        diff = f"\n```diff\n{_hunks(attempt.diff)}\n```" if attempt.diff.strip() else ""
        full.append(f"{head}{diff}\n{after}")
        brief.append(f"{head}\n{after}")
    end = "\nDo not repeat these. What do they have in common, and what was overlooked? Try a different approach."
    if attempts[-1].verdict == "duplicate":
        end += (
            "\nAt least one line has to differ this time. Follow the failing call through the code line by line, find the"
            " first line that gives a wrong value, and write that line differently."
        )
    return (
        "\n\n".join(full) + "\n" + end,
        "\n\n".join([*brief[:-1], full[-1]]) + "\n" + end,
        "\n\n".join(one[:600] for one in brief[-2:]) + "\n" + end,
    )


def _hunks(diff: str) -> str:
    """Without git's own lines, which say nothing to a model."""
    return "\n".join(line for line in diff.strip().split("\n") if not line.startswith(("diff --git ", "index ")))


_WORDS = {
    "still_failing": "The test still fails.",
    "regressed": "The failing test passed, but other tests broke.",
    "guarded": "The patch was refused before it ran.",
    "malformed": "The reply could not be used.",
    "duplicate": "Nothing was run: the code that came back was the code above, or an earlier attempt, unchanged.",
    "error": "The patch could not be judged.",
    "healed": "The tests pass, but the patch was not accepted.",
}


def _what_happened(attempt: Attempt, before: Failure) -> str:
    lines = [f"Result: {_WORDS.get(attempt.verdict, attempt.verdict)} {attempt.reason}".strip()]
    result = attempt.result
    if result is not None:
        lines += _changed(result, before)
        if result.regressed:
            lines.append("Broken by it: " + ", ".join(result.regressed[:5]))
    if attempt.feedback:
        lines.append(f"Review: {attempt.feedback}")
    return "\n".join(lines)


def _changed(result: Verdict, before: Failure) -> list[str]:
    if not result.still_failing:
        return []
    now = result.still_failing[0]
    if now.signature == before.signature:
        return ["It fails exactly as before the change."]
    return ["It now fails differently:", describe(now, 600)]


def _beginning(context: Context) -> str:
    if not context.opening:
        return "."
    return f", in a block that begins like this (or with the function that you change):\n\n```python\n{context.opening}"


def repair_request(reason: str, context: Context, structured: bool) -> str:
    """The one request for a reply in the right form. It asks for the code alone: the diagnosis is there already."""
    if structured:
        return f"This reply cannot be used: {reason}. Send it again, complete: the JSON object and nothing else."
    return f"This reply cannot be used: {reason}. Send the corrected code now, and nothing else{_beginning(context)}"


def diff(changes: Sequence[FileChange]) -> str:
    """A diff for reading, not for applying."""
    lines: list[str] = []
    for change in changes:
        before, after = ((raw or b"").decode("utf-8", "replace").splitlines() for raw in (change.before, change.after))
        lines += difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", n=3, lineterm="")
    return "\n".join(lines)
