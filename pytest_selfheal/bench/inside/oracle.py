"""Work ``oracle``: the reference's behaviour on inputs mutated from those that the tests use."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from pytest_selfheal.bench.inside.calls import freeze, observe, thaw
from pytest_selfheal.bench.inside.domain import Call, Domain, Mutator
from pytest_selfheal.bench.inside.fork import forked
from pytest_selfheal.bench.inside.module import load, run_tests

MAX_RECORDED = 400
MAX_SECONDS = 5.0
"""CPU seconds for all calls of the reference; some are slow on larger inputs, and fewer comparisons do as well."""
MAX_PICKLE = 20_000
"""Characters of one frozen input; a larger one makes a slow comparison and says no more."""


def work(job: dict[str, Any]) -> dict[str, Any]:
    """``module``, ``entry_point``, ``setup``, ``tests``, ``calls``, ``wanted``, ``seed`` → ``inputs``, ``expected``."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    pairs, trouble = forked(lambda: _observe(job), cpu=job["cpu"], memory_mib=job["memory_mib"])
    pairs = pairs or []
    inputs, expected, shown = ([entry[index] for entry in pairs] for index in range(3))
    return {"inputs": inputs, "expected": expected, "shown": shown, "reason": trouble}


def _observe(job: dict[str, Any]) -> list[tuple[str, list[Any], str]]:
    # One namespace for all: recorded objects belong to its classes.
    namespace = load(job["module"])
    function = namespace[job["entry_point"]]
    recorded = _recorded(job, namespace)
    # An exception that the tests' own inputs provoke is behaviour; any other on a mutated input means: refused.
    known = {said[1] for call in recorded if (said := observe(function, freeze(call)))[0] == "raised"}
    found: dict[str, list[Any]] = {}
    deadline = time.process_time() + min(MAX_SECONDS, 0.5 * job["cpu"])
    for frozen in _inputs(recorded, job["seed"]):
        if len(found) >= job["wanted"] or time.process_time() > deadline:
            break
        if frozen in found:
            continue
        said = observe(function, frozen)
        if said[0] == "value" or (said[0] == "raised" and said[1] in known):
            found[frozen] = said
    return [(frozen, said, _shown(frozen)) for frozen, said in found.items()]


def _shown(frozen: str) -> str:
    positional, named = thaw(frozen)
    try:
        parts = [repr(value) for value in positional] + [f"{name}={value!r}" for name, value in named.items()]
    except Exception:
        return "…"
    text = ", ".join(parts).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= 120 else text[:119] + "…"


def _recorded(job: dict[str, Any], namespace: dict[str, Any]) -> list[Call]:
    """Arguments of the outermost calls that the tests make, as they were before the call."""
    calls: list[Call] = [(tuple(json.loads(text)), {}) for text in job["calls"]]
    if calls:
        return calls[:MAX_RECORDED]
    recorder = _Recorder(namespace[job["entry_point"]])
    namespace[job["entry_point"]] = recorder
    # The tests may need the bare function and fail on a recorder; what was recorded until then still counts.
    with contextlib.suppress(BaseException):
        run_tests(namespace, job["setup"], job["tests"])
    namespace[job["entry_point"]] = recorder.function
    return [call for call in recorder.calls if _can_be_frozen(call)]


def _can_be_frozen(call: Call) -> bool:
    try:
        return len(freeze(call)) <= MAX_PICKLE
    except Exception:
        return False


class _Recorder:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: list[Call] = []
        self.depth = 0

    def __call__(self, *positional: Any, **named: Any) -> Any:
        if self.depth == 0 and len(self.calls) < MAX_RECORDED:
            with contextlib.suppress(Exception):
                self.calls.append(copy.deepcopy((positional, named)))
        self.depth += 1
        try:
            return self.function(*positional, **named)
        finally:
            self.depth -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


def _inputs(recorded: list[Call], seed: int) -> Iterator[str]:
    """Frozen inputs: mutants first to last; never the recorded ones themselves, which the tests judge already."""
    if not recorded:
        return
    original = {freeze(call) for call in recorded}
    mutator = Mutator(Domain(recorded), seed)
    barren = 0
    while barren < 2000:
        try:
            frozen = freeze(mutator.mutant())
        except Exception:
            barren += 1
            continue
        if frozen in original or len(frozen) > MAX_PICKLE:
            barren += 1
            continue
        original.add(frozen)
        barren = 0
        yield frozen
