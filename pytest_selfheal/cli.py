"""The ``selfheal`` command: what to do with the patches of an earlier run. Each command is one function.

An error is one sentence on standard error and exit status 2; Ctrl-C is 130; a reader that went away (``| head``) is no error.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_selfheal.errors import RecordError, SelfhealError

if TYPE_CHECKING:
    from pytest_selfheal.record.screen import Screen
    from pytest_selfheal.record.stored import StoredRun

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    parser = build_parser(bench="bench" in argv)
    try:
        arguments = parser.parse_args(argv)
        if not Path(arguments.folder).is_dir():
            raise RecordError(f"{arguments.folder!r} is not a folder.")
        run: Command = arguments.run
        status = run(arguments)
        sys.stdout.flush()
        return status
    except SelfhealError as error:
        _complain(f"selfheal: {error}")
        return 2
    except KeyboardInterrupt:
        _complain("selfheal: interrupted")
        return 130
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if os.environ.get("SELFHEAL_DEBUG"):
            raise
        where = f" {error.filename}" if error.filename else ""
        _complain(f"selfheal: the system refused{where}: {error.strerror or error}")
        return 2


def build_parser(bench: bool = False) -> argparse.ArgumentParser:
    """The command line; the documentation is generated from it too.

    ``bench``: with the benchmark's commands, which bring imports along that no other command should pay for.
    """
    from pytest_selfheal import __version__

    parser = argparse.ArgumentParser(
        prog="selfheal",
        description="Look at, apply and undo what 'pytest --selfheal' found.",
        epilog="Runs are looked for in DIR, its parents, then below it; the newest wins.",
        allow_abbrev=False,
    )
    parser.add_argument("-C", dest="folder", metavar="DIR", default=".", help="act as if started in DIR")
    parser.add_argument("--version", action="version", version=f"pytest-selfheal {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Command, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(run=run)
        return made

    command("list", _list, "what the newest run found: ids, tests, results")
    show = command("show", _show, "one failure: its patch and evidence, or why it was not healed")
    show.add_argument("id", metavar="ID")
    apply = command("apply", _apply, "write patches into the working tree, or commit them on a new branch")
    apply.add_argument("ids", nargs="*", metavar="ID", help="patches to apply (default: all)")
    apply.add_argument("--branch", metavar="NAME", help="commit on a new branch; working tree and index stay untouched")
    apply.add_argument("-m", "--message", help="with --branch: the commit's message")
    apply.add_argument("--author", metavar="'NAME <ADDRESS>'", help="with --branch: the commit's author")
    apply.add_argument("--signoff", action="store_true", help="with --branch: add a Signed-off-by line")
    undo = command("undo", _undo, "take applied patches back, to the very bytes")
    undo.add_argument(
        "ids", nargs="*", metavar="ID", help="patches to take back (default: all of the last applied run)"
    )
    command("review", _review, "decide on each patch of the newest run: yes, no, edit, skip, quit")
    report = command("report", _report, "print the newest run's report")
    report.add_argument("--format", choices=["terminal", "json", "markdown", "html"], default="terminal")
    check = command("check", _check, "what works here: sandbox, git, model endpoint and key, known price")
    check.add_argument("--model", metavar="NAME", help="check this model (default: SELFHEAL_MODEL or the ini file's)")
    check.add_argument("--api-base", metavar="URL", help="its endpoint")
    clean = command("clean", _clean, "remove old runs")
    clean.add_argument("--keep", type=_count, default=0, metavar="N", help="keep the newest N runs (default: 0)")
    benchmark = command("bench", _bench, "benchmark results: summary, compare, plot")
    if bench:
        from pytest_selfheal.bench.cli import add_parsers

        add_parsers(benchmark.add_subparsers(required=True, metavar="COMMAND"))
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("give a number that is not negative")
    return value


def _list(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.journal import states
    from pytest_selfheal.record.listing import print_list

    stored = _run(arguments)
    print_list(_screen(), stored, states(stored.base, stored.folder.name))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.listing import print_cause

    print_cause(_screen(), _run(arguments), arguments.id)
    return 0


def _apply(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.consent import told
    from pytest_selfheal.record.journal import apply_patches

    stored = _run(arguments)
    patches = stored.select(arguments.ids)
    if not patches:
        raise RecordError(f"nothing was healed in {stored.folder.name}, so there is nothing to apply.")
    screen = _screen()
    if arguments.branch is not None:
        from pytest_selfheal.record.branch import commit_on_branch

        commit = commit_on_branch(
            stored,
            patches,
            arguments.branch,
            author=arguments.author,
            message=arguments.message,
            signoff=arguments.signoff,
        )
        count = f"{len(patches)} {'patch' if len(patches) == 1 else 'patches'}"
        screen.line(f"{count} committed on branch {arguments.branch} as {commit[:12]}; the working tree is untouched.")
        return 0
    if arguments.message or arguments.author or arguments.signoff:
        raise RecordError("--message, --author and --signoff need --branch: only a commit has them.")
    result = apply_patches(stored, patches)
    for sentence in told(result):
        screen.line(sentence)
    return 2 if result.refused else 0


def _undo(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.journal import undo_patches

    stored = _run(arguments)
    result = undo_patches(stored.base, stored.top, arguments.ids)
    screen = _screen()
    for id, paths in result.done.items():
        screen.line(f"Took back {id} in {', '.join(paths)}")
    if result.merged:
        screen.line(f"Later edits were kept: {', '.join(result.merged)}; run the tests.")
    for id, why in result.refused.items():
        screen.line(f"Not taken back: {id}: {why}")
    return 2 if result.refused else 0


def _review(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.review import review_stored

    return review_stored(_run(arguments))


def _report(arguments: argparse.Namespace) -> int:
    stored = _run(arguments)
    if arguments.format == "terminal":
        from pytest_selfheal.record.reload import reload
        from pytest_selfheal.record.terminal import print_report

        print_report(_screen(), reload(stored), Path.cwd())
        return 0
    name = {"json": "report.json", "markdown": "report.md", "html": "report.html"}[arguments.format]
    if not (stored.folder / name).exists() and arguments.format != "html":
        return _report_of_unfinished(stored, arguments.format)
    try:
        content = (stored.folder / name).read_bytes()
    except FileNotFoundError:
        raise RecordError(f"{stored.folder.name} has no {name}: the run did not finish.") from None
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    return 0


def _report_of_unfinished(stored: StoredRun, form: str) -> int:
    import json

    from pytest_selfheal.record import markdown
    from pytest_selfheal.record.reload import reload

    text = json.dumps(stored.report(), indent=1) if form == "json" else markdown.run_report(reload(stored))
    sys.stdout.write(text + "\n")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.check import findings

    lines = findings(Path(arguments.folder), arguments.model, arguments.api_base)
    screen = _screen()
    for line in lines:
        kind = line.split(":")[0]
        screen.line(line, green=kind == "ok", yellow=kind == "note", red=kind == "problem")
    return 2 if any(line.startswith("problem") for line in lines) else 0


def _clean(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.record.clean import clean
    from pytest_selfheal.record.find import find_base

    base = find_base(Path(arguments.folder))
    if base is None:
        _screen().line("There are no runs to remove.")
        return 0
    removed, kept = clean(base, arguments.keep)
    told = f"Removed {removed} {'run' if removed == 1 else 'runs'} from {base}"
    _screen().line(f"{told}; kept {', '.join(kept)}." if kept else f"{told}.")
    return 0


def _bench(arguments: argparse.Namespace) -> int:
    from pytest_selfheal.bench import cli

    return int(cli.run(arguments))


def _run(arguments: argparse.Namespace) -> StoredRun:
    from pytest_selfheal.record.find import find_run
    from pytest_selfheal.record.stored import load_run

    return load_run(find_run(Path(arguments.folder)))


def _screen() -> Screen:
    from pytest_selfheal.record.screen import screen_on

    return screen_on(sys.stdout)


def _complain(sentence: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        encoding = sys.stderr.encoding or "ascii"
        sys.stderr.write(sentence.encode(encoding, "backslashreplace").decode(encoding) + "\n")
