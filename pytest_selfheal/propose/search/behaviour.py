"""What each plausible patch does on inputs that the tests used and on others like them.

Patches that do the same everywhere form a group: any of them will do. Where groups differ, the tests leave the behaviour
open, and an input shows it.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from pytest_selfheal.propose.search import fork, inputs, observe
from pytest_selfheal.propose.search.examples import Example, passes
from pytest_selfheal.propose.search.fork import CpuTimeout, Timer, Usage
from pytest_selfheal.propose.search.harness import Harness
from pytest_selfheal.propose.search.observe import Call
from pytest_selfheal.propose.search.swap import LiveFunctions, swap

MAX_OBSERVED = 60
MAX_MUTANTS = 140
CALL_SECONDS = 0.05
"""CPU seconds that one call may take."""
WAITING = 8.0
"""So many times these in wall seconds, where the failing tests wait for what never comes."""
PRINTED = 500
"""Characters of what a call prints that are compared."""
SHOWN = 60
UNKNOWN = "?"

Swap = tuple[Mapping[str, list[FunctionType]], Mapping[str, CodeType]]


@dataclass
class Behaviour:
    """One version's answers, in the order of the inputs, and how many of the docstring's examples hold."""

    answers: list[str] = field(default_factory=list)
    examples: int = 0


@dataclass
class Comparison:
    """All versions on the same inputs; the first version is the unpatched code."""

    calls: list[str] = field(default_factory=list)
    """The inputs, readable: ``clamp(5, 0, 5)``."""
    observed: int = 0
    """So many inputs at the front were seen in the tests; the others were made from them."""
    versions: list[Behaviour] = field(default_factory=list)


def compare(
    harness: Harness,
    live: LiveFunctions,
    versions: Sequence[Swap],
    files: Callable[[str], bool],
    edited: Iterable[tuple[str, int]],
    examples: Sequence[Example],
    usage: Usage,
    close: tuple[int, ...],
    seconds: float,
) -> Comparison:
    """Run every version (the unpatched code first) on observed and mutated inputs, within about ``seconds`` of CPU.

    ``edited`` names functions by path and first line; their calls are observed as well as those that tests make.
    """
    everything = fork.call(
        lambda: _observe(harness, live, versions, files, tuple(edited), examples, close, seconds),
        5.0 + 20 * seconds + 3 * harness.wall,
        usage,
        close,
    )
    return everything or Comparison()


def _observe(
    harness: Harness,
    live: LiveFunctions,
    versions: Sequence[Swap],
    files: Callable[[str], bool],
    edited: tuple[tuple[str, int], ...],
    examples: Sequence[Example],
    close: tuple[int, ...],
    seconds: float,
) -> Comparison:
    harness.prepare()
    timer = Timer()
    seen: list[Call] = []
    for test in (*harness.failing, *harness.passing):
        with observe.recording(files, edited) as calls:
            try:
                timer.start(test.patience(4, 0.2), test.wall_limit)
                try:
                    test.run()
                finally:
                    timer.stop()
            except BaseException:
                pass
        seen += calls
    functions = live.by_line()
    usable = [call for call in distinct(seen) if len(functions.get(call.key, ())) == 1][:MAX_OBSERVED]
    made = list(inputs.promised(usable, lambda key: functions[key][0].__annotations__))
    made += inputs.beyond(usable)
    made += inputs.mutants(usable, MAX_MUTANTS)
    calls = [*usable, *made]
    found = Comparison([shown(functions[c.key][0], c) for c in calls], len(usable))
    usage, deadline = Usage(), time.process_time()
    wall = WAITING * CALL_SECONDS if any(test.waits for test in harness.failing) else math.inf
    for version in ((({}, {})), *versions):
        if found.versions and usage.seconds + time.process_time() - deadline > seconds:
            break
        answer = functools.partial(_behave, version, functions, calls, examples, wall)
        answered = fork.call(answer, 2.0 + 10 * seconds, usage, close)
        found.versions.append(answered or Behaviour())
    return found


def distinct(calls: Iterable[Call]) -> list[Call]:
    found: dict[str, Call] = {}
    for call in calls:
        try:
            found.setdefault(f"{call.key} {canonical(call.arguments)}", call)
        except Exception:
            continue
    # Entry functions in turn, so that one that is called often does not crowd the others out.
    groups: dict[tuple[str, int], list[Call]] = {}
    for call in found.values():
        groups.setdefault(call.key, []).append(call)
    return [call for row in itertools.zip_longest(*groups.values()) for call in row if call is not None]


def _behave(
    version: Swap,
    functions: Mapping[tuple[str, int], list[FunctionType]],
    calls: Sequence[Call],
    examples: Sequence[Example],
    wall: float,
) -> Behaviour:
    timer = Timer()
    if version[1] and not swap(*version):
        return Behaviour()
    answers: list[str] = []
    late = 0
    for call in calls:
        if late >= 4:
            answers.append(UNKNOWN)
            continue
        answer = answer_of(timer, functions[call.key][0], call, wall)
        late += answer == "too slow"
        answers.append(answer)
    held = 0
    for example in examples:
        try:
            timer.start(4 * CALL_SECONDS, 4 * wall)
            try:
                held += passes(example)
            finally:
                timer.stop()
        except BaseException:
            continue
    return Behaviour(answers, held)


def answer_of(timer: Timer, function: FunctionType, call: Call, wall: float = math.inf) -> str:
    try:
        arguments = copy.deepcopy(call.arguments)
    except Exception:
        return UNKNOWN
    positional: list[Any] = []
    named: dict[str, Any] = {}
    count = function.__code__.co_argcount
    starred = any(name.startswith("*") and not name.startswith("**") for name in call.order)
    for i, name in enumerate(call.order):
        if name.startswith("**"):
            named.update(arguments[name[2:]])
        elif name.startswith("*"):
            positional.extend(arguments[name[1:]])
        elif i < count or (starred and i < count):
            positional.append(arguments[name])
        else:
            named[name] = arguments[name]
    output = io.StringIO()
    try:
        timer.start(CALL_SECONDS, wall)
        try:
            with contextlib.redirect_stdout(output):
                result = function(*positional, **named)
            text = canonical(result)
        finally:
            timer.stop()
    except CpuTimeout:
        return "too slow"
    except BaseException as error:
        return f"raises {type(error).__name__}"
    if printed := output.getvalue():
        # All that many a command does: its answer is None whatever it prints.
        text = f"{text}, prints {printed[:PRINTED]!r}"
    try:
        changed = [canonical(arguments[n.lstrip("*")]) for n in call.order]
        before = [canonical(call.arguments[n.lstrip("*")]) for n in call.order]
    except Exception:
        return text
    return text if changed == before else f"{text}, arguments now {', '.join(changed)}"


def canonical(value: Any, depth: int = 6) -> str:
    """A text that is equal for values that mean the same: floats to nine digits, sets in order, objects by their fields."""
    kind = type(value)
    if kind is float:
        # 2.0 and 2 are the same number.
        return repr(int(value)) if abs(value) < 1e15 and value.is_integer() else f"{value:.9g}"
    if value is None or kind in (int, bool, str, bytes, complex):
        return repr(value)
    if depth <= 0:
        return "…"
    if kind in (list, tuple):
        inner = ", ".join(canonical(v, depth - 1) for v in value[:500])
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind in (set, frozenset):
        return "{" + ", ".join(sorted(canonical(v, depth - 1) for v in value)) + "}"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{canonical(k, depth - 1)}: {canonical(v, depth - 1)}" for k, v in list(value.items())[:500])
            + "}"
        )
    if hasattr(value, "__next__"):
        return f"{kind.__name__} of [" + ", ".join(canonical(v, depth - 1) for v in itertools.islice(value, 50)) + "]"
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and not isinstance(value, type) and not callable(value):
        return f"{kind.__name__}({', '.join(f'{k}={canonical(v, depth - 2)}' for k, v in sorted(fields.items()))})"
    text = repr(value)
    return kind.__name__ if " at 0x" in text else text[:2000]


def shown(function: FunctionType, call: Call) -> str:
    """``clamp(5, 0, 5)``, ``Stack(cap=2, xs=[]).push(1)``."""
    parts = []
    name = function.__name__
    for argument in call.order:
        plain = argument.lstrip("*")
        text = canonical(call.arguments[plain])
        text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        if plain == "self" and name == "__init__":
            name = type(call.arguments[plain]).__name__
        elif plain in ("self", "cls"):
            name = f"{text}.{name}"
        else:
            parts.append(argument[: len(argument) - len(plain)] + text)
    return f"{name}({', '.join(parts)})"
