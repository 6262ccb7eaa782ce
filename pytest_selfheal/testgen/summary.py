"""What the report says of generated tests: per function the figures before and after, what was kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_selfheal.testgen.common import Kept
from pytest_selfheal.testgen.job import Found

MAX_DROPPED = 10
"""So many dropped tests are told one by one."""


def entry(found: Found, kept: Kept, outcome: str = "") -> dict[str, Any]:
    """One function, as JSON data. Figures after are those of the existing tests together with the kept ones."""
    label = found.target.label
    tests = kept.tests.get(label, [])
    dropped = [{"test": test, "reason": why} for test, why in sorted(kept.dropped.get(label, {}).items())]
    reason = found.reason
    if not tests and not reason:
        reason = dropped[0]["reason"] if dropped else "none of its tests proved anything"
    elif not tests and "model" in kept.dropped.get(label, {}):
        reason = f"{reason}; the model's tests: {kept.dropped[label]['model']}"
    return {
        "function": label,
        "failure": outcome or None,
        "tests": tests,
        "proposed": max(len(found.cases), len(tests)),
        "kept": len(tests),
        "dropped": dropped,
        "not_asserted": dict(sorted(found.dropped.items(), key=lambda item: -item[1])[:6]),
        "reason": None if tests else reason,
        "inputs_tried": found.tried,
        "lines": {
            "total": found.lines,
            "before": found.lines_before,
            "after": _after(tests, found.lines_before, found.lines_after),
            "missed": list(found.missed) if tests else None,
        },
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


def report(
    functions: Sequence[dict[str, Any]],
    use: str,
    files: Sequence[str],
    notes: Sequence[str] = (),
    patch: str | None = None,
) -> dict[str, Any]:
    """``test_generation`` of the run's report. ``patch``: of the tests alone, relative to the run's folder."""
    return {
        "use": use,
        "words": words(functions, notes),
        "table": table(functions),
        "files": list(files),
        "patch": patch,
        "functions": list(functions),
    }


def words(functions: Sequence[dict[str, Any]], notes: Sequence[str] = ()) -> str:
    """What people are told: a sentence of totals, why functions have no tests, and which proposed tests were dropped and why."""
    if not functions:
        return " ".join(notes) or "No tests were generated: no function of the project was changed."
    kept, dropped = sum(f["kept"] for f in functions), sum(len(f["dropped"]) for f in functions)
    count = len(functions)
    with_tests = sum(bool(f["kept"]) for f in functions)
    lines = [
        f"generated tests: {kept} kept, {dropped} dropped; "
        f"{with_tests} of {count} {'function has' if count == 1 else 'functions have'} tests"
    ]
    lines += [f"no test for {f['function']}: {f['reason']}" for f in functions if not f["kept"]][:20]
    told = [d for f in functions if f["kept"] for d in f["dropped"]]
    lines += [f"dropped {d['test']}: {d['reason']}" for d in told[:MAX_DROPPED]]
    lines += [f"dropped {len(told) - MAX_DROPPED} more, see report.json"] if len(told) > MAX_DROPPED else []
    return "\n".join([*lines, *notes])


HEADER = ("function", "tests", "lines", "branches", "mutants killed")


def table(functions: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Rows of text for people, the header first: figures before → after of all there are."""
    rows = [list(HEADER)]
    for function in functions:
        mutants = function["mutants"]
        rows.append(
            [
                str(function["function"]),
                f"{function['kept']} of {function['proposed']}",
                *(_figures(function[what]["before"], function[what]) for what in ("lines", "branches")),
                _figures(mutants["killed_before"], {"after": mutants["killed_after"], "total": mutants["total"]}),
            ]
        )
    return rows if functions else []


def _figures(before: int | None, figures: dict[str, Any]) -> str:
    if not figures["total"]:
        return "–"
    after = "?" if figures["after"] is None else figures["after"]
    return f"{'?' if before is None else before} → {after} of {figures['total']}"
