"""The reasons in words, and what a person could try next: one vocabulary for terminal, Markdown, HTML and CI."""

from __future__ import annotations

from pytest_selfheal.record.message import money
from pytest_selfheal.types import Excerpt, Outcome, RunReport, StopReason

REASONS: dict[StopReason, str] = {
    "healed": "a verified patch was found",
    "attempts_exhausted": "every allowed attempt failed verification",
    "no_candidate": "no change that was tried makes the tests pass",
    "flaky": "the test passes now and then without any change",
    "not_reproduced": "the failure does not happen again when the test is run alone",
    "environment": "something outside the code is missing",
    "stuck": "the same patch or the same result came again and again",
    "truncated": "the model's reply was cut off",
    "infrastructure": "the model or the sandbox could not be used",
    "cost_limit": "the cost limit was reached",
    "token_limit": "the token limit was reached",
    "time_limit": "the time limit was reached",
    "guarded": "only forbidden edits were proposed",
    "rejected": "a person said no",
    "test_suspect": "the evidence says that the test is wrong, not the code",
    "interrupted": "the run was interrupted",
}

NEXT: dict[StopReason, str] = {
    "healed": "look at the patch, then apply it",
    "attempts_exhausted": "raise --selfheal-attempts, add --selfheal-hint with what you know, or try another model",
    "no_candidate": "try --selfheal-effort thorough, or --selfheal-model NAME to ask a model",
    "flaky": "make the test deterministic (time, order, shared files, randomness), then run again",
    "not_reproduced": "look for state shared between tests: run the whole file, or with -p no:randomly",
    "environment": "install or start what is missing, then run again",
    "stuck": "add --selfheal-hint with what you know, or try another model",
    "truncated": "raise selfheal_coder_max_tokens, or try another model",
    "infrastructure": "run 'selfheal check' to see what works here",
    "cost_limit": "raise --selfheal-max-cost",
    "token_limit": "raise --selfheal-max-tokens",
    "time_limit": "raise --selfheal-time-limit or --selfheal-total-time",
    "guarded": "read what was refused; --selfheal-protect and --selfheal-allow say which files may change",
    "rejected": "run 'selfheal review' to decide again, or add --selfheal-hint",
    "test_suspect": "check the test against the documentation of what it tests",
    "interrupted": "run the same command again",
}


def next_step(outcome: Outcome) -> str:
    """What a person could try next, in a few words."""
    return NEXT[outcome.reason]


def totals(report: RunReport) -> str:
    """One line: how many failures, how many healed, what it cost."""
    count, healed, usage = len(report.outcomes), len(report.healed), report.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    spent = f", {tokens:,} tokens, {money(usage.cost_usd)}" if tokens or usage.cost_usd != 0 else ""
    return f"{healed} of {count} {'cause' if count == 1 else 'causes'} healed in {report.seconds:.1f} s{spent}"


def numbered(excerpt: Excerpt) -> str:
    """Source with line numbers, the suspicious line marked."""
    lines = excerpt.text.split("\n")
    width = len(str(excerpt.first + len(lines)))
    return "\n".join(
        f"{'>' if number == excerpt.line else ' '} {number:>{width}}  {line}".rstrip()
        for number, line in enumerate(lines, excerpt.first)
    )
