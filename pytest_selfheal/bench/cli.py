"""``selfheal bench summary | compare | plot``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_selfheal.bench.results import Results, merge, read
from pytest_selfheal.errors import RecordError


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands below ``selfheal bench``."""
    summary = subparsers.add_parser("summary", help="tables of results", allow_abbrev=False)
    summary.add_argument("results", nargs="+", metavar="RESULTS", help="results files, or folders of them")
    summary.add_argument("--format", choices=["terminal", "markdown", "csv", "json"], default="terminal")
    summary.add_argument(
        "--failed", metavar="FILE", help="also write the lines of tasks that are not right into FILE (JSON Lines)"
    )
    summary.set_defaults(bench_command="summary")
    compare = subparsers.add_parser(
        "compare", help="a run against a baseline: exit 1 when it is worse", allow_abbrev=False
    )
    compare.add_argument("first", metavar="A", help="the baseline's results")
    compare.add_argument("second", metavar="B", help="the results to judge")
    compare.add_argument("--format", choices=["terminal", "markdown", "json"], default="terminal")
    compare.set_defaults(bench_command="compare")
    plot = subparsers.add_parser("plot", help="a dashboard as picture or page", allow_abbrev=False)
    plot.add_argument("results", nargs="+", metavar="RESULTS", help="results files, or folders of them")
    plot.add_argument("-o", dest="output", required=True, metavar="FILE", help="a .png, .pdf, .svg or .html file")
    plot.add_argument("--dark", action="store_true", help="light on dark (the .html has both)")
    plot.set_defaults(bench_command="plot")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the exit status. Raises :class:`~pytest_selfheal.errors.SelfhealError`."""
    folder = Path(getattr(arguments, "folder", "."))
    if arguments.bench_command == "summary":
        return _summary(arguments, folder)
    if arguments.bench_command == "compare":
        return _compare(arguments, folder)
    return _plot(arguments, folder)


def _summary(arguments: argparse.Namespace, folder: Path) -> int:
    from pytest_selfheal.bench import summary

    found = load(arguments.results, folder)
    if arguments.format == "terminal":
        text = "\n".join(summary.for_terminal(found)) + "\n"
    else:
        text = {"markdown": summary.as_markdown, "csv": summary.as_csv, "json": summary.as_json}[arguments.format](
            found
        )
    _print(text)
    if arguments.failed:
        failed = [line.to_json() for results in found for line in results.lines if not line.is_complete]
        _write(folder / arguments.failed, "".join(json.dumps(line) + "\n" for line in failed))
    return 0


def _compare(arguments: argparse.Namespace, folder: Path) -> int:
    from pytest_selfheal.bench import compare

    sides = []
    for name in (arguments.first, arguments.second):
        merged = load([name], folder)
        if len(merged) != 1:
            raise RecordError(f"{name} holds {len(merged)} configurations; name the results file of one.")
        sides.append(merged[0])
    found = compare.compare(*sides)
    _print(
        compare.as_json(found) if arguments.format == "json" else compare.as_text(found, arguments.format == "markdown")
    )
    return 1 if found.is_worse else 0


def _plot(arguments: argparse.Namespace, folder: Path) -> int:
    from pytest_selfheal.bench import plot

    target = folder / arguments.output
    try:
        plot.write(load(arguments.results, folder), target, dark=arguments.dark)
    except OSError as error:
        raise RecordError(f"cannot write {target}: {error.strerror}; give another file.") from None
    _print(f"{target}\n")
    return 0


def load(names: Sequence[str], folder: Path = Path()) -> list[Results]:
    """All results that ``names`` stand for, parts of one configuration merged.

    A folder stands for all results in it. Raises :class:`RecordError` when there is nothing to read.
    """
    paths: list[Path] = []
    for name in names:
        path = folder / name
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in (".json", ".jsonl"))
            # The lines beside a whole file belong to it.
            inside = [p for p in inside if p.suffix == ".json" or not p.with_suffix(".json").is_file()]
            if not inside:
                raise RecordError(f"{path} holds no benchmark results; give the folder of --selfheal-bench-output.")
            paths += inside
        else:
            paths.append(path)
    return merge([read(path) for path in dict.fromkeys(paths)])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}; give another file.") from None


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
