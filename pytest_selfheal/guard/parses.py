"""What cannot be parsed cannot be reviewed."""

from __future__ import annotations

from pytest_selfheal.guard.facts import Facts


def check(facts: Facts) -> str | None:
    for source in facts.sources:
        if source.after is None and source.change.after is not None:
            return f"{source.path} would not be valid Python"
        if source.change.after is None and source.change.before is not None:
            return f"{source.path} would be deleted"
    return None
