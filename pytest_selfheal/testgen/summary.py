"""What the report says of generated tests: per function the figures before and after, what was kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_selfheal.testgen.common import Kept
from pytest_selfheal.testgen.job import Found


def entry(found: Found, kept: Kept, outcome: str = "") -> dict[str, Any]:
    """One function, as JSON data. Figures after are those of the existing tests together with the kept ones."""
    label = found.target.label
    tests = kept.tests.get(label, [])
    dropped = [{"test": test, "reason": why} for test, why in sorted(kept.dropped.get(label, {}).items())]
    reason = found.reason
    if not tests and not reason:
        reason = dropped[0]["reason"] if dropped else "none of its tests proved anything"
    return {
        "function": label,
        "failure": outcome or None,
        "tests": tests,
        "proposed": len(found.cases),
        "kept": len(tests),
        "dropped": dropped,
        "not_asserted": dict(sorted(found.dropped.items(), key=lambda item: -item[1])[:6]),
        "reason": None if tests else reason,
        "inputs_tried": found.tried,
        "lines": {"total": found.lines, "before": found.lines_before, "after": _after(tests, found.lines_before, found.lines_after)},
        "branches": {
            "total": found.branches,
            "before": found.branches_before,
            "after": _after(tests, found.branches_before, found.branches_after),
        },
        "mutants": {
            "total": found.mutants,
            "killed_before": found.killed_before,
            "killed_after": found.killed_after if tests else found.killed_before,
            "killed_alone": found.killed_alone if tests else 0,
            "alive": found.alive,
        },
    }


def _after(tests: Sequence[str], before: int, after: int) -> int:
    return after if tests else before


def report(functions: Sequence[dict[str, Any]], use: str, files: Sequence[str], notes: Sequence[str] = ()) -> dict[str, Any]:
    """``test_generation`` of the run's report."""
    return {
        "use": use,
        "functions": list(functions),
        "files": list(files),
        "words": words(functions, files, notes),
    }


def words(functions: Sequence[dict[str, Any]], files: Sequence[str], notes: Sequence[str] = ()) -> str:
    """What the terminal says: a sentence of totals, then a line for each function."""
    kept = sum(f["kept"] for f in functions)
    if not functions:
        return " ".join(notes) or "No tests were generated: no function of the project was changed."
    with_tests = sum(bool(f["kept"]) for f in functions)
    lines = [
        f"generated tests: {kept} kept, for {with_tests} of {len(functions)} {'function' if len(functions) == 1 else 'functions'}"
    ]
    lines += [f"  {line(f)}" for f in functions[:30]]
    return "\n".join([*lines, *notes])


def line(function: dict[str, Any]) -> str:
    """One function in a line."""
    name = str(function["function"])
    if not function["kept"]:
        return f"{name}: none, {function['reason']}"
    parts = [f"{function['kept']} kept of {function['proposed']}"]
    for what in ("lines", "branches"):
        figures = function[what]
        if figures["total"]:
            parts.append(f"{what} {figures['before']} → {figures['after']} of {figures['total']}")
    mutants = function["mutants"]
    if mutants["total"]:
        before = "?" if mutants["killed_before"] is None else mutants["killed_before"]
        parts.append(f"mutants killed {before} → {mutants['killed_after']} of {mutants['total']}")
    return f"{name}: {', '.join(parts)}"
