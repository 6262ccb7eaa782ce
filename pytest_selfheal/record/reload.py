"""A stored run as the dataclasses it was written from, as far as the record goes: for ``selfheal report`` and ``show``."""

from __future__ import annotations

from typing import Any

from pytest_selfheal.record.run_dir import is_active
from pytest_selfheal.record.stored import StoredRun
from pytest_selfheal.types import (
    Alternative,
    Attempt,
    Diagnosis,
    Excerpt,
    Failure,
    Frame,
    Outcome,
    Patch,
    Raised,
    RunReport,
    Suspect,
    Usage,
    Verdict,
)


def reload(stored: StoredRun) -> RunReport:
    """The run's report. Bytes of patched files are not part of it; diffs are, as texts."""
    data = stored.report()
    events = [event for event in stored.events() if event.get("event") == "outcome"]
    told = {str(event.get("id")): event.get("told") or {} for event in events}
    diffs = {patch.id: patch.diff.decode("utf-8", "replace") for patch in stored.patches()}
    outcomes = [_outcome(failure, told.get(failure["id"], {}), diffs) for failure in data["failures"]]
    end: dict[str, Any] = next((event for event in stored.events() if event.get("event") == "end"), {})
    notes = tuple(end.get("notes", ())) if "tool" in data else (_unfinished(stored),)
    return RunReport(
        started=data["started"],
        seconds=data["seconds"],
        exit_status=data["exit_status"] if data["exit_status"] is not None else -1,
        model=data.get("model") or "?",
        critic=data.get("critic"),
        strategy=data.get("strategy") or "?",
        sandbox=data.get("sandbox") or "?",
        stop=data["stop"],
        outcomes=tuple(outcomes),
        directory=str(stored.folder),
        top=str(stored.top),
        rootdir=str(stored.rootdir),
        notes=notes,
        test_generation=data.get("test_generation"),
    )


def _unfinished(stored: StoredRun) -> str:
    if is_active(stored.folder):
        return "This run is still going on; what it has found so far is here."
    return "This run did not finish; what it had found until then is here."


def _outcome(failure: dict[str, Any], told: dict[str, Any], diffs: dict[str, str]) -> Outcome:
    place = failure["location"]
    frame = Frame(place["path"], place["line"], place["function"], "")
    raised = Raised(failure["exception"], failure["message"], (frame,))
    seen = tuple(
        Failure(nodeid, failure["phase"], (raised,), text=told.get("text", ""), path=nodeid.split("::")[0])
        for nodeid in failure["nodeids"]
    )
    attempts = tuple(_attempt(attempt) for attempt in failure["attempts"])
    usage = sum((attempt.usage for attempt in attempts), Usage())
    diff = diffs.get(failure["id"], "")
    return Outcome(
        diagnosis=Diagnosis(
            failure["id"],
            seen,
            failure["kind"],
            tuple(Suspect(*suspect) for suspect in told.get("suspects", ())),
            told.get("summary", ""),
            sources=tuple(Excerpt(*excerpt) for excerpt in told.get("sources", ())),
        ),
        status=failure["status"],
        reason=failure["reason"],
        words=told.get("words", ""),
        attempts=attempts,
        patch=_patch(told, attempts) if failure["patch"] else None,
        verdict=_verdict(failure, told) if failure["patch"] else None,
        confidence=failure["confidence"],
        diff=diff,
        candidates_tried=failure["candidates_tried"],
        usage=usage,
        seconds=told.get("seconds", 0.0),
        evidence=tuple(told.get("evidence", ())),
        includes=tuple(told.get("includes", ())),
        patch_file=failure["patch"],
        generated_tests=tuple(failure["generated_tests"]),
    )


def _patch(told: dict[str, Any], attempts: tuple[Attempt, ...]) -> Patch:
    healed = next((attempt for attempt in attempts if attempt.verdict == "healed"), None)
    return Patch(
        changes=(),
        proposer=healed.proposer if healed else told.get("proposer", ""),
        description=told.get("description", ""),
        diagnosis=told.get("diagnosis", ""),
        model=healed.model if healed else None,
        note=told.get("note", ""),
        alternatives=tuple(Alternative((), text, hint) for text, hint in told.get("alternatives", ())),
    )


def _verdict(failure: dict[str, Any], told: dict[str, Any]) -> Verdict:
    verified = failure["verified"]
    return Verdict(
        "healed",
        "",
        failing_now_pass=tuple(verified["failing_now_pass"]),
        affected_pass=verified["affected_pass"],
        repeats=verified["repeats"],
        scope=told.get("scope", ""),
        guards=tuple(told.get("guards", ())),
    )


def _attempt(attempt: dict[str, Any]) -> Attempt:
    return Attempt(
        n=attempt["n"],
        proposer=attempt["proposer"],
        model=attempt["model"],
        diagnosis=attempt["diagnosis"],
        diff=attempt["diff"],
        verdict=attempt["verdict"],
        reason=attempt["reason"],
        critic_score=attempt["critic_score"],
        usage=Usage(attempt["prompt_tokens"], attempt["completion_tokens"], attempt["cost_usd"]),
        seconds=attempt["seconds"],
    )
