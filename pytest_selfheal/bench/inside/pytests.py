"""Work ``pytests``: run pytest files in a fork, then observe a function of the file under repair on given inputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pytest_selfheal.bench.inside.fork import forked, reason_of
from pytest_selfheal.bench.inside.score import _observe


class Count:
    """A pytest plugin that counts outcomes; the exit status alone can be forged by ending the process."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid or "collection")


def work(job: dict[str, Any]) -> dict[str, Any]:
    """``targets``, ``test_timeout`` → ``passed``, ``reason``; ``path``, ``entry_point``, ``inputs`` → ``observed``."""
    secret, targets = job["nonce"], job["targets"]
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:selfheal",
        "-q",
        "--tb=no",
        "-x",
        "-o",
        "addopts=",
        "--rootdir=.",
        *targets,
    ]

    def judge() -> list[Any]:
        import pytest

        sys.path.insert(0, str(Path.cwd()))
        count = Count()
        status = pytest.main(options, plugins=[count])
        right = status == 0 and count.passed > 0 and not count.failed
        return ["passed", secret] if right else ["failed", (count.failed or [f"exit {int(status)}"])[0]]

    verdict, trouble = forked(judge, cpu=job["cpu"], memory_mib=job["memory_mib"])
    passed = verdict == ["passed", secret]
    answer: dict[str, Any] = {"passed": passed, "observed": None}
    answer["reason"] = "" if passed else reason_of(verdict, trouble)
    if passed and job["inputs"]:
        module = Path(job["path"]).read_text(encoding="utf-8")
        answer["observed"], _ = forked(
            lambda: _observe(module, job["entry_point"], job["inputs"]), cpu=job["cpu"], memory_mib=job["memory_mib"]
        )
    return answer
