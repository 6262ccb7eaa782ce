"""What healing costs in a large project: time beyond the plain run, peak memory, and the number of repairs.

    python benchmarks/scale.py one      # 5,000 tests in 500 files, one failure; the second red run uses the map of the first
    python benchmarks/scale.py many     # 200 failures of 3 causes
    python benchmarks/scale.py library FOLDER [--python PYTHON] [--seed 0]     # a real project, with one bug seeded

The first two make their project in a temporary folder. The third seeds its bug (an operator swapped, so that one to five tests
fail) in FOLDER itself and takes it back; PYTHON is of an environment in which the project is installed from FOLDER, with its
test dependencies and pytest-selfheal; ``libraries.py`` makes such. ``--seconds`` is what the plain run takes about (sleeps make up for work, so
that the figure means the same on every machine). Memory is the largest of all processes of a run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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


def run(folder: Path, *arguments: str, python: str = "") -> tuple[float, float]:
    """Wall seconds and the largest process so far in MiB; ``python`` loads its plugins by itself."""
    environment = {**os.environ, **({} if python else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})}
    started = time.monotonic()
    done = subprocess.run(
        [python or sys.executable, "-m", "pytest", "-q", *(() if python else ("-p", "selfheal")), *arguments],
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
        + f"; healing took {report['seconds']:.1f} s; affected tests re-run: {report['failures'][0]['verified']}"
    )


SWAPS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Add: "-",
    ast.Sub: "+",
}


def swaps(source: str) -> Iterator[str]:
    """The source with one operator swapped, for each that has room around it on one line."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            left, operator, right = node.left, node.ops[0], node.comparators[0]
        elif isinstance(node, ast.BinOp):
            left, operator, right = node.left, node.op, node.right
        else:
            continue
        line = lines[right.lineno - 1]
        start, end = left.end_col_offset or 0, right.col_offset
        if (
            type(operator) in SWAPS
            and left.end_lineno == right.lineno
            and line.isascii()
            and not {*"()"} & {*line[start:end]}
        ):
            yield "".join(
                [
                    *lines[: right.lineno - 1],
                    f"{line[:start]} {SWAPS[type(operator)]} {line[end:]}",
                    *lines[right.lineno :],
                ]
            )


def seeded(folder: Path, python: str, seed: int) -> tuple[Path, bytes]:
    """Seed a bug that one to five tests notice; the file and its bytes before."""
    draw = random.Random(seed)
    others = {
        "tests",
        "test",
        "docs",
        "doc",
        "env",
        "examples",
        "tools",
        "benchmarks",
        "scripts",
        "snippets",
        "metatools",
    }
    names = [path for path in sorted(folder.rglob("*.py")) if not others & {part.lower() for part in path.parts}]
    names = [path for path in names if not path.name.startswith(("test_", "conftest", "setup"))]
    names = [path for path in names if not path.name.endswith("_test.py")]
    for _ in range(50):
        path = draw.choices(names, [path.stat().st_size for path in names])[0]
        before = path.read_bytes()
        if not (found := list(swaps(before.decode()))):
            continue
        path.write_bytes(draw.choice(found).encode())
        command = [python, "-m", "pytest", "-q", "-p", "no:selfheal", "--maxfail=6"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        except BaseException:
            path.write_bytes(before)
            raise
        noticed = re.search(r"^(\d+) failed", done.stdout.splitlines()[-1] if done.stdout else "")
        if done.returncode == 1 and noticed and int(noticed[1]) <= 5:
            return path, before
        path.write_bytes(before)
    raise SystemExit("none of 50 bugs was noticed by one to five tests")


def compare(folder: Path, which: tuple[str, ...], python: str = "", rounds: int = 1) -> None:
    run(folder, python=python)  # bytecode and file cache
    beyond: dict[str, list[tuple[float, float]]] = {name: [] for name in which}
    for _ in range(rounds):
        shutil.rmtree(folder / ".selfheal", ignore_errors=True)  # nothing is known of an earlier run
        plain, memory = run(folder, python=python)
        print(f"plain run: {plain:.1f} s, {memory:.0f} MiB", flush=True)
        for name in which:
            seconds, memory = run(folder, "--selfheal", python=python)
            beyond[name].append((seconds - plain, seconds / plain - 1))
            print(
                f"{name} red run: {seconds:.1f} s, {seconds - plain:+.1f} s ({100 * (seconds / plain - 1):+.0f} %), {memory:.0f} MiB"
            )
            print(f"  {told(folder)[:600]}", flush=True)
    for name, found in beyond.items() if rounds > 1 else ():
        seconds, share = (statistics.median(values) for values in zip(*found, strict=True))
        print(f"{name} red run, median of {rounds}: {seconds:+.1f} s ({100 * share:+.0f} %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("one", "many", "library"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1, help="plain and red runs in turn, and their medians")
    options = parser.parse_args()
    if options.what == "library":
        if options.folder is None:
            parser.error("library needs a FOLDER")
        folder = options.folder.resolve()
        path, before = seeded(folder, options.python, options.seed)
        try:
            print(f"seeded in {path.relative_to(folder)}", flush=True)
            compare(folder, ("first", "second"), options.python, options.rounds)
        finally:
            path.write_bytes(before)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "one":
            one_failure(folder, options.seconds)
        else:
            many_failures(folder)
        compare(folder, ("first", "second") if options.what == "one" else ("first",), rounds=options.rounds)


if __name__ == "__main__":
    main()
