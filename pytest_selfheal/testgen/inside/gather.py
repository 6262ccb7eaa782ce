"""From what is known of a function to candidates: inputs that are tried, varied, and kept when a test could assert the answer."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_selfheal.testgen.inside import asserted, lines, results
from pytest_selfheal.testgen.inside.candidate import Candidate, Surroundings
from pytest_selfheal.testgen.inside.evaluate import Answer, Evaluator, Prepared, raised_on_purpose
from pytest_selfheal.testgen.inside.render import Unrenderable
from pytest_selfheal.testgen.inside.seeds import Seeds
from pytest_selfheal.testgen.inside.subject import Subject, without_defaults
from pytest_selfheal.testgen.inside.vary import Variation
from pytest_selfheal.testgen.inside.watch import Branch, Seen
from pytest_selfheal.testgen.job import Argument, Input, Name

MAX_TRIED = 1000
MAX_MISSES = 150
"""So many variations in a row that lead to no new input, and there are none left."""
FEW = 3
"""With fewer inputs seen, type hints and the like have to help."""
Wanted = frozenset[tuple[int, int]]
"""Lines ``(0, line)`` and branching lines ``(line, 0)`` that changed and that no test executes (wholly)."""
SHARE = 0.5
"""Of the CPU seconds, for trying inputs."""


class Gatherer:
    """Tries inputs on the code as it is in this process."""

    def __init__(self, around: Surroundings, subject: Subject, seen: Seen, evaluator: Evaluator) -> None:
        self._around = around
        self._subject = subject
        self._seen = seen
        self._evaluator = evaluator
        top = around.job.top
        self._raises = {str(Path(top, p).resolve()): lines.raises(t) for p, t in around.texts.items()}
        self._keys: set[Any] = set()
        self._lines: set[int] = set(seen.lines)
        self._branches: set[Branch] = set(seen.branches)
        self.promised: dict[Any, tuple[str, Any]] = {}
        """What docstring and tests say: input → who says so, and the value."""
        self.reasons: dict[str, int] = {}
        """Why inputs did not become candidates."""
        self._outside = ""
        """What of the world outside it depends on."""
        self.tried = 0
        self._called_next: list[Input] = []
        """Calls of results that are functions."""
        self.candidates: list[Candidate] = []
        self.variation = Variation((), random.Random(0))
        text = around.texts[subject.target.path]
        self._seeds = Seeds(subject, text, around.renderer())

    # ------------------------------------------------------------------ inputs

    def known(self) -> list[Input]:
        """Inputs to begin with: seen in tests, in the docstring, else made from hints, defaults and the body."""
        known = [without_defaults(self._subject, given) for given in self._seen.inputs.values()]
        for given, value in asserted.by_tests(self._subject, self._around.test_texts.values()):
            self.promised[without_defaults(self._subject, given).key] = ("tests", value)
        for given, value in asserted.by_docstring(self._subject):
            shown = without_defaults(self._subject, given)
            self.promised[shown.key] = ("docstring", value)
            known.append(shown)
        if len(known) < FEW:
            known += self._seeds.inputs()
        return known

    def gather(self, known: Sequence[Input], wanted: Wanted, cpu_seconds: float) -> None:
        """Try ``known`` inputs and variations of them; :attr:`candidates` has what came of it.

        Where these leave some of what is ``wanted`` of changed code unreached, inputs that nobody wrote down help out.
        """
        for given in known:
            self._try(given)
        self._call_results(time.process_time() + SHARE * cpu_seconds)
        pool = [c.input for c in self.candidates] or list(known)
        spares: list[tuple[Argument, frozenset[Name]]] = []
        if self._around.job.use == "changed" and self._is_open(wanted):
            spares = self._seeds.spares()
            pool += [given for given in self._seeds.inputs() if self._try(given)]
        self._vary(pool, spares, time.process_time() + SHARE * cpu_seconds)
        # Small inputs say the same with fewer words; one step each, before anything is compared.
        for candidate in sorted(self.candidates, key=lambda c: -c.cost)[:20]:
            for less in self.variation.smaller(candidate.input)[:6]:
                self._try(less)

    def _call_results(self, deadline: float) -> None:
        """What comes back as a function is called in turn: what it does is what the target is for."""
        while self._called_next and self.tried < MAX_TRIED and time.process_time() < deadline:
            self._try(self._called_next.pop(0))

    def _is_open(self, wanted: Wanted) -> bool:
        """Whether a wanted line was not reached yet, or left in one way only."""
        ways = [line for line, _ in self._branches]
        return any(ways.count(first) < 2 if first else line not in self._lines for first, line in wanted)

    def _vary(self, pool: list[Input], spares: Sequence[tuple[Argument, frozenset[Name]]], deadline: float) -> None:
        """Try variations of ``pool`` until this time of the process's CPU clock, or until there are no new ones."""
        rng = random.Random(0)
        self.variation = Variation(pool, rng, self._landmarks(), spares)
        fresh = list(pool)  # inputs that led to something new, more often varied
        misses = 0
        while pool and self.tried < MAX_TRIED and time.process_time() < deadline and misses < MAX_MISSES:
            made = self.variation.mutated(rng.choice(fresh if fresh and rng.random() < 0.5 else pool))
            if made is None or made.key in self._keys:
                misses += 1
                continue
            misses = 0
            if self._try(made):
                pool.append(made)
                fresh = [*fresh[-7:], made]

    def _landmarks(self) -> list[Any] | None:
        """Constants of the function: at these, its behaviour changes. ``None`` where tests show what its inputs look like."""
        if self._around.job.use == "regression" and len(self._seen.inputs) >= FEW:
            return None
        return self._seeds.clues.landmarks(self._evaluator.codes, self._subject.function.__doc__)

    def smaller(self, candidate: Candidate) -> list[Candidate]:
        """Candidates one step smaller that were not tried yet."""
        fresh = [given for given in self.variation.smaller(candidate.input) if given.key not in self._keys]
        self._keys |= {given.key for given in fresh}
        return [made for given in fresh if (made := self._candidate(given)) is not None]

    def _try(self, given: Input) -> bool:
        """Whether the input led to lines or branches that none before did."""
        if given.key in self._keys:
            return False
        self._keys.add(given.key)
        candidate = self._candidate(given)
        if candidate is None:
            return False
        answer = candidate.answer
        new = not (answer.lines <= self._lines and answer.branches <= self._branches)
        self._lines |= answer.lines
        self._branches |= answer.branches
        self.candidates.append(candidate)
        return new

    # ------------------------------------------------------------------ candidates

    def drop(self, reason: str) -> Candidate | None:
        """No candidate, and why."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        return None

    def why_nothing(self) -> str:
        """Why inputs came to nothing: the world outside, else the commonest reason."""
        if self._outside:
            return self._outside
        if not self.reasons:
            return "no call of it gives an answer that a test could assert"
        return max(self.reasons, key=lambda reason: self.reasons[reason])

    def _candidate(self, given: Input) -> Candidate | None:
        self.tried += 1
        try:
            prepared = self._evaluator.prepare(given)
        except Exception:
            return self.drop("source that cannot be compiled")
        answer = self._evaluator.answer(prepared, trace=True)
        if answer.outcome == "raises":
            return self._raising(prepared, answer)
        if answer.outcome != "value":
            self._outside = self._outside or answer.reason
            return self.drop(answer.reason or answer.text)
        renderer = self._around.renderer()
        try:
            expected = renderer.render(answer.value)
        except Unrenderable as reason:
            if results.is_function(answer.value) and len(self._called_next) < MAX_TRIED:
                self._called_next += self._seeds.calls_of(given, answer.value)
            return self.drop(f"its result is {reason}")
        approximate = _inexact(answer.value)
        if not approximate and not self._evaluator.says(expected, renderer.imports, answer.value):
            return self.drop("its result cannot be compared with ==")
        who, value = self.promised.get(given.key, ("", None))
        if who == "docstring" and not _close(value, answer.value):
            return self.drop("the docstring says something else")
        return Candidate(prepared, answer, expected, approximate, frozenset(renderer.imports), who == "tests")

    def _raising(self, prepared: Prepared, answer: Answer) -> Candidate | None:
        documented = self._subject.function.__doc__ or ""
        if not raised_on_purpose(answer, self._raises, documented, prepared.input.observed):
            return self.drop("it raises an exception that nobody promises")
        renderer = self._around.renderer()
        try:
            name = renderer.name_of(type(answer.error))
        except Unrenderable as reason:
            return self.drop(f"it raises {reason}")
        return Candidate(prepared, answer, name, False, frozenset(renderer.imports))


def _inexact(value: Any) -> bool:
    """Whether a number (or a flat list of numbers) has more digits than people write: it is compared approximately."""
    if isinstance(value, float):
        return math.isnan(value) or len(repr(value)) > 8
    if isinstance(value, (list, tuple)) and value and all(type(v) in (int, float) for v in value):
        return any(_inexact(v) for v in value if isinstance(v, float))
    return False


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        try:
            return bool(abs(a - b) <= 1e-6 * max(1.0, abs(a)))
        except TypeError:
            return False
    return bool(a == b)
