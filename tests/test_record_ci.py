"""What CI systems get, by the formats that they document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from record_samples import BEFORE, Tree, diagnosis, healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.record import ci
from pytest_selfheal.settings import Settings

GITHUB = {"GITHUB_ACTIONS": "true"}

# GitLab's documented subset of the CodeClimate format: these fields, severities and places.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["type", "categories", "description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "type": {"const": "issue"},
            "categories": {"type": "array", "items": {"enum": ["Bug Risk"]}, "minItems": 1},
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": "^[a-z-]+$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/.]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def test_the_system_is_recognised_by_its_variables() -> None:
    assert ci.detect(GITHUB) == "github"
    assert ci.detect({"GITLAB_CI": "true"}) == "gitlab"
    assert ci.detect({"CI": "true"}) is None


def test_the_job_summary_is_appended_and_stays_below_the_limit(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("what was there\n")
    environment = {**GITHUB, "GITHUB_STEP_SUMMARY": str(summary)}
    ci.publish(run_report([healed_outcome(), unhealed_outcome()]), environment=environment)
    text = summary.read_text()
    assert text.startswith("what was there\n# Self-heal report")
    assert "+    return a + b" in text
    assert "](" not in text  # a link into the run's folder would lead nowhere
    big = [unhealed_outcome(f"{n:04}", message="x" * 1990) for n in range(1, 700)]
    summary.unlink()
    ci.publish(run_report(big), environment=environment)
    assert 500_000 < summary.stat().st_size < 1_048_576
    assert "The rest is in report.md" in summary.read_text()


def test_annotations_point_at_the_line_and_escape_everything_else(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "work/repo", {"calc.py": BEFORE})
    outcomes = [healed_outcome(), unhealed_outcome(words="50% sure:\nno, really", reason="flaky")]
    report = run_report(outcomes, top=str(tree.top), rootdir=str(tree.top))
    lines = ci.workflow_commands(report, {**GITHUB, "GITHUB_WORKSPACE": str(tmp_path / "work")})
    assert lines[0].startswith(
        "::notice file=repo/calc.py,line=2,title=self-heal 0001%3A healed%2C medium confidence::"
    )
    assert lines[1].startswith("::error file=repo/calc.py,line=2,")
    assert "50%25 sure:%0Ano, really" in lines[1]
    assert all("\n" not in line for line in lines)
    assert ci.workflow_commands(report, {}) == []


def test_gitlab_gets_a_code_quality_report_that_is_valid(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE})
    run = tree.record(healed_outcome(), unhealed_outcome())
    report = run_report([healed_outcome(), unhealed_outcome()], directory=str(run.folder), top=str(tree.top))
    ci.publish(report, environment={"GITLAB_CI": "true"})
    issues = json.loads((run.base / "gl-code-quality.json").read_bytes())
    jsonschema.validate(issues, CODE_QUALITY)
    assert [issue["severity"] for issue in issues] == ["minor", "major"]
    assert issues[0]["location"] == {"path": "calc.py", "lines": {"begin": 2}}


CONFTEST = """
import pytest
from record_samples import healed_outcome, run_report, unhealed_outcome
from pytest_selfheal.record import ci

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    outcomes = [healed_outcome().but(patch_file="patches/0001-x.patch"), unhealed_outcome(nodeid="b\\x01<&>")]
    ci.tell(run_report(outcomes, directory="/runs/1"), session.config)
"""


def test_junit_names_the_patch_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text("def test(): assert 0\n")
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=out.xml", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    suite = ET.parse(tmp_path / "out.xml").getroot()[0]
    # What the public schema (Jenkins' junit-10) asks of suites and properties.
    assert {"name", "tests", "failures", "errors"} <= set(suite.attrib)
    assert {child.tag for child in suite} <= {"properties", "testcase", "system-out", "system-err"}
    assert all(each.tag == "property" and set(each.attrib) == {"name", "value"} for each in suite[0])
    # A direct child of the suite, first: where the public schema has it.
    assert suite[0].tag == "properties"
    values = {each.get("name"): each.get("value") for each in suite[0]}
    assert values["selfheal:tests/test_calc.py::test_add"] == "healed, medium confidence: /runs/1/patches/0001-x.patch"
    assert any("not healed (no_candidate)" in str(value) for value in values.values())


def test_a_pull_request_from_a_fork_without_secrets_uses_the_embedded_engine(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"repo": {"full_name": "somebody/fork"}}}}))
    environment = {
        **GITHUB, "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "owner/project"
    }  # fmt: skip
    asked = Settings(selfheal=True, model="some/model", critic="other/model", strategy="model")
    settings, note = ci.without_secrets(asked, environment)
    assert (settings.model, settings.critic, settings.strategy) == ("builtin", None, "auto")
    assert note is not None
    assert "some/model" in note
    for unchanged in (
        {**environment, "SOME_API_KEY": "x"},
        {**environment, "GITHUB_REPOSITORY": "somebody/fork"},
        {**environment, "GITHUB_EVENT_NAME": "push"},
        {},
    ):
        assert ci.without_secrets(asked, unchanged) == (asked, None)
    gitlab = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_MERGE_REQUEST_PROJECT_ID": "2"}
    assert ci.from_fork(gitlab)
    assert not ci.from_fork({**gitlab, "CI_MERGE_REQUEST_PROJECT_ID": "1"})


def test_a_summary_that_cannot_be_written_becomes_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no/such/folder/summary"))

    class Config:
        stash: dict[object, object] = {}  # noqa: RUF012

    report = ci.tell(run_report([healed_outcome()]), Config())
    assert "cannot write" in report.notes[0]
    assert diagnosis("0001").nodeids == report.outcomes[0].diagnosis.nodeids
