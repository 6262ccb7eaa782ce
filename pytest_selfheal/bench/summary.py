"""Results as tables: for the terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from pytest_selfheal.bench import figures
from pytest_selfheal.bench.results import Results

COLUMNS = (
    "configuration",
    "tasks",
    "right",
    "95% interval",
    "zero-shot",
    "lift",
    "equivalent",
    "wrong claims",
    "high & wrong",
    "cost",
    "per pass",
    "median s",
)
NO_SCIPY = "95% intervals need SciPy: run pip install 'pytest-selfheal[bench]'."


def rows(all_results: Sequence[Results]) -> list[dict[str, str]]:
    """One row for each configuration, as texts."""
    return [_row(results) for results in all_results]


def _row(results: Results) -> dict[str, str]:
    summary = figures.summarise(results.lines, int(results.metadata.get("num_problems", 0)))
    problems, cost = summary["problems"], summary["cost"]
    repeats = summary["runs"]["pass_rates"]
    rate = f"{problems['passed']}/{problems['total']} {percent(problems['pass_rate'])}"
    if len(repeats) > 1:
        rate += f" (sd {percent(summary['runs']['sd'])})"
    interval = problems["ci95"]
    seconds = sorted(line.seconds for line in results.lines)
    return {
        "configuration": f"{results.benchmark}: {results.name}",
        "tasks": str(len({line.task_id for line in results.lines}))
        + (f" × {len(repeats)}" if len(repeats) > 1 else ""),
        "right": rate,
        "95% interval": f"{percent(interval[0])} – {percent(interval[1])}" if interval else "?",
        "zero-shot": percent(problems["zero_shot_rate"]),
        "lift": f"+{100 * problems['lift']:.1f}",
        "equivalent": f"{problems['equivalent']}/{problems['compared']}",
        "wrong claims": str(problems["claimed_but_wrong"]),
        "high & wrong": f"{problems['high_confidence_wrong']}/{problems['high_confidence']}",
        "cost": figures.money(cost["total"], cost["known"]),
        "per pass": figures.money(cost["per_pass"]) if cost["per_pass"] is not None else "–",
        "median s": f"{seconds[len(seconds) // 2]:.1f}" if seconds else "–",
    }


def percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"


def for_terminal(all_results: Sequence[Results], width: int = 80) -> list[str]:
    """A block for each configuration: labels left, figures right; fits 80 columns."""
    lines: list[str] = []
    for results, row in zip(all_results, rows(all_results), strict=True):
        summary = figures.summarise(results.lines, int(results.metadata.get("num_problems", 0)))
        problems = summary["problems"]
        lines.append(row["configuration"])
        method = figures.interval_method(results.lines)
        lines.append(f"  right          {row['right']}   95% {row['95% interval']} ({method})")
        lines.append(
            f"  zero-shot      {row['zero-shot']}   with feedback {row['lift']} points, {summary['iterations']['mean']:.2f} attempts a task"
        )
        if problems["compared"]:
            lines.append(f"  equivalent     {row['equivalent']} of those compared with the reference on fuzzed inputs")
        lines.append(
            f"  wrong claims   {row['wrong claims']}   of those marked high: {problems['high_confidence_wrong']} of {problems['high_confidence']}"
        )
        lines.append(f"  ended          {_counts(summary['termination_reasons'])}")
        if summary["guard_refusals"]:
            lines.append(f"  refused        {_counts(summary['guard_refusals'])}")
        tokens = sum(summary["token_usage"].values())
        lines.append(
            f"  cost           {row['cost']}" + (f", {row['per pass']} per pass, {tokens} tokens" if tokens else "")
        )
        lines.append(f"  time           median {row['median s']} s a task, {summary['cpu_seconds']:.0f} CPU s in all")
        if problems["unfinished"]:
            lines.append(f"  unfinished     {problems['unfinished']} of {results.metadata.get('num_problems')} tasks")
        if problems["ci95"] is None:
            lines.append(f"  {NO_SCIPY}")
        lines += [f"  note: {problem}" for problem in results.problems]
    return lines


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def as_markdown(all_results: Sequence[Results]) -> str:
    """A table; the cells' own bars are escaped."""
    table = rows(all_results)
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(row[name].replace("|", "\\|") for name in COLUMNS) + " |" for row in table]
    return "\n".join(lines) + "\n"


def as_csv(all_results: Sequence[Results]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(all_results))
    return stream.getvalue()


def as_json(all_results: Sequence[Results]) -> str:
    made: list[dict[str, Any]] = []
    for results in all_results:
        summary = figures.summarise(results.lines, int(results.metadata.get("num_problems", 0)))
        made.append(
            {
                "benchmark_run_metadata": results.metadata,
                "models_metadata": results.models,
                "benchmark_summary": summary,
            }
        )
    return json.dumps(made, indent=1) + "\n"
