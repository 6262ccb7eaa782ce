"""What the plugin costs when nothing is red: 3,000 tests with ``-p no:selfheal``, without any flag, and with ``--selfheal``.

    python benchmarks/idle.py [--tests 3000] [--runs 7] [--without PYTHON]

Plugin autoload is off but for ours, so that other plugins add no noise. The ways take turns, in a new order each round;
reported are medians of user plus system CPU seconds (wall time tells more about the machine) and their ratios.

``--without PYTHON`` names the interpreter of an environment that has the same pytest but not this plugin, and measures that one
too, against this environment as it is: with autoload on in both, so that what comes along with us (anyio's own plugin, through
litellm) counts as ours. Run it from an environment that has nothing but this project.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

WAYS = {
    "off": ["-p", "no:selfheal"],
    "flags absent": ["-p", "selfheal"],
    "--selfheal": ["-p", "selfheal", "--selfheal"],
}


def make_project(folder: Path, tests: int) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    per_file = 100
    for number in range(-(-tests // per_file)):
        count = min(per_file, tests - number * per_file)
        body = "".join(f"\n\ndef test_{n}():\n    assert sum(range({n % 9})) >= 0\n" for n in range(count))
        (folder / f"test_{number:03}.py").write_text(body.lstrip("\n"))


def cpu_seconds(folder: Path, arguments: list[str], python: str = sys.executable, autoload: bool = False) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ)
    if not autoload:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else our modules would be compiled again in each run
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--without", metavar="PYTHON", help="an interpreter whose environment has pytest but not us")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_project(folder, options.tests)
        ways = {way: functools.partial(cpu_seconds, folder, arguments) for way, arguments in WAYS.items()}
        print(f"{options.tests} green tests, medians of {options.runs} runs, CPU seconds")
        compare(ways, "off", options.runs)
        if options.without:
            here = functools.partial(cpu_seconds, folder, autoload=True)
            compare(
                {
                    "environment without us": functools.partial(here, [], options.without),
                    "with us, no flags": functools.partial(here, []),
                    "with us, --selfheal": functools.partial(here, ["--selfheal"]),
                },
                "environment without us",
                options.runs,
            )


def compare(ways: dict[str, Callable[[], float]], against: str, runs: int) -> None:
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run()  # bytecode and file cache
    for round_number in range(runs):
        order = list(ways)
        random.Random(round_number).shuffle(order)
        for way in order:
            seen[way].append(ways[way]())
    base = statistics.median(seen[against])
    for way, values in seen.items():
        middle = statistics.median(values)
        spread = f"{min(values):.2f} to {max(values):.2f}"
        paired = statistics.median(v / b for v, b in zip(values, seen[against], strict=True))
        print(
            f"{way:>22}: {middle:6.2f}  ({spread})  {100 * (middle / base - 1):+5.1f} %  paired {100 * (paired - 1):+5.1f} %"
        )


if __name__ == "__main__":
    main()
