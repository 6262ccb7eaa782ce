"""Size of the HTML report of many failures, and how long a headless Chromium takes to open it.

``python benchmarks/html_report.py [--failures 200] [--repeats 5] [--screenshots FOLDER]``

Opening: wall time of a browser that starts, loads the page, runs its script, lays it out, paints one picture and ends,
less that of the same browser with an empty page, in turns. Screenshots: light, dark and at phone width.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from record_samples import healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.record.html import render
from pytest_selfheal.types import FileChange, Outcome

EMPTY = "<!doctype html><title>empty</title><p>nothing"


def outcomes(count: int) -> list[Outcome]:
    """Failures of the size that real ones have: a module of 60 lines with a change, 40 lines of traceback, three attempts."""
    found = []
    for number in range(1, count + 1):
        lines = [f"    value_{n} = compute({n}, {number})  # step {n}\n" for n in range(60)]
        before = "".join(lines).encode()
        change = FileChange(f"src/shop/part_{number}.py", before, before.replace(b"compute(30,", b"compute(31,"))
        text = "".join(f">   assert total_{n} == {n * number}\nE   AssertionError: assert {n}\n" for n in range(20))
        make = healed_outcome if number % 3 else unhealed_outcome
        more = {"changes": (change,)} if number % 3 else {}
        nodeid = f"tests/test_part_{number}.py::test_total[{number}-as the invoice says]"
        made = make(f"{number:04}", nodeid=nodeid, text=text, **more)
        attempts = tuple(replace(attempt, n=n + 1) for n in range(3) for attempt in made.attempts)
        found.append(made.but(attempts=attempts))
    return found


def chromium(profile: Path, *arguments: str) -> str:
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def opened(profile: Path, page: Path) -> float:
    """Seconds until the browser has painted the page and ended."""
    since = time.perf_counter()
    chromium(profile, f"--screenshot={profile}.png", "--window-size=1280,1600", page.as_uri())
    return time.perf_counter() - since


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failures", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("--page", type=Path, help="a report.html of a real run instead of made-up failures")
    arguments = parser.parse_args()
    if arguments.page:
        html = arguments.page.read_text(encoding="utf-8")
    else:
        since = time.process_time()
        events = [{"t": n / 2, "event": "outcome", "id": f"{n:04}"} for n in range(1, arguments.failures + 1)]
        html = render(run_report(outcomes(arguments.failures)), events=events)
        print(f"rendered in {time.process_time() - since:.2f} CPU seconds, {len(html.encode()) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder:
        page, empty, profile = Path(folder, "report.html"), Path(folder, "empty.html"), Path(folder, "profile")
        page.write_text(html, encoding="utf-8")
        empty.write_text(EMPTY, encoding="utf-8")
        opened(profile, empty)  # the first start makes the profile
        pairs = [(opened(profile, empty), opened(profile, page)) for _ in range(arguments.repeats)]
        more = sorted(full - nothing for nothing, full in pairs)
        print(f"empty page: median {statistics.median(nothing for nothing, _ in pairs):.2f} s")
        print(f"report on top of that: median {statistics.median(more):.2f} s, worst {more[-1]:.2f} s of {len(more)}")
        if arguments.screenshots:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
            dark = page.with_name("dark.html")
            dark.write_text(html.replace('<html lang="en">', '<html lang="en" data-theme="dark">'), encoding="utf-8")
            for name, shown, size in (
                ("light", page, "1280,1600"),
                ("dark", dark, "1280,1600"),
                ("phone", page, "500,1600"),
            ):
                chromium(
                    profile, f"--screenshot={arguments.screenshots / name}.png", f"--window-size={size}", shown.as_uri()
                )


if __name__ == "__main__":
    main()
