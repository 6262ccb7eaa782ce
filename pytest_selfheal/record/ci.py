"""What CI systems show: GitHub's job summary and annotations, GitLab's code-quality report, properties in JUnit XML.

The system is recognised by the variables that it sets; nothing here asks, waits or talks to a network.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record import markdown, words
from pytest_selfheal.record.report import location
from pytest_selfheal.record.run_dir import Hide, replace_file, to_utf8, writing
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Outcome, RunReport

SUMMARY_LIMIT = 1_000_000
"""Bytes; GitHub refuses a job summary above 1 MiB."""
ANNOTATIONS = 50
"""GitHub shows so many of a job; more would push the project's own out."""

System = Literal["github", "gitlab"]


def detect(environment: Mapping[str, str] = os.environ) -> System | None:
    """The CI system that runs us, if it is one that we can tell something."""
    if environment.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "gitlab" if environment.get("GITLAB_CI") == "true" else None


def tell(report: RunReport, config: Any, hide: Hide = str) -> RunReport:
    """Tell the CI system and the run's JUnit XML; what could not be written becomes a note of the report."""
    add_junit_properties(config, report)
    try:
        publish(report, hide)
    except RecordError as error:
        return replace(report, notes=(*report.notes, str(error)))
    return report


def publish(report: RunReport, hide: Hide = str, environment: Mapping[str, str] = os.environ) -> None:
    """Write the files that the CI system picks up. Raises :class:`pytest_selfheal.errors.RecordError`."""
    system = detect(environment)
    if system == "github" and environment.get("GITHUB_STEP_SUMMARY"):
        summary = Path(environment["GITHUB_STEP_SUMMARY"])
        # A link into the run's folder leads nowhere from there.
        told = re.sub(r"\[(?:patch|report)\]\(([^)]*)\)", r"`\1`", markdown.run_report(report))
        text = to_utf8(hide(told))
        if len(text) > SUMMARY_LIMIT:
            cut = text[:SUMMARY_LIMIT].rsplit(b"\n## ", 1)[0]
            text = cut + b"\n\nThe rest is in report.md of the run's artifact.\n"
        with writing(summary), summary.open("ab") as file:
            file.write(text + b"\n")
    if system == "gitlab" and report.directory:
        base = Path(report.directory).parent.parent
        with writing(base):
            replace_file(base / "gl-code-quality.json", json.dumps(code_quality(report, hide), indent=1).encode())


# --- GitHub ----------------------------------------------------------------------------------------------------------


def workflow_commands(report: RunReport, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Workflow commands for standard output, a line each: a notice where a patch waits, an error where none was found.

    Empty outside of GitHub Actions.
    """
    if detect(environment) != "github":
        return []
    return [_annotation(report, outcome, environment) for outcome in report.outcomes[:ANNOTATIONS]]


def _annotation(report: RunReport, outcome: Outcome, environment: Mapping[str, str]) -> str:
    place = location(outcome)
    properties = {
        "file": _from_workspace(report, _from_top(report, outcome, place["path"]), environment),
        "line": str(place["line"]),
        "title": f"self-heal {outcome.diagnosis.id}: {_verdict(outcome)}",
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    kind = "notice" if outcome.status == "healed" else "error"
    return f"::{kind} {listed}::{_message(_told(outcome))}"


def _told(outcome: Outcome) -> str:
    nodeid = outcome.diagnosis.failure.nodeid
    if outcome.status == "healed" and outcome.patch is not None:
        return f"{nodeid}: {outcome.patch.description}\n{outcome.patch_file or ''}".rstrip()
    return f"{nodeid}: {outcome.words or words.REASONS[outcome.reason]}\nNext: {words.next_step(outcome)}"


def _verdict(outcome: Outcome) -> str:
    return (
        f"healed, {outcome.confidence} confidence" if outcome.status == "healed" else f"not healed ({outcome.reason})"
    )


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _from_top(report: RunReport, outcome: Outcome, path: str) -> str:
    """Changed files and suspects are named from the top, a test's file from rootdir."""
    if path != outcome.diagnosis.failure.path or not report.top or (Path(report.top) / path).exists():
        return path
    return os.path.relpath(Path(report.rootdir) / path, report.top).replace(os.sep, "/")


def _from_workspace(report: RunReport, path: str, environment: Mapping[str, str]) -> str:
    workspace = environment.get("GITHUB_WORKSPACE")
    if not workspace or not report.top:
        return path
    try:
        return os.path.relpath(Path(report.top) / path, workspace).replace(os.sep, "/")
    except ValueError:  # another drive
        return path


# --- GitLab ----------------------------------------------------------------------------------------------------------


def code_quality(report: RunReport, hide: Hide = str) -> list[dict[str, Any]]:
    """GitLab's code-quality report, a subset of the CodeClimate format: an issue for each cause, at the place of the fault."""
    issues = []
    for outcome in report.outcomes:
        place = location(outcome)
        key = "\0".join((outcome.diagnosis.failure.nodeid, outcome.diagnosis.failure.signature))
        issues.append(
            {
                "type": "issue",
                "categories": ["Bug Risk"],
                "description": hide(f"{_verdict(outcome)}: {_told(outcome)}".replace("\n", " ")),
                "check_name": f"selfheal-{outcome.diagnosis.kind}",
                "fingerprint": hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest(),
                "severity": "minor" if outcome.status == "healed" else "major",
                "location": {
                    "path": _from_top(report, outcome, place["path"]),
                    "lines": {"begin": max(1, int(place["line"]))},
                },
            }
        )
    return issues


# --- JUnit XML -------------------------------------------------------------------------------------------------------


def add_junit_properties(config: Any, report: RunReport) -> None:
    """Name patch and reason in the JUnit XML that this run writes, if it does.

    As properties of the suite: the public schema of xunit2, pytest's default, has none for a test case.
    """
    from _pytest.junitxml import bin_xml_escape, xml_key

    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    for nodeid, value in junit_properties(report):
        xml.add_global_property(f"selfheal:{bin_xml_escape(nodeid)}", value)


def junit_properties(report: RunReport) -> Iterable[tuple[str, str]]:
    """``(nodeid, what became of it)`` for each failed test."""
    for outcome in report.outcomes:
        where = str(Path(report.directory) / outcome.patch_file) if outcome.patch_file else outcome.words
        for nodeid in outcome.diagnosis.nodeids:
            yield nodeid, f"{_verdict(outcome)}: {where}" if where else _verdict(outcome)


# --- pull requests from forks ----------------------------------------------------------------------------------------


def without_secrets(settings: Settings, environment: Mapping[str, str] = os.environ) -> tuple[Settings, str | None]:
    """Settings that work for a pull request from a fork, which gets no secrets: the embedded engine, and a sentence.

    Everywhere else, and where a key is there nevertheless or the model has an endpoint of its own, nothing changes.
    """
    asked = settings.model != "builtin" or settings.critic is not None
    keys = any(value for name, value in environment.items() if name.endswith(("_API_KEY", "_API_TOKEN")))
    if not asked or keys or settings.api_base or not from_fork(environment):
        return settings, None
    note = (
        "This is a pull request from a fork, which gets no secrets: the embedded engine worked alone, "
        f"without {settings.model if settings.model != 'builtin' else settings.critic}."
    )
    return replace(settings, model="builtin", critic=None, strategy="auto"), note


def from_fork(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this run is for a pull or merge request from another repository."""
    source = environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    if detect(environment) == "gitlab":
        return bool(source) and source != environment.get("CI_MERGE_REQUEST_PROJECT_ID")
    if detect(environment) != "github" or environment.get("GITHUB_EVENT_NAME") != "pull_request":
        return False
    try:
        event = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_text("utf-8"))
        head = event["pull_request"]["head"]["repo"]
        return head is None or head["full_name"] != environment.get("GITHUB_REPOSITORY")
    except (OSError, ValueError, KeyError, TypeError):
        return False
