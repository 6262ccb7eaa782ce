"""Put measured results into ``docs/benchmarks.md``: the table between the markers, and the pictures in both appearances.

``python benchmarks/bench_report.py RESULTS… [--load TEXT]``: everything behind the marker is written anew, the commands
that lead to such results included. ``--load`` says what else the machine was doing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_selfheal.bench import figures, plot, statistics, summary
from pytest_selfheal.bench.cli import load
from pytest_selfheal.bench.results import Results

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
MARKER = "<!-- figures -->"
DATA = {
    "humanevalfix": "humanevalpack.jsonl",
    "humaneval": "humanevalpack.jsonl",
    "mbpp": "mbpp.jsonl",
    "quixbugs": "QuixBugs",
}


def odd(results: Results) -> str:
    """The tasks that were not used to build the engine."""
    lines = [line for line in results.lines if int((re.findall(r"\d+", line.task_id) or ["0"])[-1]) % 2]
    right = sum(line.is_complete for line in lines)
    found = statistics.wilson(right, len(lines))
    return f"{right}/{len(lines)} ({summary.percent(found.low)} – {summary.percent(found.high)})"


def seconds(results: Results) -> str:
    wall = sorted(line.seconds for line in results.lines)
    cpu = sorted(line.cpu_seconds for line in results.lines)
    return f"median {wall[len(wall) // 2]:.1f} s wall and {cpu[len(cpu) // 2]:.1f} s CPU a task, 95% within {cpu[int(0.95 * len(cpu))]:.0f} s CPU"


def command(results: Results) -> str:
    """How to get such results."""
    suite, visible, model = results.benchmark, results.metadata.get("visible"), results.models.get("coder")
    parts = [f"pytest --selfheal-bench {suite}"]
    if suite in DATA:
        parts.append(f"--selfheal-bench-data={DATA[suite]}")
    if visible != "tests":
        parts.append(f"--selfheal-bench-visible {visible}")
    if model != "builtin":
        parts.append(f"--selfheal-model {model}")
    if int(results.metadata.get("runs", 1)) > 1:
        parts.append(f"--selfheal-bench-runs {results.metadata['runs']}")
    return " ".join([*parts, "-n 2"])


def versions(found: Sequence[Results]) -> str:
    """What the results were measured with, each combination once."""
    texts = [
        ", ".join(
            f"{name} {version}" for name, version in one.metadata.get("versions", {}).items() if name != "platform"
        )
        for one in found
    ]
    return "; ".join(dict.fromkeys(text for text in texts if text))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+")
    parser.add_argument("--load", default="")
    arguments = parser.parse_args()
    found = load(arguments.results)
    parts = [summary.as_markdown(found)]
    for results in found:
        made = figures.summarise(results.lines, int(results.metadata.get("num_problems", 0)))
        problems = made["problems"]
        parts.append(
            f"**{results.benchmark}, {results.metadata.get('visible')} visible** ({results.metadata.get('timestamp')})\n"
        )
        facts = [f"ended: {', '.join(f'{name} {count}' for name, count in made['termination_reasons'].items())}"]
        if results.benchmark.startswith("humaneval"):
            facts.append(f"odd-numbered tasks alone, which were not used to build the engine: {odd(results)}")
        facts.append(f"marked high: {problems['high_confidence']}, of these wrong: {problems['high_confidence_wrong']}")
        facts.append(seconds(results))
        parts.append("".join(f"- {fact}\n" for fact in facts))
    commands = "\n".join(f"$ {text}" for text in dict.fromkeys(map(command, found)))
    parts.append(f"```console\n{commands}\n```\n")
    if with_versions := versions(found):
        parts.append(f"With {with_versions}.\n")
    if arguments.load:
        parts.append(f"{arguments.load}\n")
    images = DOCS / "images"
    images.mkdir(exist_ok=True)
    for name, theme in (("light", plot.LIGHT), ("dark", plot.DARK)):
        (images / f"benchmark-{name}.svg").write_bytes(plot.picture(found, "svg", theme))
        parts.append(f"![Four panels of the figures above](images/benchmark-{name}.svg#only-{name})\n")
    page = PAGE.read_text(encoding="utf-8")
    head, _, _ = page.partition(MARKER)
    PAGE.write_text(head + MARKER + "\n\n" + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
