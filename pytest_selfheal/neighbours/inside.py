"""In a child: watch the calls of changed functions, make others like them, and ask the code before and after the patch.

The code before is swapped into the running functions, in forked processes. Files, network and processes are out of reach
of the calls that were made up; a call that tries has no known answer, nor has one that answers differently each time.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from pytest_selfheal.judge import child
from pytest_selfheal.neighbours.judge import SLOW, UNKNOWN
from pytest_selfheal.neighbours.moved import crossed, moved
from pytest_selfheal.propose.search import fork, inputs, observe
from pytest_selfheal.propose.search.behaviour import answer_of, distinct, shown
from pytest_selfheal.propose.search.fork import Timer, Usage
from pytest_selfheal.propose.search.observe import Call
from pytest_selfheal.propose.search.swap import LiveFunctions, code_key, swap
from pytest_selfheal.testgen.inside.mutants import codes_of
from pytest_selfheal.testgen.inside.purity import Purity

MAX_SEEN = 400
MAX_OBSERVED = 24
MAX_MUTANTS = 80
MAX_CROSSED = 60
MAX_SLOW = 4
CPU_SECONDS = 1.0
"""For one version and all inputs."""
LONGEST = 160
"""Characters of an answer that travel; the rest is told by a digest."""
TELLING = 2
"""Numbers up to here are met too often to be recognised by."""

Key = tuple[str, int]


class Neighbours:
    """``before`` has the text of each changed file before the patch, by path relative to ``top``."""

    def __init__(self, config: pytest.Config, top: str, before: Mapping[str, str]) -> None:
        self.config = config
        self.old: dict[str, dict[str, CodeType]] = {}
        """Code before the patch of the functions that it changes, by real path and qualified name."""
        self.texts: dict[str, str] = {}
        self.edited: set[Key] = set()
        for name, text in before.items():
            path = os.path.realpath(Path(top, name))
            try:
                self.texts[path] = Path(path).read_text("utf-8")
                old, new = codes_of(text, path), codes_of(self.texts[path], path)
            except (OSError, SyntaxError, ValueError):
                continue
            changed = [q for q in old.keys() & new.keys() if code_key(old[q]) != code_key(new[q])]
            self.old[path] = {qualname: old[qualname] for qualname in changed}
            self.edited |= {(path, new[qualname].co_firstlineno) for qualname in changed}
        self.seen: list[Call] = []
        self._is_ours = functools.lru_cache(maxsize=None)(lambda name: os.path.realpath(name) in self.old)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with observe.recording(self._is_ours, self.edited) as calls:
            try:
                return (yield)
            finally:
                self.seen += calls[: max(0, MAX_SEEN - len(self.seen))]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if not self.edited or not self.seen or not hasattr(os, "fork"):
            return
        live = LiveFunctions(self.old)
        functions = live.by_line()
        observed = [call for call in distinct(self.seen) if len(functions.get(call.key, ())) == 1][:MAX_OBSERVED]
        made = [*moved(observed), *crossed(observed, MAX_CROSSED), *inputs.mutants(observed, MAX_MUTANTS)]
        made = distinct([*observed, *made])
        first = {id(call) for call in observed}
        calls = [*observed, *(call for call in made if id(call) not in first)]
        # A forked child must not be able to speak for the judge.
        ask = functools.partial(self._asked, live, functions, calls, (self.config.stash[child.STATE].channel.fd,))
        old, new, again = ask(True), ask(False), ask(False)
        if not old or not new or not again:
            return
        rows = [
            {
                "shown": shown(functions[call.key][0], call)[:LONGEST],
                "function": functions[call.key][0].__qualname__,
                "old": before,
                "new": after if after == repeated else UNKNOWN,
                "observed": i < len(observed),
                "numbers": _numbers(call),
            }
            for i, (call, before, after, repeated) in enumerate(zip(calls, old, new, again, strict=True))
        ]
        child.send(self.config, {"neighbours": rows})

    def _asked(
        self,
        live: LiveFunctions,
        functions: Mapping[Key, list[FunctionType]],
        calls: Sequence[Call],
        close: tuple[int, ...],
        before: bool,
    ) -> list[str] | None:
        """Answers of one version in a process of its own; ``None`` when it has no place in the running program or dies."""

        def ask() -> list[str] | None:
            live.clear_caches()
            for path, codes in self.old.items() if before else ():
                here = live.of(path, self.texts[path])
                if codes and not swap(here, {q: code for q, code in codes.items() if here.get(q)}):
                    return None
            return _answers([functions[call.key][0] for call in calls], calls)

        return fork.call(ask, 5.0 + 20 * CPU_SECONDS, Usage(), close)


def _answers(functions: Sequence[FunctionType], calls: Sequence[Call]) -> list[str]:
    timer, purity = Timer(), Purity()
    answers: list[str] = []
    slow, started = 0, time.process_time()
    for function, call in zip(functions, calls, strict=True):
        if slow >= MAX_SLOW or time.process_time() - started > CPU_SECONDS:
            answers.append(UNKNOWN)
            continue
        with purity.guarded():
            answer = answer_of(timer, function, call)
        slow += answer == SLOW
        answers.append(UNKNOWN if purity.reason else _bounded(answer))
    return answers


def _bounded(answer: str) -> str:
    if len(answer) <= LONGEST:
        return answer
    return f"{answer[:LONGEST]}… {hashlib.sha256(answer.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def _numbers(call: Call) -> dict[str, float]:
    return {
        name: value
        for name, value in call.arguments.items()
        if type(value) in (int, float) and TELLING < abs(value) < 1e15
    }


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    data = child.extra(config).get("neighbours")
    if data is not None:
        config.pluginmanager.register(Neighbours(config, data["top"], data["before"]), "selfheal-neighbours")
