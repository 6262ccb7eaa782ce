"""What healing costs in a large project: time beyond the plain run, peak memory, and the number of repairs.

    python benchmarks/scale.py one      # 5,000 tests in 500 files, one failure; the second red run uses the map of the first
    python benchmarks/scale.py many     # 200 failures of 3 causes

Both make their project in a temporary folder. ``--seconds`` is what the plain run takes about (sleeps make up for work, so
that the figure means the same on every machine). Memory is the largest of all processes of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 500
PER_FILE = 10


def one_failure(folder: Path, seconds: float) -> None:
    nap = seconds / (FILES * PER_FILE)
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "tests").mkdir()
    for n in range(FILES):
        imported = f"from pkg.m{n - 1:03} import scale as below\n\n\n" if n % 10 else "below = abs\n\n\n"
        sign = "-" if n == 123 else "+"
        (folder / "pkg" / f"m{n:03}.py").write_text(
            f"{imported}def scale(x):\n    return x * {n + 1}\n\n\ndef shift(x, y):\n    return x {sign} y\n\n\ndef deep(x):\n    return below(x)\n"
        )
        tests = "".join(
            f"\n\ndef test_scale_{k}():\n    time.sleep({nap:.5f})\n    assert scale({k}) == {k * (n + 1)}\n"
            for k in range(PER_FILE - 1)
        )
        (folder / "tests" / f"test_m{n:03}.py").write_text(
            f"import time\n\nfrom pkg.m{n:03} import scale, shift\n{tests}\n\ndef test_shift():\n    assert shift(5, 2) == 7\n    assert shift(-1, 4) == 3\n"
        )
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")


def many_failures(folder: Path) -> None:
    (folder / "calc.py").write_text(
        "def add(a, b):\n    return a - b\n\n\ndef top(xs):\n    return min(xs)\n\n\ndef tail(xs):\n    return xs[2:]\n"
    )
    tests = "from calc import add, tail, top\n"
    for n in range(200):
        check = (
            f"    assert add({n}, 2) == {n + 2}\n    assert add(1, {n + 1}) == {n + 2}\n",
            f"    assert top([1, {n + 2}, 0]) == {n + 2}\n",
            f"    assert tail([{n}, 1, 2]) == [1, 2]\n    assert tail([{n}]) == []\n",
        )[n % 3]
        tests += f"\n\ndef test_{n}():\n{check}"
    (folder / "test_calc.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")


def run(folder: Path, *arguments: str) -> tuple[float, float]:
    """Wall seconds and the largest process so far in MiB."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "selfheal", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - started
    if done.returncode != 1:
        raise SystemExit(f"pytest ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def told(folder: Path) -> str:
    report = json.loads((folder / ".selfheal" / "latest" / "report.json").read_text("utf-8"))
    causes = [f"{failure['status']} ({len(failure['nodeids'])} tests)" for failure in report["failures"]]
    return (
        f"{len(causes)} causes: "
        + ", ".join(causes[:6])
        + f"; affected tests re-run: {report['failures'][0]['verified']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("one", "many"))
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "one":
            one_failure(folder, options.seconds)
        else:
            many_failures(folder)
        run(folder)  # bytecode and file cache
        plain, memory = run(folder)
        print(f"plain run: {plain:.1f} s, {memory:.0f} MiB", flush=True)
        for which in ("first", "second") if options.what == "one" else ("first",):
            seconds, memory = run(folder, "--selfheal")
            print(
                f"{which} red run: {seconds:.1f} s, {seconds - plain:+.1f} s ({100 * (seconds / plain - 1):+.0f} %), {memory:.0f} MiB"
            )
            print(f"  {told(folder)[:600]}", flush=True)


if __name__ == "__main__":
    main()
