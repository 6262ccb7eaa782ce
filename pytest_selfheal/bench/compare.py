"""Two configurations on the same tasks: what flipped, how sure the difference is, how large."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pytest_selfheal.bench import statistics
from pytest_selfheal.bench.results import Results, natural
from pytest_selfheal.bench.summary import percent
from pytest_selfheal.errors import UsageError


@dataclass(frozen=True)
class Comparison:
    """``first`` is the baseline. Rates are means over repeats, tasks those that both have."""

    first: str
    second: str
    tasks: int
    rate_first: float
    rate_second: float
    lost: tuple[str, ...]
    """Right in most repeats of the first, not so in the second."""
    won: tuple[str, ...]
    no_longer_equivalent: tuple[str, ...]
    """Right in both, but only in the first equivalent to the reference."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    difference_ci95: tuple[float, float] | None
    p_exact: float | None
    p_mid: float | None
    cohens_h: float
    cohens_g: float
    odds_ratio: float
    cost_first: float | None
    cost_second: float | None
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        return self.rate_second - self.rate_first

    @property
    def is_worse(self) -> bool:
        """The second gets fewer of the shared tasks right."""
        return self.difference < -1e-12


def compare(first: Results, second: Results) -> Comparison:
    """Compare on the tasks that both have. Raises :class:`UsageError` when the two cannot be compared."""
    if first.benchmark != second.benchmark:
        raise UsageError(
            f"{first.path} is of {first.benchmark}, {second.path} of {second.benchmark}: compare results of one suite."
        )
    sha = [results.metadata.get("data_sha256") for results in (first, second)]
    if all(sha) and sha[0] != sha[1]:
        raise UsageError(
            f"{first.path} and {second.path} come from different versions of the suite's data: run one of them again."
        )
    one, two = _rates(first), _rates(second)
    shared = sorted(set(one) & set(two), key=natural)
    if not shared:
        raise UsageError(f"{first.path} and {second.path} have no task in common.")
    before, after = [one[task] for task in shared], [two[task] for task in shared]
    lost = tuple(task for task in shared if one[task] >= 0.5 > two[task])
    won = tuple(task for task in shared if two[task] >= 0.5 > one[task])
    rates = statistics.mean(before), statistics.mean(after)
    notes = []
    interval = p_exact = p_mid = None
    try:
        found = statistics.paired_bootstrap(before, after)
        interval = (found.low, found.high)
        test = statistics.mcnemar(len(lost), len(won))
        p_exact, p_mid = test.p_exact, test.p_mid
    except statistics.MissingExtra as error:
        notes.append(str(error))
    return Comparison(
        first=_label(first, second),
        second=_label(second, first),
        tasks=len(shared),
        rate_first=rates[0],
        rate_second=rates[1],
        lost=lost,
        won=won,
        no_longer_equivalent=tuple(
            task
            for task in shared
            if one[task] == two[task] == 1
            and _equivalent(first).get(task) is True
            and _equivalent(second).get(task) is False
        ),
        only_first=tuple(sorted(set(one) - set(two), key=natural)),
        only_second=tuple(sorted(set(two) - set(one), key=natural)),
        difference_ci95=interval,
        p_exact=p_exact,
        p_mid=p_mid,
        cohens_h=statistics.cohens_h(*rates),
        cohens_g=statistics.cohens_g(len(lost), len(won)),
        odds_ratio=statistics.odds_ratio(len(lost), len(won)),
        cost_first=_cost(first, shared),
        cost_second=_cost(second, shared),
        notes=(*notes, *first.problems, *second.problems),
    )


def _rates(results: Results) -> dict[str, float]:
    seen: dict[str, list[bool]] = {}
    for line in results.lines:
        seen.setdefault(line.task_id, []).append(line.is_complete)
    return {task: sum(values) / len(values) for task, values in seen.items()}


def _equivalent(results: Results) -> Mapping[str, bool | None]:
    """The worst verdict over a task's repeats."""
    found: dict[str, bool | None] = {}
    for line in results.lines:
        if found.get(line.task_id) is not False and line.equivalent is not None:
            found[line.task_id] = line.equivalent
    return found


def _label(results: Results, other: Results) -> str:
    return (
        results.name
        if results.name != other.name
        else f"{results.name} of {results.metadata.get('timestamp', results.path)}"
    )


def _cost(results: Results, shared: list[str]) -> float | None:
    wanted = set(shared)
    prices = [price for line in results.lines if line.task_id in wanted for price in line.cost.values()]
    return None if any(price is None for price in prices) else sum(price for price in prices if price is not None)


def as_text(found: Comparison, markdown: bool = False) -> str:
    """What a person reads; the verdict comes first."""
    item = "- " if markdown else "  "
    head = "## " if markdown else ""
    interval = ""
    if found.difference_ci95 is not None:
        low, high = (100 * value for value in found.difference_ci95)
        interval = f", 95% {low:+.1f} to {high:+.1f} (paired bootstrap)"
    lines = [
        f"{head}{_verdict(found)}",
        f"{item}baseline   {found.first}: {percent(found.rate_first)} of {found.tasks} shared tasks",
        f"{item}compared   {found.second}: {percent(found.rate_second)}",
        f"{item}difference {100 * found.difference:+.1f} points{interval}",
    ]
    if found.p_exact is not None and found.p_mid is not None:
        lines.append(
            f"{item}McNemar    {len(found.lost)} lost, {len(found.won)} won: exact p = {found.p_exact:.3g}, mid-p = {found.p_mid:.3g}"
        )
    lines.append(
        f"{item}effect     Cohen's h = {found.cohens_h:+.2f}, g = {found.cohens_g:+.2f}, odds ratio {found.odds_ratio:.3g}"
    )
    for label, tasks in (
        ("lost", found.lost),
        ("won", found.won),
        ("no longer equivalent", found.no_longer_equivalent),
        ("only in the baseline", found.only_first),
        ("only in the compared", found.only_second),
    ):
        if tasks:
            lines.append(f"{item}{label}: {', '.join(tasks)}")
    lines += [f"{item}note: {note}" for note in found.notes]
    return "\n".join(lines) + "\n"


def _verdict(found: Comparison) -> str:
    if found.is_worse:
        sure = found.p_exact is not None and found.p_exact < 0.05
        doubt = "" if sure else "; with so few flips it may be chance" if found.p_exact is not None else ""
        return f"worse: {found.second} gets fewer tasks right than the baseline{doubt}"
    if found.difference > 0:
        return f"better: {found.second} gets more tasks right than the baseline"
    return "as good as the baseline" + (" (other tasks, as many)" if found.lost else "")


def as_json(found: Comparison) -> str:
    data: dict[str, Any] = {**asdict(found), "difference": found.difference, "is_worse": found.is_worse}
    if data["odds_ratio"] == float("inf"):
        data["odds_ratio"] = None
    return json.dumps(data, indent=1) + "\n"
