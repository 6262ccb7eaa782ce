"""What one version of the code makes of inputs: values, exceptions, changed arguments."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

from pytest_selfheal.propose.search.behaviour import canonical
from pytest_selfheal.propose.search.fork import CpuTimeout, Timer
from pytest_selfheal.testgen.inside.purity import Forbidden, Purity
from pytest_selfheal.testgen.inside.subject import Subject
from pytest_selfheal.testgen.inside.watch import Branch, line_tracer
from pytest_selfheal.testgen.job import Input, Name

CALL_SECONDS = 0.1
"""CPU seconds that one call may take."""
QUICK = 0.012
"""CPU seconds that a call of a changed version may take in any case; a hundred times what the code needs otherwise."""
MAX_ITEMS = 60
"""An iterator that yields more is taken for endless."""
FIRST_ITEMS = 5
"""So much of an endless one is looked at."""
MAX_SLOW = 2

Outcome = Literal["value", "raises", "slow", "broken", "impure"]


@dataclass
class Answer:
    """How a call ended."""

    outcome: Outcome
    text: str
    """Equal for answers that mean the same."""
    value: Any = None
    error: BaseException | None = None
    iterated: bool = False
    """The value lists what the call yielded."""
    endless: bool = False
    """It goes on: the value lists the first :data:`FIRST_ITEMS` only."""
    after: tuple[Any, ...] = ()
    """The arguments after the call."""
    changed: tuple[bool, ...] = ()
    lines: frozenset[int] = frozenset()
    branches: frozenset[Branch] = frozenset()
    reason: str = ""
    seconds: float = 0.0
    """CPU time, that of tracing included."""


@dataclass(frozen=True)
class Prepared:
    """An input, compiled."""

    input: Input
    setup: CodeType | None
    arguments: tuple[CodeType, ...]
    call: CodeType


class Evaluator:
    """Runs inputs on the code as it is in this process."""

    def __init__(self, subject: Subject, purity: Purity) -> None:
        self.subject = subject
        self._purity = purity
        self._timer = Timer()
        self._names: dict[Name, Any] = {}
        self._limit = CALL_SECONDS
        self.codes = _all_codes(subject.function.__code__)

    def prepare(self, given: Input) -> Prepared:
        """Raises :class:`SyntaxError` and its like for source that is none."""
        for name in given.imports:
            self._import(name)
        call = self.subject.template(given).format(*(f"__{i}" for i in range(len(given.arguments))))
        return Prepared(
            given,
            compile("\n".join(given.setup), "<setup>", "exec") if given.setup else None,
            tuple(compile(a.source, "<argument>", "eval") for a in given.arguments),
            compile(call, "<call>", "eval"),
        )

    def _import(self, name: Name) -> Any:
        if name not in self._names:
            module = importlib.import_module(name[0])
            self._names[name] = getattr(module, name[1]) if name[1] else sys.modules[name[0].partition(".")[0]]
        return self._names[name]

    def _namespace(self, given: Input) -> dict[str, Any]:
        space = {(name[1] or name[0].partition(".")[0]): self._import(name) for name in given.imports}
        own = self.subject.import_name
        space[own[1]] = self._import(own)
        return space

    def answer(self, prepared: Prepared, trace: bool = False) -> Answer:
        """Run one input. ``trace``: with lines and branches, and noticing clock and chance."""
        space = self._namespace(prepared.input)
        lines: set[int] = set()
        branches: set[Branch] = set()
        values: list[Any] = []
        try:
            with self._purity.guarded(trace):
                self._timer.start(self._limit)
                try:
                    if prepared.setup is not None:
                        exec(prepared.setup, space)
                    values = [eval(code, space) for code in prepared.arguments]
                finally:
                    self._timer.stop()
        except BaseException as error:
            return Answer("broken", f"setup raises {type(error).__name__}", error=error)
        before = [_text(v) for v in values]
        space.update({f"__{i}": v for i, v in enumerate(values)})
        started = time.process_time()
        answer = self._run(prepared, space, lines if trace else None, branches)
        answer.seconds = time.process_time() - started
        if self._purity.reason and answer.outcome != "slow":
            return Answer("impure", f"impure: {self._purity.reason}", reason=f"it {self._purity.reason}")
        answer.after = tuple(values)
        after = [_text(v) for v in values]
        answer.changed = tuple(a != b for a, b in zip(before, after, strict=True))
        if any(answer.changed):
            answer.text += f", then {after}"
        answer.lines, answer.branches = frozenset(lines), frozenset(branches)
        return answer

    def _run(self, prepared: Prepared, space: dict[str, Any], lines: set[int] | None, branches: set[Branch]) -> Answer:
        iterated = False
        before = sys.gettrace()
        try:
            with self._purity.guarded(moments=lines is not None):
                self._timer.start(self._limit)
                try:
                    if lines is not None:
                        sys.settrace(self._tracer(lines, branches))
                    value = eval(prepared.call, space)
                    if inspect.iscoroutine(value):
                        value = asyncio.run(value)
                    if hasattr(value, "__next__"):
                        iterated = True  # also where going through it raises
                        value = list(itertools.islice(value, MAX_ITEMS + 1))
                finally:
                    sys.settrace(before)
                    self._timer.stop()
        except CpuTimeout:
            return Answer("slow", "too slow")
        except Forbidden as error:
            return Answer("impure", f"impure: {error}", reason=f"it {error}")
        except BaseException as error:
            return Answer("raises", f"raises {type(error).__name__}", error=error, iterated=iterated)
        endless = iterated and len(value) > MAX_ITEMS
        if endless:
            value = value[:FIRST_ITEMS]
        try:
            text = canonical(value)
        except BaseException as error:
            return Answer("broken", f"no text: {type(error).__name__}", error=error)
        how = "yields on and on " if endless else "yields " if iterated else ""
        return Answer("value", how + text, value, iterated=iterated, endless=endless)

    def says(self, source: str, imports: Iterable[Name], value: Any) -> bool:
        """Whether ``source`` evaluates to something equal to ``value``, of its type."""
        try:
            again = eval(source, {(name[1] or name[0]): self._import(name) for name in imports})
            return bool(again == value) and type(again) is type(value)
        except Exception:
            return False

    def _tracer(self, lines: set[int], branches: set[Branch]) -> Any:
        codes = self.codes

        def on_call(frame: Any, event: str, arg: Any) -> Any:
            return line_tracer(lines, branches) if frame.f_code in codes else None

        return on_call

    def texts(self, prepared: Iterable[Prepared], limit: float = CALL_SECONDS) -> list[str]:
        """The answers as text; ``?`` after too many that took more than ``limit`` CPU seconds."""
        found: list[str] = []
        self._limit = limit
        slow = 0
        for one in prepared:
            if slow >= MAX_SLOW:
                found.append("?")
                continue
            answer = self.answer(one)
            slow += answer.outcome == "slow"
            found.append(answer.text)
        return found


def _all_codes(code: CodeType) -> frozenset[CodeType]:
    found = {code}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _all_codes(constant)
    return frozenset(found)


def _text(value: Any) -> str:
    """An argument before or after a call. Iterators are left alone: looking into one would use it up."""
    if hasattr(value, "__next__"):
        return type(value).__name__
    try:
        return canonical(value)
    except BaseException:
        return "?"


def raised_on_purpose(answer: Answer, raises: dict[str, set[int]], documented: str, observed: bool) -> bool:
    """Whether an exception is part of the contract: a ``raise`` of the project, documented, or wanted by a test."""
    error = answer.error
    if not isinstance(error, Exception) or type(error).__name__ == "RecursionError":
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return False
    by_statement = place.tb_lineno in raises.get(os.path.realpath(place.tb_frame.f_code.co_filename), ())
    return by_statement or observed or type(error).__name__ in documented


def agree(first: Sequence[str], second: Sequence[str]) -> list[bool]:
    """Which answers are the same in both; an unknown one agrees with nothing."""
    return [a == b and "?" not in (a, b) for a, b in zip(first, second, strict=True)]
