"""Outcomes and reports for the tests of the record, as the loop would make them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_selfheal.record.find import find_run
from pytest_selfheal.record.patch import make_diff
from pytest_selfheal.record.report import finish, write_outcome
from pytest_selfheal.record.run_dir import open_run
from pytest_selfheal.record.stored import StoredRun, load_run
from pytest_selfheal.types import (
    Alternative,
    Attempt,
    Diagnosis,
    Failure,
    FileChange,
    Frame,
    Outcome,
    Patch,
    Raised,
    RunReport,
    StopReason,
    Suspect,
    Usage,
    Verdict,
)

BEFORE = b"def add(a, b):\n    return a - b\n"
AFTER = b"def add(a, b):\n    return a + b\n"
CHANGE = FileChange("calc.py", BEFORE, AFTER)


def diagnosis(
    id: str,
    nodeid: str = "tests/test_calc.py::test_add",
    message: str = "assert 1 == 3",
    text: str = "E  assert 1 == 3",
) -> Diagnosis:
    frame = Frame("calc.py", 2, "add", "return a - b")
    failure = Failure(
        nodeid, "call", (Raised("AssertionError", message, (frame,)),), text=text, path="tests/test_calc.py"
    )
    return Diagnosis(
        id, (failure,), "logic", (Suspect("calc.py", 2, "add", 0.9, "raised there"),), "add() gives 1, not 3"
    )


def healed_outcome(
    id: str = "0001",
    *,
    changes: tuple[FileChange, ...] = (CHANGE,),
    note: str = "",
    includes: tuple[str, ...] = (),
    description: str = "replace - with + in add()",
    **failure: str,
) -> Outcome:
    found = diagnosis(id, **failure)
    patch = Patch(
        changes,
        "search",
        description,
        note=note,
        alternatives=(Alternative((), "replace - with |", "add(1, 1) → 1 here, 2 there"),),
    )
    verdict = Verdict("healed", "", found.nodeids, affected_pass=4, repeats=3, guards=("paths",), scope="all tests")
    diff = make_diff(changes).decode("utf-8", "replace")
    attempt = Attempt(1, "search", None, "", diff, "healed", "", description, usage=Usage(10, 5, 0.001), seconds=1.0)
    return Outcome(
        found,
        "healed",
        "healed",
        description,
        attempts=(attempt,),
        patch=patch,
        verdict=verdict,
        confidence="medium",
        diff=diff,
        candidates_tried=12,
        usage=attempt.usage,
        seconds=1.5,
        includes=includes,
    )


def unhealed_outcome(
    id: str = "0002",
    *,
    reason: StopReason = "no_candidate",
    words: str = "Nothing helped.",
    evidence: tuple[str, ...] = (),
    **failure: str,
) -> Outcome:
    diff = make_diff([FileChange("calc.py", BEFORE, b"def add(a, b):\n    return 3\n")]).decode()
    attempt = Attempt(
        1, "model", "some/model", "a guess", diff, "guarded", "special-casing", usage=Usage(100, 20, None)
    )
    return Outcome(
        diagnosis(id, **failure),
        "skipped" if reason == "flaky" else "unhealed",
        reason,
        words,
        attempts=(attempt,),
        usage=attempt.usage,
        seconds=0.5,
        evidence=evidence,
    )


def run_report(outcomes: Iterable[Outcome], **more: Any) -> RunReport:
    data: dict[str, Any] = {
        "started": "2026-01-02T03:04:05Z",
        "seconds": 3.0,
        "exit_status": 1,
        "model": "builtin",
        "critic": None,
        "strategy": "auto",
        "sandbox": "bwrap",
        "stop": "finished",
        "outcomes": tuple(outcomes),
    }
    return RunReport(**{**data, **more})


class Tree:
    """A real git repository that stands for the user's, far from the machine's configuration."""

    def __init__(self, top: Path, files: dict[str, bytes] | None = None) -> None:
        self.top = self.rootdir = top
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        for name, content in (files or {}).items():
            self.write(name, content)
        if files:
            self.commit()

    def git(self, *arguments: str, check: bool = True) -> str:
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "protocol.file.allow=always"]
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.top, capture_output=True, text=True, env=environment, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name: str) -> bytes:
        return (self.top / name).read_bytes()

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD").strip()

    def bytes(self) -> dict[str, bytes]:
        """Every file of the tree but git's and ours."""
        return {
            path.relative_to(self.top).as_posix(): path.read_bytes()
            for path in sorted(self.top.rglob("*"))
            if path.is_file() and not {".git", ".selfheal"} & set(path.relative_to(self.top).parts)
        }

    def record(self, *outcomes: Outcome, **report: Any) -> StoredRun:
        """A finished run with these outcomes, as ``pytest --selfheal`` leaves it behind."""
        run = open_run(self.top / ".selfheal", top=self.top, rootdir=self.rootdir)
        written = [write_outcome(run, outcome, self) for outcome in outcomes]
        finish(run, run_report(written, top=str(self.top), rootdir=str(self.rootdir), **report))
        run.close()
        return load_run(find_run(self.top))
