"""Runs the compatibility matrix against several pytest versions and writes docs/compatibility.md from the results.

    python benchmarks/compatibility.py                        # makes an environment for each version, runs everything
    python benchmarks/compatibility.py --pytest 9 --select "xdist"
    python benchmarks/compatibility.py --ci                   # what CI has time for; the page is not written
    python benchmarks/compatibility.py --results 8.2=a.xml --results 9=b.xml    # only writes the page

The environments are made in --folder and kept, so that a second run starts at once. A red cell is run once more by itself:
a cell may heal too slowly on a machine that others use too. Exit status 1 when a cell stays red.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
FILES = sorted(file for kind in ("compat", "layout", "fidelity") for file in (ROOT / "tests").glob(f"test_{kind}_*.py"))
VERSIONS = {"8.2": "pytest==8.2.*", "8.4": "pytest==8.4.*", "9": "pytest>=9,<10"}
PLUGINS = [
    "anyio",
    "django",
    "hypothesis",
    "inline-snapshot",
    "pytest-asyncio",
    "pytest-bdd",
    "pytest-benchmark",
    "pytest-cov",
    "pytest-django",
    "pytest-html",
    "pytest-instafail",
    "pytest-json-report",
    "pytest-mock",
    "pytest-randomly",
    "pytest-rerunfailures",
    "pytest-subtests",
    "pytest-timeout",
    "pytest-xdist",
    "syrupy",
    "setuptools>=70.1",
    "editables",
    "hatchling",
    "poetry-core",
    "flit-core",
]
# Plugins that would take part in the run of the matrix itself.
OFF = [argument for name in ("randomly", "django", "inline_snapshot", "syrupy") for argument in ("-p", f"no:{name}")]
GROUPS = {
    "test_core": "pytest's own options and kinds of tests",
    "test_plugin": "Other plugins",
    "test_layout": "Layouts",
    "test_fidelity": "Source files",
}
# What depends on pytest's own version: reports, collection, and the plugins that hook deepest.
CELLS_OF_OLDER = (
    "test_core and (plain or unittest or subTest or doctest or failing or lf or pdb or junitxml or assert or strict-config)"
    " or test_plugin and (loadscope or crashes or cov-context or timeout or rerunfailures or auto or subtests)"
)
SIGNS = {"passed": "yes", "failed": "**no**", "skipped": "–"}


@dataclass(frozen=True)
class Cell:
    group: str
    name: str


Results = dict[Cell, str]


def read(path: Path) -> Results:
    """Outcome of each cell in a JUnit file."""
    found: Results = {}
    for case in ElementTree.parse(path).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        function, _, rest = case.get("name", "").partition("[")
        if module.startswith("test_compat"):
            cell = Cell(function, rest.removesuffix("]"))
        else:
            words = function.removeprefix("test_").replace("_", " ")
            detail = rest.removesuffix("]")
            name = detail if words == "layout" else f"{words}, {detail}" if detail else words
            cell = Cell("_".join(module.split("_")[:2]), name)
        bad = case.find("failure") is not None or case.find("error") is not None
        found[cell] = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
    return found


def environment(folder: Path, requirement: str) -> Path:
    """A Python with that pytest, every plugin and this checkout."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", "-e", str(ROOT), requirement, *PLUGINS]
        subprocess.run(install, check=True)
    return python


def run(python: Path, results: Path, workers: int, select: str) -> Results:
    def once(workers: int, *arguments: str) -> Results:
        command = [str(python), "-m", "pytest", "-m", "compat", "-n", str(workers), "-q", *OFF, f"--junitxml={results}"]
        command += ["-o", "addopts=", "-o", f"cache_dir={results.with_suffix('.cache')}", *arguments, *map(str, FILES)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        subprocess.run(command, cwd=ROOT, env=inherited, check=False)
        return read(results)

    chosen = ["-k", select] if select else []
    found = once(workers, *chosen)
    if "failed" in found.values():
        print("once more, one by one:", flush=True)
        found |= once(0, "--last-failed", *chosen)
    return found


def page(versions: dict[str, Results]) -> str:
    total = sum(outcome != "skipped" for results in versions.values() for outcome in results.values())
    green = sum(outcome == "passed" for results in versions.values() for outcome in results.values())
    lines = [
        "# Compatibility",
        "",
        "Written by `benchmarks/compatibility.py` from the results of the tests marked `compat`; do not edit.",
        "",
        "Each cell is a real run of `pytest --selfheal` on a small project with one bug, in a process of its own with the plugin",
        "installed: the bug is healed by the right change, the exit status is pytest's own, what the other plugin writes is",
        "as without us, the working tree is untouched, and there is no internal error. A dash means that this version of",
        "pytest, or of the plugin for it, does not have the feature.",
        "",
        f"{green} of {total} cells are green.",
    ]
    by_group: dict[str, dict[str, None]] = defaultdict(dict)
    for results in versions.values():
        for cell in results:
            by_group[cell.group][cell.name] = None
    for group, title in GROUPS.items():
        if group not in by_group:
            continue
        names = [f"pytest {version}" for version in versions]
        lines += ["", f"## {title}", "", f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
        for name in sorted(by_group[group]):  # workers end in any order
            cells = [SIGNS[results.get(Cell(group, name), "skipped")] for results in versions.values()]
            shown = name.encode("ascii", "ignore").decode() if "\\x" in name or "\\u" in name else name
            lines.append(f"| {shown.replace('|', '/')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pytest", action="append", choices=list(VERSIONS), help="only these versions")
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "pytest-selfheal-compatibility")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--select", default="", help="a -k expression; the page is not written then")
    parser.add_argument(
        "--ci", action="store_true", help="the whole matrix with pytest 9, a part of it with the others"
    )
    parser.add_argument(
        "--results", action="append", default=[], metavar="VERSION=FILE", help="JUnit files of earlier runs"
    )
    options = parser.parse_args()
    versions: dict[str, Results] = {}
    for given in options.results:
        version, _, path = given.partition("=")
        versions.setdefault(version, {}).update(read(Path(path)))
    if not options.results:
        options.folder.mkdir(parents=True, exist_ok=True)
        for version in options.pytest or VERSIONS:
            python = environment(options.folder / version, VERSIONS[version])
            select = CELLS_OF_OLDER if options.ci and version != "9" else options.select
            versions[version] = run(python, options.folder / f"{version}.xml", options.workers, select)
    if not options.select and not options.ci:
        PAGE.write_text(page(versions), encoding="utf-8")
    red = [f"pytest {v}: {c.name}" for v, results in versions.items() for c, o in results.items() if o == "failed"]
    print(*red, f"{sum(map(len, versions.values())) - len(red)} cells not red", sep="\n")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
