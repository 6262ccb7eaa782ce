"""Score healed files with the full tests and against the reference, in processes apart from the healer."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_selfheal.bench import isolate
from pytest_selfheal.bench.task import Answer, Task
from pytest_selfheal.settings import Settings

WANTED = 240
"""Inputs to compare on; the interface promises at least 200 where the domain holds as many."""
ENOUGH = 20
"""With fewer comparisons nothing is said."""
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Score:
    """What the scorer says of one version of a task's files."""

    passed: bool
    """The full tests pass (for a script: right output and status 0)."""
    reason: str = ""
    """Why not, in a few words."""
    equivalent: bool | None = None
    compared: int = 0
    """Inputs on which both gave an answer."""
    difference: str = ""
    """The first input on which they differ, described."""


@dataclass(frozen=True)
class Oracle:
    """The reference's behaviour on mutated inputs."""

    inputs: tuple[str, ...] = ()
    expected: tuple[Any, ...] = ()
    shown: tuple[str, ...] = ()
    """The inputs as people read them."""
    reason: str = ""


def score(
    task: Task, answer: Answer, files: Mapping[str, bytes], settings: Settings, oracle: Oracle | None = None
) -> Score:
    """Score ``files`` (the project's, as healed) with the full tests, and on the oracle's inputs when these pass."""
    step, support = _judging(task, answer, files, list(oracle.inputs) if oracle is not None else [])
    if step is None:
        return Score(False, "the healed file is missing or not UTF-8")
    (said,) = isolate.run([step], settings, support)
    return _score(answer, said, oracle)


def score_beside_reference(
    task: Task, answer: Answer, files: Mapping[str, bytes], settings: Settings, seed: int = 0
) -> tuple[Score, Oracle]:
    """As :func:`score`, with the reference asked first, in the same interpreter start; the oracle is for later scores."""
    question, reason = _question(task, answer, seed)
    step, support = _judging(task, answer, files, None)
    if question is None or step is None:
        return score(task, answer, files, settings), Oracle(reason=reason)
    asked, said = isolate.run([question, step], settings, support)
    inputs, expected, shown = (tuple(asked.get(name, ())) for name in ("inputs", "expected", "shown"))
    oracle = Oracle(reason=str(asked.get("reason", "")))
    if len(inputs) == len(expected) == len(shown):
        oracle = replace(oracle, inputs=inputs, expected=expected, shown=shown)
    return _score(answer, said, oracle), oracle


def _question(task: Task, answer: Answer, seed: int) -> tuple[isolate.Step | None, str]:
    """The step that asks the reference, or why there is none."""
    if answer.reference is None or answer.kind == "script":
        return None, "no reference"
    if answer.kind == "pytest" and not answer.calls:
        return None, "the tests' inputs are not known apart from the tests"
    return {
        "work": "oracle",
        "module": answer.reference,
        "entry_point": task.entry_point,
        "setup": answer.setup,
        "tests": answer.tests,
        "calls": list(answer.calls),
        "wanted": WANTED,
        "seed": seed,
    }, ""


def _judging(
    task: Task, answer: Answer, files: Mapping[str, bytes], inputs: list[str] | None
) -> tuple[isolate.Step | None, dict[str, bytes]]:
    """The step that runs the full tests, and the files it needs. ``inputs`` ``None``: those that the question leaves."""
    own = {path: content for path, content in files.items() if path in task.files}
    # The suite's own tests and support win over whatever the healed project holds there.
    support = {**own, **answer.files}
    if answer.kind == "script":
        return {"work": "script", "script": task.path}, support
    common = {"entry_point": task.entry_point, "inputs": inputs}
    if answer.kind == "pytest":
        return {"work": "pytests", "targets": list(answer.targets), "path": task.path, **common}, support
    try:
        module = files[task.path].decode("utf-8")
    except (UnicodeDecodeError, KeyError):
        return None, {}
    return {"work": "score", "module": module, "setup": answer.setup, "tests": answer.tests, **common}, {}


def _score(answer: Answer, said: dict[str, Any], oracle: Oracle | None) -> Score:
    if answer.kind == "script":
        return _score_of_script(answer, said)
    result = Score(said.get("passed") is True, str(said.get("reason", "")))
    if result.passed and oracle is not None:
        return _compare(result, oracle, said.get("observed"))
    return result


def _score_of_script(answer: Answer, said: dict[str, Any]) -> Score:
    if said.get("status") != 0:
        return Score(False, str(said.get("errors") or said.get("reason") or f"exit status {said.get('status')}"))
    if answer.expected is None:
        return Score(True)
    output = base64.b64decode(said["output"]).replace(b"\r\n", b"\n")
    return Score(True) if output == answer.expected.replace(b"\r\n", b"\n") else Score(False, "wrong output")


def _compare(result: Score, oracle: Oracle, observed: Any) -> Score:
    if not isinstance(observed, list) or len(observed) != len(oracle.inputs):
        # The tests pass, yet the module does not get through the inputs: it differs, unless there was nothing to ask.
        if len(oracle.inputs) >= ENOUGH:
            return replace(result, equivalent=False, difference="ended while the inputs were compared")
        return result
    compared, difference = 0, ""
    for shown, expected, said in zip(oracle.shown, oracle.expected, observed, strict=True):
        if said == ["unclear"]:
            continue
        compared += 1
        if not same(expected, said) and not difference:
            difference = f"({shown}) → {_words(said)}, the reference: {_words(expected)}"
    if compared < ENOUGH:
        return replace(result, compared=compared)
    return replace(result, compared=compared, equivalent=not difference, difference=difference)


def same(first: Any, second: Any) -> bool:
    """Whether two canonical values mean the same: numbers by value (floats to 1e-9), all else by type and content."""
    if isinstance(first, list) and isinstance(second, list):
        one, two = _number(first), _number(second)
        if one is not None and two is not None:
            return _close(one, two)
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, bool) or isinstance(second, bool):
        one, two = _number(first), _number(second)
        return one is not None and two is not None and one == two
    return bool(first == second)


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], str):
        if value[0] == "int":
            return int(value[1], 16)
        if value[0] == "float":
            return float.fromhex(value[1])
    return None


def _close(one: float | int, two: float | int) -> bool:
    if isinstance(one, int) and isinstance(two, int):
        return one == two
    try:
        if math.isnan(one) or math.isnan(two):
            return math.isnan(one) and math.isnan(two)
        return math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:
        return one == two


def _words(said: Any) -> str:
    """What a call did, for people."""
    if not isinstance(said, list) or len(said) < 2:
        return said[0] if isinstance(said, list) and said else "?"
    text = f"raises {said[1]}" if said[0] == "raised" else _plain(said[1])
    return text if len(text) <= 80 else text[:79] + "…"


def _plain(value: Any) -> str:
    """A canonical value much as Python writes it."""
    if not isinstance(value, list) or len(value) < 2:
        return repr(value)
    kind, content = value[0], value[1]
    if kind in ("int", "float"):
        number = _number(value)
        return str(number) if number is not None else "?"
    if kind in ("list", "tuple", "set", "iterator") and isinstance(content, list):
        opening, closing = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}"), "iterator": ("<", ">")}[kind]
        return opening + ", ".join(_plain(item) for item in content[:20]) + closing
    if kind == "dict" and isinstance(content, list):
        return "{" + ", ".join(f"{_plain(key)}: {_plain(item)}" for key, item in content[:20]) + "}"
    return repr(content)
