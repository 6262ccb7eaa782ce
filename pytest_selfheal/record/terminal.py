"""The section that pytest's own terminal shows at the end: what was healed, what was not and why, and what to do next."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.record import words
from pytest_selfheal.record.ci import workflow_commands
from pytest_selfheal.record.diff import parse
from pytest_selfheal.record.find import find_base
from pytest_selfheal.record.journal import states
from pytest_selfheal.record.screen import Screen
from pytest_selfheal.types import Outcome, RunReport

DIFF_LINES = 12
_DETAILED = 25
"""So many causes are told in full; the report has the rest."""


def summary(terminalreporter: Any, report: RunReport) -> None:
    """Print the section. ``-q`` leaves a line for each cause, the totals and the commands."""
    screen = Screen(terminalreporter._tw)
    quiet = terminalreporter.config.get_verbosity() < 0
    print_report(screen, report, Path(terminalreporter.config.invocation_params.dir), quiet=quiet)
    for command in workflow_commands(report):
        screen.line(command)


def print_report(screen: Screen, report: RunReport, cwd: Path, quiet: bool = False) -> None:
    """The section on any screen; paths and commands are meant for a shell in ``cwd``."""
    screen.separator("self-heal")
    folder = Path(report.directory) if report.directory else None
    ordered = sorted(report.outcomes, key=lambda outcome: outcome.status != "healed")
    for number, outcome in enumerate(ordered):
        root = Path(report.rootdir) if report.rootdir else cwd
        _cause(screen, outcome, folder, root, cwd, brief=quiet or number >= _DETAILED)
    for note in report.notes:
        screen.paragraph(note, "")
    good = len(report.healed) == len(report.outcomes) and bool(report.outcomes)
    if report.outcomes or not report.test_generation:
        screen.paragraph(words.totals(report), "", bold=True, **({"green": True} if good else {"yellow": True}))
    _generated(screen, report, folder, cwd)
    if folder is not None:
        _commands(screen, report, folder, cwd)


def _cause(screen: Screen, outcome: Outcome, folder: Path | None, root: Path, cwd: Path, brief: bool) -> None:
    healed = outcome.status == "healed"
    nodeids = outcome.diagnosis.nodeids
    test = from_here(nodeids[0], root, cwd) if nodeids else ""
    more = f" (+{len(nodeids) - 1})" if len(nodeids) > 1 else ""
    screen.write(f"{outcome.diagnosis.id} ")
    if healed:
        screen.write("healed", green=True, bold=True)
        how = f", {outcome.confidence} confidence" if outcome.confidence else ""
        screen.line(f" {test}{more}{how}")
    else:
        screen.write("not healed", red=True, bold=True)
        screen.line(f" {test}{more}: {outcome.reason}")
    if brief:
        return
    if healed and outcome.patch is not None:
        screen.paragraph(_what(outcome))
        screen.diff(outcome.diff, limit=DIFF_LINES)
        if outcome.patch.note:
            screen.paragraph(outcome.patch.note, yellow=True)
        if folder is not None and outcome.patch_file:
            screen.line(f"     {shown(folder / outcome.patch_file, cwd)}")
    else:
        screen.paragraph(outcome.words or f"{words.REASONS[outcome.reason].capitalize()}.")
        for signal in outcome.evidence[:4]:
            screen.paragraph(f"- {signal}", "       ")
        screen.paragraph(f"next: {words.next_step(outcome)}")
        if folder is not None:
            found = sorted((folder / "failures").glob(f"{outcome.diagnosis.id}-*.md"))
            if found:
                screen.line(f"     {shown(found[0], cwd)}")
    screen.line()


def _what(outcome: Outcome) -> str:
    """What was changed, and in which file, should the description not name it."""
    words = outcome.patch.description if outcome.patch else ""
    paths = [file.path for file in parse(outcome.diff.encode("utf-8", "surrogateescape"))]
    return words if any(Path(path).name in words for path in paths) else f"{words} in {', '.join(paths)}"


def _generated(screen: Screen, report: RunReport, folder: Path | None, cwd: Path) -> None:
    tests = [test for outcome in report.outcomes for test in outcome.generated_tests]
    if tests:
        screen.line(
            f"{len(tests)} generated {'test' if len(tests) == 1 else 'tests'}, part of the patches: {', '.join(tests[:3])}"
        )
    made = report.test_generation
    if not made:
        return
    screen.paragraph(str(made.get("words", "")), "")
    rows = [[str(cell) for cell in row] for row in made.get("table", ())]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows[:40]:
        screen.line("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if made.get("patch") and folder is not None:
        screen.line(f"patch:   {shown(folder / str(made['patch']), cwd)}")
        screen.line(f"apply:   {command(folder, cwd)} apply")


def _commands(screen: Screen, report: RunReport, folder: Path, cwd: Path) -> None:
    selfheal = command(folder, cwd)
    page = folder / "report.html"
    screen.line(f"report:  {shown(page if page.exists() else folder / 'report.md', cwd)}")
    if not report.healed:
        return
    screen.line(f"look:    {selfheal} show {report.healed[0].diagnosis.id}")
    applied = _applied(report, folder)
    if applied:
        screen.line(f"undo:    {selfheal} undo")
    if all(outcome.diagnosis.id in applied for outcome in report.healed):
        return
    screen.line(f"apply:   {selfheal} apply{'' if applied else f'        (undo: {selfheal} undo)'}")
    patch = folder / "all.patch"
    if patch.exists() and report.top and not applied:
        top = Path(report.top)
        there = "" if top == cwd.resolve() else f"-C {shlex.quote(shown(top, cwd))} "
        # Below -C, git looks for the patch from there.
        screen.line(f"or:      git {there}apply {shlex.quote(shown(patch, top))}")


def _applied(report: RunReport, folder: Path) -> set[str]:
    """Ids whose changes are in the tree, be it through a later patch that contains them."""
    try:
        there = {id for id, state in states(folder.parent.parent, folder.name).items() if state == "applied"}
    except SelfhealError:  # a damaged journal; 'selfheal apply' says so
        return set()
    contained = {id for outcome in report.healed if outcome.diagnosis.id in there for id in outcome.includes}
    return there | contained


def command(folder: Path, cwd: Path) -> str:
    """``selfheal``, with the folder where it would not find this run by itself."""
    base = folder.parent.parent
    try:
        if find_base(cwd) == base.resolve():
            return "selfheal"
    except OSError:
        pass
    where = base.parent if base.name == ".selfheal" else base
    return f"selfheal -C {shlex.quote(shown(where, cwd))}"


def from_here(nodeid: str, root: Path, cwd: Path) -> str:
    """A nodeid as a shell in ``cwd`` passes it to pytest, and as pytest's own summary names it."""
    path, colons, rest = nodeid.partition("::")
    return shown(root / path, cwd).replace(os.sep, "/") + colons + rest


def shown(path: Path, cwd: Path) -> str:
    """A path as short as it can be written from ``cwd``."""
    try:
        relative = os.path.relpath(path, cwd)
    except ValueError:  # another drive
        return str(path)
    return relative if not relative.startswith(os.path.join("..", "..")) else str(path)  # noqa: PTH118
