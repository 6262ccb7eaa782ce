"""Real bugs of real libraries: what ``pytest --selfheal`` makes of them, beside what their developers did.

    python benchmarks/realbugs.py BUGS.jsonl MIRRORS WORK --python VENV/bin/python [--only ID…] [--check]

``BUGS.jsonl`` has one bug a line (repository, fix and parent commit, the one source file, test files, failing nodeids,
``PYTHONPATH``); ``MIRRORS`` holds the histories as ``<owner>+<name>/repo`` (git directories). Each bug is rebuilt below
``WORK``: the fix's tree with the source file taken from the parent, in a repository of one commit, so that nothing in it
gives the fix away. The given interpreter has the plugin and the libraries' dependencies, not the libraries.

``WORK/results.jsonl`` gets a line per bug as it ends (bugs that are there already are left out), with both diffs for
reading side by side; whether a repair is *right* is for a reader to say. A plain run comes first: tests that are red for
other reasons (an old library on a new Python) are deselected. ``--check`` stops there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

GRACE = 120.0
"""Wall seconds beyond the healing limit for everything else of a run: the plain run, reproduction, verification."""


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, check=True, env={**os.environ, "GIT_PAGER": "cat"}
    ).stdout


def rebuild(bug: dict[str, Any], mirror: Path, folder: Path) -> str:
    """The bug's project in ``folder`` as one commit; returns the developers' change of the source file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.Popen(["git", "-C", str(mirror), "archive", bug["fix_sha"]], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    if archive.wait():
        raise RuntimeError(f"no tree of {bug['fix_sha']} in {mirror}")
    source = bug["source_file"]
    (folder / source).write_bytes(git(mirror, "show", f"{bug['parent_sha']}:{source}"))
    _version_module(folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "start")
    return git(mirror, "diff", bug["parent_sha"], bug["fix_sha"], "--", source).decode("utf-8", "replace")


def _version_module(folder: Path) -> None:
    """What a build would have written from the version control's tags."""
    settings = folder / "pyproject.toml"
    text = settings.read_text("utf-8") if settings.exists() else ""
    for name in re.findall(
        r"""^\s*(?:version-file|version_file|write_to)\s*=\s*["']([^"']+\.py)["']""", text, re.MULTILINE
    ):
        if not (folder / name).exists():
            (folder / name).write_text("__version__ = version = '0'\n")


def run(bug: dict[str, Any], mirrors: Path, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One bug from its rebuilding to its result row."""
    folder = work / "bugs" / bug["id"]
    mirror = mirrors / bug["repo"].replace("/", "+") / "repo"
    row: dict[str, Any] = {key: bug[key] for key in ("id", "source_file", "kind", "exception")}
    try:
        row["fix"] = rebuild(bug, mirror, folder)
    except (subprocess.CalledProcessError, RuntimeError, OSError) as error:
        return row | {"error": str(error)}
    cache = work / "cache" / bug["id"]
    plain = _pytest(bug, folder, work, options, ["-o", f"cache_dir={cache}"])
    if plain[0] is None:
        return row | {"error": "the plain run took too long"}
    red = _red(cache)
    others = sorted(red - set(bug["failing"]))
    row |= {"plain_seconds": round(plain[1], 1), "others": others, "green": sorted(set(bug["failing"]) - red)}
    if options.check:
        return row
    unwanted = [nodeid for nodeid in others if not any(asked.startswith(nodeid) for asked in bug["failing"])]
    status, seconds = _pytest(
        bug,
        folder,
        work,
        options,
        [
            "--selfheal",
            f"--selfheal-effort={options.effort}",
            f"--selfheal-time-limit={options.seconds:.0f}",
            *(f"--deselect={nodeid}" for nodeid in unwanted),
        ],
    )
    row |= {"status": status, "seconds": round(seconds, 1)}
    return row | (_outcome(bug, folder) if status is not None else {"error": "killed: took too long"})


def _pytest(
    bug: dict[str, Any], folder: Path, work: Path, options: argparse.Namespace, arguments: list[str]
) -> tuple[int | None, float]:
    """Exit status (``None``: killed) and wall seconds of one run of the bug's test files."""
    roots = [str(folder / part) for part in bug["pythonpath"].split(os.pathsep) if part]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "SELFHEAL"))}
    environment["PYTHONPATH"] = os.pathsep.join(roots)
    command = [options.python, "-m", "pytest", "-q", *arguments, *bug["test_files"]]
    started = time.monotonic()
    with (work / "logs" / f"{bug['id']}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            return process.wait(2 * options.seconds + GRACE), time.monotonic() - started
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None, time.monotonic() - started


def _red(cache: Path) -> set[str]:
    """Nodeids that failed in the run with that cache folder."""
    try:
        return set(json.loads((cache / "v" / "cache" / "lastfailed").read_text("utf-8")))
    except OSError:
        return set()


def _outcome(bug: dict[str, Any], folder: Path) -> dict[str, Any]:
    try:
        report = json.loads((folder / ".selfheal" / "latest" / "report.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        return {"error": f"no report: {error}"}
    wanted = set(bug["failing"])
    causes = [failure for failure in report["failures"] if wanted & set(failure["nodeids"])]
    mended = {nodeid for cause in causes if cause["status"] == "healed" for nodeid in cause["nodeids"]}
    ranks = {"high": 2, "medium": 1, "low": 0}
    confidences = [cause["confidence"] for cause in causes if cause["status"] == "healed"]
    patches = sorted((folder / ".selfheal" / "latest" / "patches").glob("0*.patch"))
    return {
        "healed": bool(wanted) and wanted <= mended,
        "confidence": min(confidences, key=lambda c: ranks.get(c, 0)) if confidences else None,
        "causes": [
            {
                key: cause.get(key)
                for key in ("status", "reason", "confidence", "candidates_tried", "alternatives", "message")
            }
            | {
                "tests": len(cause["nodeids"]),
                "attempts": [
                    {key: attempt[key] for key in ("diagnosis", "verdict", "reason", "seconds", "diff")}
                    for attempt in cause["attempts"]
                ],
            }
            for cause in causes
        ],
        "unasked": sum(not wanted & set(failure["nodeids"]) for failure in report["failures"]),
        "missing": sorted(wanted - {nodeid for cause in causes for nodeid in cause["nodeids"]})[:5],
        "diff": "".join(patch.read_text("utf-8", "replace") for patch in patches),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", type=Path)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--python", default=sys.executable, help="interpreter that runs the tests")
    parser.add_argument("--only", nargs="*", default=[], metavar="ID", help="beginnings of ids; the order counts")
    parser.add_argument("--effort", default="thorough")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--jobs", type=int, default=2, help="bugs side by side")
    parser.add_argument("--check", action="store_true", help="only run the tests: is the bug what the list says?")
    options = parser.parse_args()
    work = options.work.resolve()
    (work / "logs").mkdir(parents=True, exist_ok=True)
    results = work / ("checks.jsonl" if options.check else "results.jsonl")
    done = {json.loads(line)["id"] for line in results.read_text("utf-8").splitlines()} if results.exists() else set()
    bugs = [json.loads(line) for line in options.bugs.read_text("utf-8").splitlines()]
    if options.only:
        bugs = [bug for start in options.only for bug in bugs if bug["id"].startswith(start)]
    lock = threading.Lock()

    def one(bug: dict[str, Any]) -> None:
        row = run(bug, options.mirrors.resolve(), work, options)
        with lock, results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            told = row.get("error") or ((row["green"], row["others"][:3]) if options.check else row["healed"])
            print(f"{row['id']:28} {row.get('seconds', 0):6.1f} s  {row.get('confidence') or '':7} {told}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, (bug for bug in bugs if bug["id"] not in done)))
    rows = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    if not options.check:
        healed = [row for row in rows if row.get("healed")]
        high = sum(row["confidence"] == "high" for row in healed)
        print(f"healed {len(healed)} of {len(rows)}, {high} of them with high confidence")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
