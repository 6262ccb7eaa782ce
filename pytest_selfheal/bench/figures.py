"""From lines to figures: the summary that is written beside them, and what tables and plots show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_selfheal.bench import statistics
from pytest_selfheal.bench.line import Line, add_prices

ROLES = ("coder", "critic")


def summarise(lines: Sequence[Line], num_problems: int = 0) -> dict[str, Any]:
    """``benchmark_summary`` of the results file. ``ci95`` is null without SciPy; unknown prices make sums null."""
    total, passed = len(lines), sum(line.is_complete for line in lines)
    zero = sum(line.zero_shot for line in lines)
    spent, all_known = add_prices([line.cost.get(role, 0.0) for line in lines for role in ROLES])
    compared = [line for line in lines if line.equivalent is not None]
    refused: Counter[str] = Counter()
    for line in lines:
        refused.update(dict(line.guarded))
    confident = [line for line in lines if line.claimed and line.confidence == "high"]
    return {
        "problems": {
            "total": total,
            "passed": passed,
            "pass_rate": _rate(passed, total),
            "ci95": interval(lines),
            "zero_shot_rate": _rate(zero, total),
            "lift": _rate(passed - zero, total),
            "equivalent": sum(line.equivalent is True for line in lines),
            "compared": len(compared),
            "claimed_but_wrong": sum(line.claimed and not line.is_complete for line in lines),
            "high_confidence": len(confident),
            "high_confidence_wrong": sum(not line.is_complete for line in confident),
            "unfinished": max(0, num_problems - len({line.task_id for line in lines})),
        },
        "runs": runs(lines),
        "iterations": {"mean": _rate(sum(line.iterations for line in lines), total)},
        "termination_reasons": dict(Counter(line.termination_reason for line in lines).most_common()),
        "guard_refusals": dict(refused.most_common()),
        "token_usage": {role: sum(line.token_usage.get(role, 0) for line in lines) for role in ROLES},
        "cost": {
            "total": spent if all_known else None,
            "known": spent,
            "per_pass": spent / passed if all_known and passed else None,
            **{role: _price([line.cost.get(role, 0.0) for line in lines]) for role in ROLES},
        },
        "seconds": sum(line.seconds for line in lines),
        "cpu_seconds": sum(line.cpu_seconds for line in lines),
    }


def runs(lines: Sequence[Line]) -> dict[str, Any]:
    """Each repeat's pass rate, their mean and standard deviation. Repeats that did not see every task are left out."""
    tasks = {line.task_id for line in lines}
    rates = []
    for number in sorted({line.run for line in lines}):
        mine = [line for line in lines if line.run == number]
        if len(mine) == len(tasks):
            rates.append(sum(line.is_complete for line in mine) / len(mine))
    if not rates:
        return {"pass_rates": [], "mean": None, "sd": None}
    return {"pass_rates": rates, "mean": statistics.mean(rates), "sd": statistics.standard_deviation(rates)}


def interval(lines: Sequence[Line]) -> list[float] | None:
    """95% interval of the pass rate: t over complete repeats when there are several, else Wilson over tasks.

    Wilson over tasks answers "how would other tasks of this kind go", t over repeats "how would another run go".
    """
    rates = runs(lines)["pass_rates"]
    try:
        if len(rates) > 1:
            found = statistics.mean_interval(rates)
            return [max(0.0, found.low), min(1.0, found.high)]
        found = statistics.wilson(sum(line.is_complete for line in lines), len(lines))
    except statistics.MissingExtra:
        return None
    return [found.low, found.high]


def interval_method(lines: Sequence[Line]) -> str:
    rates = runs(lines)["pass_rates"]
    return f"t over {len(rates)} repeats" if len(rates) > 1 else "Wilson"


def _rate(part: float, total: int) -> float:
    return part / total if total else 0.0


def _price(prices: list[float | None]) -> float | None:
    total, known = add_prices(prices)
    return total if known else None


def money(value: float | None, known: float = 0.0) -> str:
    """Dollars for people; a sum with unknown parts is ``≥`` what is known."""
    if value is None:
        return f"≥ ${_digits(known)}"
    return f"${_digits(value)}"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value == 0 or value >= 0.995 else f"{value:.4f}"
