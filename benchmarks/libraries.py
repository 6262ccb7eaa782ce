"""Real libraries with a seeded bug each, started as a newcomer would: ``pip install -e .``, ``pytest --selfheal``.

    python benchmarks/libraries.py --work FOLDER                      # one mutant of each of the twelve libraries
    python benchmarks/libraries.py --work FOLDER --mutants 25 --only humanize --only toolz --limit 120
    python benchmarks/libraries.py --work FOLDER --summary            # only adds up what results.jsonl holds

Source distributions of pinned versions come from the package index; the bugs are those of cosmic-ray, a mutation tool that
shares no code with this project, drawn by ``--seed``. A mutant counts when at least one test of the library fails by it.
Each ends as a line of FOLDER/results.jsonl; a run that is started again goes on behind the last one. ``outcome`` is one of

- ``restored``: the patch gives the original's syntax tree;
- ``green``: another change, with which all of the library's tests pass;
- ``wrong``: a patch that does not apply, or with which a test of the library fails;
- ``unhealed``: no patch (``reason`` says why);
- ``unclean``: anything that a newcomer must never see (``faults``). Exit status 1 when there is one, or a ``wrong``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
import venv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MUTATION_TOOL = "cosmic-ray==8.7.0"
TEST_SECONDS = 600.0
"""Wall limit for one plain run of a library's tests."""
LITTER = ("__pycache__/", ".pytest_cache/", ".hypothesis/", ".coverage*", "*.egg-info/")
"""What running tests and installing leave behind."""
TRIES = 40
"""Mutants that may be drawn for each one that a test notices."""

# Run by the mutation tool's own Python: the candidates of a file, or one of them applied.
MUTATE = """\
import random, sys
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

path, seed = sys.argv[1:]
code = open(path, encoding="utf-8", newline="").read()
nodes = list(ast_nodes(get_ast(code)))
found = []
for name in sorted(operator_names()):
    try:
        operator = get_operator(name)()
    except TypeError:  # wants arguments of its own
        continue
    count = sum(len(list(operator.mutation_positions(node))) for node in nodes)
    found += [(name, operator, n) for n in range(count)]
if found:
    name, operator, n = random.Random(int(seed)).choice(found)
    after = mutate_code(code, operator, n)
    if after is not None and after != code:
        sys.stderr.write(name)
        sys.stdout.buffer.write(after.encode("utf-8"))
"""


@dataclass(frozen=True)
class Library:
    name: str
    version: str
    code: str
    """Folder or file of the code under test, relative to the distribution's root."""
    needs: tuple[str, ...] = ()
    """Test dependencies."""


LIBRARIES = (
    Library("boltons", "26.2.0", "boltons"),
    Library("cachetools", "5.5.0", "src/cachetools"),
    Library("click", "8.5.1", "src/click"),
    Library("first", "2.0.2", "first.py"),
    Library("humanize", "4.17.0", "src/humanize", ("freezegun",)),
    Library("inflection", "0.5.1", "inflection"),
    Library("more-itertools", "11.2.1", "more_itertools"),
    Library("natsort", "8.4.0", "natsort", ("hypothesis", "pytest-mock")),
    Library("parse", "1.20.2", "parse.py"),
    Library("pyparsing", "3.3.3", "pyparsing", ("railroad-diagrams", "jinja2")),
    Library("schema", "0.7.8", "schema"),
    Library("toolz", "0.12.1", "toolz"),
)


def call(argv: list[str], folder: Path, timeout: float = 900.0) -> subprocess.CompletedProcess[str]:
    """Run to the end; a run that takes too long has status 124."""
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "SELFHEAL_", "COV"))}
    try:
        return subprocess.run(
            argv, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=timeout
        )
    except subprocess.TimeoutExpired as error:
        tail = error.stdout if isinstance(error.stdout, str) else ""
        return subprocess.CompletedProcess(argv, 124, tail, "")


def must(argv: list[str], folder: Path) -> None:
    done = call(argv, folder)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv[:6])} … ended with {done.returncode}: {(done.stdout + done.stderr)[-800:]}")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "core.autocrlf=false"]
    return call(["git", *who, *arguments], folder).stdout


class Checkout:
    """One library: its unpacked distribution as a git repository, with an environment of its own."""

    def __init__(self, subject: Library, work: Path) -> None:
        self.subject = subject
        self.home = work / subject.name
        self.python = str(self.home / "env" / "bin" / "python")
        self.tree = self.home / "tree"
        self.skip: list[str] = []
        """Tests that fail without any bug: left out of every run."""

    def prepare(self) -> None:
        done = self.home / "prepared.json"
        if not done.exists():
            shutil.rmtree(self.home, ignore_errors=True)  # of a start that was interrupted
            self.home.mkdir(parents=True)
            name = f"{self.subject.name}=={self.subject.version}"
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", "sdist"]
            must([*pip, name], self.home)
            [archive] = (self.home / "sdist").glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(self.home / "unpacked", filter="data")
            [top] = (self.home / "unpacked").iterdir()
            top.rename(self.tree)
            git(self.tree, "init", "-q")
            (self.tree / ".git" / "info" / "exclude").write_text("\n".join(LITTER) + "\n")
            git(self.tree, "add", "-A", "-f")
            git(self.tree, "commit", "-q", "-m", "as published")
            venv.create(self.home / "env", with_pip=True)
            must([self.python, "-m", "pip", "install", "-q", "-e", "."], self.tree)
            must([self.python, "-m", "pip", "install", "-q", str(ROOT), *self.subject.needs], self.tree)
            git(self.tree, "add", "-A")  # what installing made and git does not ignore
            git(self.tree, "commit", "-q", "-m", "installed")
            _, _, output = self.suite()
            done.write_text(json.dumps(failed_tests(output)))
        self.skip = [argument for nodeid in json.loads(done.read_text()) for argument in ("--deselect", nodeid)]

    def suite(self) -> tuple[int, float, str]:
        """Status, wall seconds and output of a plain run."""
        started = time.monotonic()
        plain = [self.python, "-m", "pytest", "-q", "-rfE", "-p", "no:selfheal", "-p", "no:cacheprovider", *self.skip]
        done = call(plain, self.tree, TEST_SECONDS)
        return done.returncode, time.monotonic() - started, done.stdout + done.stderr

    def files(self) -> list[Path]:
        code = self.tree / self.subject.code
        found = [code] if code.is_file() else sorted(code.rglob("*.py"))
        return [path for path in found if not re.search(r"(^|/)(tests?/|test_|conftest)", str(path.relative_to(code)))]

    def reset(self) -> None:
        git(self.tree, "checkout", "-q", "-f", "HEAD")
        git(self.tree, "clean", "-q", "-d", "-f", "-x", "-e", "*.egg-info", "-e", "_version.py")


def failed_tests(output: str) -> list[str]:
    return [m[1] for m in re.finditer(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", output, re.MULTILINE)]


def tool_of(work: Path) -> str:
    python = work / "mutation-tool" / "bin" / "python"
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
        must([str(python), "-m", "pip", "install", "-q", MUTATION_TOOL], work)
    return str(python)


def mutants(checkout: Checkout, tool: str, seed: int) -> Iterator[tuple[Path, bytes, str]]:
    """File, mutated bytes and operator, drawn without end; large files more often than small ones."""
    files = checkout.files()
    draw = random.Random(f"{checkout.subject.name} {seed}")
    while True:
        path = draw.choices(files, [file.stat().st_size + 1 for file in files])[0]
        arguments = [tool, "-c", MUTATE, str(path), str(draw.randrange(2**31))]
        done = subprocess.run(arguments, capture_output=True, check=False)
        if done.returncode == 0 and done.stdout and not same(done.stdout, path.read_bytes()):
            yield path, done.stdout, done.stderr.decode().rpartition("\n")[2]


def same(one: bytes, other: bytes) -> bool:
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError):
        return False


def measure(checkout: Checkout, path: Path, mutant: bytes, limit: float) -> dict[str, Any]:
    """What became of one mutant; of one that no test notices, only this."""
    name = path.relative_to(checkout.tree).as_posix()
    original = path.read_bytes()
    path.write_bytes(mutant)
    status, plain, output = checkout.suite()
    if status not in (1, 2) or not (failing := failed_tests(output)):
        return {"outcome": "unnoticed"}
    file = [checkout.python, "-m", "pytest", "-q", "-p", "no:selfheal", failing[0].partition("::")[0]]
    started = time.monotonic()
    call(file, checkout.tree, TEST_SECONDS)
    file_seconds = time.monotonic() - started
    before = git(checkout.tree, "status", "--porcelain")
    started = time.monotonic()
    command = [checkout.python, "-m", "pytest", "--selfheal", "--selfheal-total-time", str(limit), *checkout.skip]
    done = call(command, checkout.tree, TEST_SECONDS + 2 * limit)
    line: dict[str, Any] = {
        "file": name,
        "bug": git(checkout.tree, "diff", "-U0", "--", name),
        "failing": len(failing),
        "plain_seconds": round(plain, 2),
        "file_seconds": round(file_seconds, 2),
        "seconds": round(time.monotonic() - started, 2),
        "faults": faults(
            done, status, path.read_bytes() == mutant, before, git(checkout.tree, "status", "--porcelain")
        ),
    }
    line |= judged(checkout, path, original)
    if line["faults"]:
        line["outcome"] = "unclean"
        (checkout.home / f"unclean-{int(time.time())}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    (checkout.home / f"output-{checkout.subject.name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    return line


def faults(done: subprocess.CompletedProcess[str], status: int, kept: bool, before: str, after: str) -> list[str]:
    printed = done.stdout + done.stderr
    found = [word for word in ("INTERNALERROR", "fault of its own", "pytest_selfheal/") if word in printed]
    if done.returncode != status:
        found.append(f"exit status {done.returncode} instead of {status}")
    if not kept:
        found.append("the code was changed")
    if after != before:
        found.append(f"the tree was changed: {after!r}")
    return found


def judged(checkout: Checkout, path: Path, original: bytes) -> dict[str, Any]:
    """What became of the causes, and whether the patches hold: by the original, else by the library's own tests."""
    report_file = checkout.tree / ".selfheal" / "latest" / "report.json"
    if not report_file.exists():
        return {"outcome": "unclean", "faults": ["no report"]}
    report = json.loads(report_file.read_text("utf-8"))
    causes = [
        {key: cause[key] for key in ("status", "reason", "confidence", "candidates_tried")}
        for cause in report["failures"]
    ]
    told = {"causes": causes, "healing_seconds": round(report["seconds"], 2), "sandbox": report["sandbox"]}
    patch = report_file.parent / "all.patch"
    if not patch.exists():
        reasons = Counter(cause["reason"] for cause in causes)
        return {"outcome": "unhealed", "reason": reasons.most_common(1)[0][0], **told}
    told["patch"] = patch.read_text("utf-8", "replace")
    if call(["git", "apply", str(patch.resolve())], checkout.tree).returncode:
        return {"outcome": "wrong", "reason": "does not apply", **told}
    if same(path.read_bytes(), original):
        return {"outcome": "restored", **told}
    status, _, output = checkout.suite()
    whole = all(cause["status"] == "healed" for cause in causes)
    if status == 0 or not whole:
        return {"outcome": "green" if status == 0 else "unhealed", "reason": "in part" if status else "", **told}
    return {"outcome": "wrong", "reason": f"still red: {failed_tests(output)[:3]}", **told}


def summary(lines: list[dict[str, Any]]) -> str:
    counted = Counter(line["outcome"] for line in lines)
    healed = [line for line in lines if line["outcome"] in ("restored", "green")]
    text = f"{len(lines)} mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in counted.most_common())
    if healed:
        times = sorted(line["healing_seconds"] for line in healed)
        shares = [line["healing_seconds"] / max(line["plain_seconds"], 0.01) for line in healed]
        text += f"\ntime to a patch: median {statistics.median(times):.1f} s, most {times[-1]:.1f} s"
        text += f"; {statistics.median(shares):.1f} times the library's own suite on the median"
        high = [line for line in healed if any(cause["confidence"] == "high" for cause in line["causes"])]
        text += f"\nhigh confidence: {sum(line['outcome'] == 'restored' for line in high)} of {len(high)} restored"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for distributions, environments and results")
    parser.add_argument("--only", action="append", choices=[library.name for library in LIBRARIES])
    parser.add_argument("--mutants", type=int, default=1, help="noticed mutants of each library")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of healing for each mutant")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = work / "results.jsonl"
    lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.exists() else []
    chosen = [library for library in LIBRARIES if not options.only or library.name in options.only]
    for library in () if options.summary else chosen:
        earlier = [line for line in lines if (line["library"], line["seed"]) == (library.name, options.seed)]
        known = {line["number"]: line["outcome"] != "unnoticed" for line in earlier}
        if sum(known.values()) >= options.mutants:
            continue
        checkout = Checkout(library, work)
        checkout.prepare()
        noticed = 0
        # Mutants are drawn in the same order each time, so that a second start finds its place.
        for number, (path, mutant, operator) in enumerate(mutants(checkout, tool_of(work), options.seed)):
            if noticed == options.mutants or number == TRIES * options.mutants:
                break
            if number not in known:
                head = {"library": library.name, "seed": options.seed, "number": number, "operator": operator}
                try:
                    line = {**head, **measure(checkout, path, mutant, options.limit)}
                finally:
                    checkout.reset()
                lines.append(line)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                known[number] = line["outcome"] != "unnoticed"
                if known[number]:
                    words = line.get("reason", "")
                    print(f"{library.name} {line['file']} {operator}: {line['outcome']} {words}", flush=True)
            noticed += known[number]
    lines = [line for line in lines if line["library"] in {library.name for library in chosen}]
    lines = [line for line in lines if line["outcome"] != "unnoticed"]
    print(summary(lines))
    return 1 if any(line["outcome"] in ("wrong", "unclean") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
