"""Outcomes on disk: patches as soon as they are known, then ``report.json``, ``report.md``, ``report.html``, ``all.patch``.

:func:`write_outcome` is called once for each cause, from any thread; :func:`finish` once, at the end of the run.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from pytest_selfheal.errors import RecordError, SelfhealError
from pytest_selfheal.record import markdown
from pytest_selfheal.record.diff import make_diff
from pytest_selfheal.record.message import file_name, identity, mail_patch
from pytest_selfheal.record.patch import combine, prove
from pytest_selfheal.record.run_dir import Run, point_latest, read_events, redacted
from pytest_selfheal.types import FileChange, Outcome, RunReport

VERSION = 1


class Place(Protocol):
    """What is needed of a project: where it is."""

    @property
    def top(self) -> Path: ...
    @property
    def rootdir(self) -> Path: ...


def write_outcome(run: Run, outcome: Outcome, project: Place) -> Outcome:
    """Write the patch of a healed cause, or the failure report of any other, and return the outcome with its file named.

    A patch is proved by applying and reversing it before it is written.
    Raises :class:`RecordError` (disk full, read-only) or, for a patch that is not what it says, the prover's error.
    """
    name = file_name(outcome)
    prefix = rootdir_prefix(project.rootdir, project.top)
    patch = outcome.patch
    if outcome.status == "healed" and patch is not None:
        prove(patch.changes, make_diff(patch.changes))
        outcome = outcome.but(patch_file=f"patches/{name}.patch")
        author = identity(project.top, run.author)
        mail = mail_patch(outcome, author=author, signoff=run.signoff, prefix=prefix, hide=run.hide)
        run.write(f"patches/{name}.patch", mail)
        for change in patch.changes:
            if change.before is None and change.after is not None and change.path in outcome.generated_tests:
                run.write(f"tests/{_below(change.path)}", change.after)
    else:
        run.write(f"failures/{name}.md", run.hide(markdown.failure_report(outcome, prefix)))
    run.event("outcome", id=outcome.diagnosis.id, failure=failure_json(outcome), told=told(outcome))
    return outcome


def finish(run: Run, report: RunReport) -> RunReport:
    """Write the run's reports and let ``latest`` point to it; returns the report with its folder.

    The run stays open for events; call ``run.close()`` after the last one.
    """
    report = replace(report, directory=str(run.folder))
    # The three reports tell the same texts; looking for secrets in them is the dearest part of writing.
    hide = lru_cache(maxsize=None)(run.hide)
    run.write("report.json", json.dumps(report_json(report, hide), indent=1, ensure_ascii=True) + "\n")
    run.write("report.md", run.hide(markdown.run_report(report)))
    merged, left_out = all_changes(report.outcomes)
    (run.folder / "all.patch").unlink(missing_ok=True)  # of a report before a person's review
    if merged:
        note = f"Not included, for they conflict with an earlier one: {', '.join(left_out)}\n\n" if left_out else ""
        run.write("all.patch", note.encode() + make_diff(merged))
    try:
        from pytest_selfheal.record.html import render

        run.write("report.html", render(report, hide, read_events(run.folder)))
    except (ImportError, SelfhealError) as error:
        run.event("warning", words=f"report.html was not written: {error}")
    point_latest(run)
    run.event("end", stop=report.stop, exit_status=report.exit_status, notes=list(report.notes))
    return report


def all_changes(outcomes: Iterable[Outcome]) -> tuple[tuple[FileChange, ...], list[str]]:
    """Every healed patch as one set of changes, and the ids of those left out because they conflict."""
    healed = [outcome for outcome in outcomes if outcome.status == "healed" and outcome.patch is not None]
    contained = {earlier for outcome in healed for earlier in outcome.includes}
    merged: tuple[FileChange, ...] = ()
    left_out = []
    for outcome in healed:
        if outcome.patch is None or outcome.diagnosis.id in contained:
            continue
        try:
            merged = combine(merged, outcome.patch.changes)
        except SelfhealError:
            left_out.append(outcome.diagnosis.id)
    try:
        prove(merged, make_diff(merged))
    except SelfhealError as error:  # each patch alone was proved; a wrong sum must not reach anybody
        raise RecordError(f"the patches do not add up: {error}") from error
    return merged, left_out


def report_json(report: RunReport, hide: Any = str) -> dict[str, Any]:
    """``report.json``, version 1."""
    import pytest

    from pytest_selfheal import __version__

    usage = report.usage
    data = {
        "version": VERSION,
        "tool": f"pytest-selfheal {__version__}",
        "python": platform.python_version(),
        "pytest": pytest.__version__,
        "started": report.started,
        "seconds": round(report.seconds, 3),
        "exit_status": report.exit_status,
        "model": report.model,
        "critic": report.critic,
        "strategy": report.strategy,
        "sandbox": report.sandbox,
        "stop": report.stop,
        "failures": [redact_failure(failure_json(outcome), hide) for outcome in report.outcomes],
        "totals": {
            "failures": len(report.outcomes),
            "healed": len(report.healed),
            "cost_usd": usage.cost_usd,
            "tokens": usage.prompt_tokens + usage.completion_tokens,
            "seconds": round(report.seconds, 3),
        },
    }
    if report.test_generation is not None:
        data["test_generation"] = redacted(report.test_generation, hide)
    return data


def redact_failure(failure: dict[str, Any], hide: Any) -> dict[str, Any]:
    """Redact what came from tests and models; a nodeid may hold a secret as well, since parameters become part of it."""
    told = {key: redacted(failure[key], hide) for key in ("message", "attempts", "nodeids", "verified")}
    return {**failure, **told}


def failure_json(outcome: Outcome) -> dict[str, Any]:
    """One entry of ``failures``."""
    diagnosis, verdict = outcome.diagnosis, outcome.verdict
    failure = diagnosis.failure
    return {
        "id": diagnosis.id,
        "nodeids": list(diagnosis.nodeids),
        "phase": failure.phase,
        "kind": diagnosis.kind,
        "exception": failure.exception,
        "message": failure.message,
        "location": location(outcome),
        "status": outcome.status,
        "reason": outcome.reason,
        "confidence": outcome.confidence,
        "attempts": [attempt.to_json() for attempt in outcome.attempts],
        "candidates_tried": outcome.candidates_tried,
        "patch": outcome.patch_file,
        "alternatives": len(outcome.patch.alternatives) if outcome.patch else 0,
        "verified": {
            "failing_now_pass": list(verdict.failing_now_pass) if verdict else [],
            "affected_pass": verdict.affected_pass if verdict else 0,
            "repeats": verdict.repeats if verdict else 0,
        },
        "generated_tests": list(outcome.generated_tests),
    }


def told(outcome: Outcome) -> dict[str, Any]:
    """What ``report.json`` has no field for and later commands want to say again."""
    patch, verdict = outcome.patch, outcome.verdict
    return {
        "words": outcome.words,
        "evidence": list(outcome.evidence),
        "seconds": round(outcome.seconds, 3),
        "summary": outcome.diagnosis.summary,
        "text": outcome.diagnosis.failure.text,
        "suspects": [[s.path, s.line, s.function, round(s.score, 3), s.why] for s in outcome.diagnosis.suspects[:10]],
        "sources": [[e.path, e.function, e.first, e.text, e.line] for e in outcome.diagnosis.sources],
        "includes": list(outcome.includes),
        "description": patch.description if patch else "",
        "diagnosis": patch.diagnosis if patch else "",
        "note": patch.note if patch else "",
        "proposer": (patch.model or patch.proposer) if patch else "",
        "alternatives": [[a.description, a.distinguishing_input] for a in patch.alternatives] if patch else [],
        "scope": verdict.scope if verdict else "",
        "guards": list(verdict.guards) if verdict else [],
    }


def location(outcome: Outcome) -> dict[str, Any]:
    """Where the fault is: the changed place when healed, else the likeliest suspect, else the raising frame or the test."""
    diagnosis, failure = outcome.diagnosis, outcome.diagnosis.failure
    if outcome.patch is not None and outcome.status == "healed":
        place = changed_place(outcome.patch.changes)
        if place is not None:
            path, line = place
            near = [s for s in diagnosis.suspects if s.path == path and s.line <= line]
            function = max(near, key=lambda s: s.line).function if near else ""
            return {"path": path, "line": line, "function": function}
    if diagnosis.suspects:
        suspect = diagnosis.suspects[0]
        return {"path": suspect.path, "line": suspect.line, "function": suspect.function}
    if failure.innermost is not None:
        frame = failure.innermost
        return {"path": frame.path, "line": frame.line, "function": frame.function}
    return {"path": failure.path, "line": failure.line or 1, "function": ""}


def changed_place(changes: Iterable[FileChange]) -> tuple[str, int] | None:
    """File and first changed line (of the old file, 1-based) of the first file that was changed rather than made."""
    from pytest_selfheal.record.diff import parse

    for patch in parse(make_diff(changes)):
        if patch.old is None or not patch.hunks:
            continue
        hunk = patch.hunks[0]
        same = 0
        while same < min(len(hunk.before), len(hunk.after)) and hunk.before[same] == hunk.after[same]:
            same += 1
        return patch.old, max(hunk.old_start + same + 1, 1)
    return None


def rootdir_prefix(rootdir: Path, top: Path) -> str:
    """The way from the top to rootdir, POSIX; empty when they are the same."""
    try:
        relative = rootdir.relative_to(top).as_posix()
    except ValueError:
        return ""
    return "" if relative == "." else relative


def _below(path: str) -> str:
    return path.removeprefix("tests/")
