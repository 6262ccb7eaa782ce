"""Work ``score``: the full tests on the healed module, then what it does on given inputs."""

from __future__ import annotations

import sys
from typing import Any

from pytest_selfheal.bench.inside.calls import observe
from pytest_selfheal.bench.inside.fork import forked, reason_of
from pytest_selfheal.bench.inside.module import load, name_of, run_tests


def work(job: dict[str, Any]) -> dict[str, Any]:
    """``module``, ``setup``, ``tests`` → ``passed`` and ``reason``; ``inputs`` and ``entry_point`` → ``observed``."""
    sys.set_int_max_str_digits(0) if hasattr(sys, "set_int_max_str_digits") else None
    limits = {"cpu": job["cpu"], "memory_mib": job["memory_mib"]}
    secret, inputs, module, entry = job["nonce"], job.pop("inputs"), job["module"], job["entry_point"]
    setup, tests = job.pop("setup"), job.pop("tests")

    def judge() -> list[str]:
        try:
            run_tests(load(module), setup, tests)
        except BaseException as error:
            return ["failed", name_of(error)]
        return ["passed", secret]

    verdict, trouble = forked(judge, **limits)
    passed = verdict == ["passed", secret]
    reason = "" if passed else reason_of(verdict, trouble)
    answer: dict[str, Any] = {"passed": passed, "reason": reason, "observed": None}
    # The tests' setup is needed for the classes that its objects belong to, the tests are not.
    if passed and inputs:
        answer["observed"], _ = forked(lambda: _observe(module, entry, inputs), **limits)
    return answer


def _observe(module: str, entry: str, inputs: list[str]) -> list[Any]:
    function = load(module)[entry]
    return [observe(function, frozen) for frozen in inputs]
