"""Explore one function in a forked process: find inputs, see what the code makes of them, keep those that prove something."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from pytest_selfheal.propose.search import fork, items
from pytest_selfheal.propose.search.fork import CpuTimeout, Timer, Usage
from pytest_selfheal.propose.search.swap import LiveFunctions, swap
from pytest_selfheal.testgen.inside import asserted, lines, select
from pytest_selfheal.testgen.inside.evaluate import Answer, Evaluator, Prepared, agree, raised_on_purpose
from pytest_selfheal.testgen.inside.mutants import Mutant, codes_of, mutants
from pytest_selfheal.testgen.inside.purity import Purity
from pytest_selfheal.testgen.inside.render import Renderer, Unrenderable
from pytest_selfheal.testgen.inside.seeds import Seeds
from pytest_selfheal.testgen.inside.subject import Subject, without_defaults
from pytest_selfheal.testgen.inside.vary import Variation
from pytest_selfheal.testgen.inside.watch import Branch, Seen
from pytest_selfheal.testgen.job import Case, Found, Input, Job

MAX_TRIED = 600
MAX_CANDIDATES = 90
MUTANTS_PER_FORK = 12
SHRINK_ROUNDS = 8
MADE_UP = 8
"""What an input costs that no test used: inputs of people say more to people."""
SAID_ALREADY = 200
"""What a case costs that an existing test asserts word for word."""
MAX_PINS = 6


@dataclass
class _Candidate:
    """An input with an answer that a test could assert."""

    prepared: Prepared
    answer: Answer
    expected: str = ""
    approximate: bool = False
    imports: frozenset[tuple[str, str]] = frozenset()
    asserted: bool = False
    """An existing test says the very same."""
    differs: bool = False
    before: str = ""
    """The old code's answer."""

    @property
    def input(self) -> Input:
        return self.prepared.input

    @property
    def cost(self) -> int:
        extra = SAID_ALREADY if self.asserted else 0 if self.input.observed else MADE_UP
        return self.input.cost + len(self.expected) + extra


@dataclass
class Surroundings:
    """What exploring needs of the process it happens in."""

    job: Job
    live: LiveFunctions
    texts: Mapping[str, str]
    """The code's source by path relative to top."""
    tests: Mapping[str, pytest.Item]
    test_texts: Mapping[str, str]
    """Sources of the test files."""
    renderer: Callable[[], Renderer]
    close: tuple[int, ...] = ()
    """File descriptors that forked children must not have."""
    usage: Usage = field(default_factory=Usage)


class Explorer:
    """Works in a forked child; everything it finds is in the :class:`Found` that :meth:`explore` returns."""

    def __init__(self, around: Surroundings, subject: Subject, seen: Seen) -> None:
        self.around = around
        self.job = around.job
        self.subject = subject
        self.seen = seen
        self.target = subject.target
        self.found = Found(self.target)
        self.purity = Purity()
        self.evaluator = Evaluator(subject, self.purity)
        self.text = around.texts[self.target.path]
        self.path = str(Path(self.job.top) / self.target.path)
        self.named = around.live.of(self.path, self.text)
        self.raises = {str(Path(self.job.top, p).resolve()): lines.raises(t) for p, t in around.texts.items()}
        self.promised: dict[Any, tuple[str, Any]] = {}
        self.keys: set[Any] = set()
        self.candidates: list[_Candidate] = []
        self.reasons: dict[str, int] = {}
        self.branching = lines.branching(self.text, self.target.qualname)
        self.all_lines = lines.executable(self.evaluator._codes)
        self.covered_lines: set[int] = set(seen.lines)
        self.covered_branches: set[Branch] = set(seen.branches)

    def explore(self) -> Found:
        """All of it, within the job's CPU seconds (roughly)."""
        self._figures_before()
        wanted = self._wanted()
        if self.job.use == "changed" and not wanted:
            self.found.reason = "its changed lines and branches are covered by the existing tests"
            return self.found
        known = self._first_inputs()
        if not known:
            self.found.reason = self._why_no_inputs()
            return self.found
        self._try_inputs(known)
        self._drop_undecided()
        if not self.candidates:
            self.found.reason = self._most_common("no call of it gives an answer that a test could assert")
            return self.found
        if self.job.use == "regression":
            self._compare_with_before()
        self._judge(wanted)
        return self.found

    # ------------------------------------------------------------------ coverage

    def _figures_before(self) -> None:
        found, all_lines = self.found, self.all_lines
        found.lines, found.branches = len(all_lines), 2 * len(self.branching)
        found.lines_before = len(all_lines & self.seen.lines)
        found.branches_before = len(lines.taken(self.seen.branches, self.branching))

    def _wanted(self) -> frozenset[tuple[int, int]]:
        """Lines ``(0, line)`` and branching lines ``(line, 0)`` that changed and that no test executes (wholly)."""
        changed = self.target.changed or self.all_lines
        open_lines = {(0, line) for line in (self.all_lines & changed) - self.seen.lines}
        taken = lines.taken(self.seen.branches, self.branching)
        half = {line for line in self.branching & changed if sum(b[0] == line for b in taken) < 2}
        return frozenset(open_lines | {(line, 0) for line in half})

    def _new_cover(self, answer: Answer, wanted: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        covered = {(0, line) for line in answer.lines if (0, line) in wanted}
        covered |= {b for b in answer.branches if (b[0], 0) in wanted and b not in self.seen.branches}
        return frozenset(covered)

    # ------------------------------------------------------------------ inputs

    def _first_inputs(self) -> list[Input]:
        known = [without_defaults(self.subject, given) for given in self.seen.inputs.values()]
        for given, value in asserted.by_tests(self.subject, self.around.test_texts.values()):
            self.promised[given.key] = ("tests", value)
        for given, value in asserted.by_docstring(self.subject):
            given = without_defaults(self.subject, given)
            self.promised[given.key] = ("docstring", value)
            known.append(given)
        if len(known) < 3:
            known += Seeds(self.subject, self.text, self.around.renderer()).inputs()
        return known

    def _why_no_inputs(self) -> str:
        if self.seen.unrenderable:
            what = max(self.seen.unrenderable, key=lambda k: self.seen.unrenderable[k])
            return f"it is called with {what}"
        return "no test calls it, and its parameters do not say what it can be called with"

    def _try_inputs(self, known: Sequence[Input]) -> None:
        for given in known:
            self._try(given, first=True)
        rng = random.Random(0)
        pool = [c.input for c in self.candidates] or list(known)
        variation = Variation(pool, rng)
        deadline = time.process_time() + 0.35 * self.job.cpu_seconds
        fresh = [c.input for c in self.candidates]  # inputs that led to something new, more often varied
        misses = 0
        while pool and self.found.tried < MAX_TRIED and time.process_time() < deadline and misses < 400:
            base = rng.choice(fresh if fresh and rng.random() < 0.5 else pool)
            made = variation.mutated(base)
            if made is None or made.key in self.keys:
                misses += 1
                continue
            if self._try(made):
                pool.append(made)
                fresh = [*fresh[-7:], made]
        # Small inputs say the same with fewer words; one step each, before anything is compared.
        for candidate in sorted(self.candidates, key=lambda c: -c.cost)[:20]:
            for less in variation.smaller(candidate.input)[:6]:
                self._try(less)
        self.variation = variation

    def _try(self, given: Input, first: bool = False) -> bool:
        """Whether the input led to lines or branches that none before did."""
        if given.key in self.keys:
            return False
        self.keys.add(given.key)
        candidate = self._candidate(given, first)
        if candidate is None:
            return False
        answer = candidate.answer
        new = not (answer.lines <= self.covered_lines and answer.branches <= self.covered_branches)
        self.covered_lines |= answer.lines
        self.covered_branches |= answer.branches
        self.candidates.append(candidate)
        return new

    def _candidate(self, given: Input, moments: bool) -> _Candidate | None:
        self.found.tried += 1
        try:
            prepared = self.evaluator.prepare(given)
        except Exception:
            return self._drop("source that cannot be compiled")
        answer = self.evaluator.answer(prepared, trace=True, moments=moments or self.found.tried % 10 == 0)
        if answer.outcome == "raises":
            documented = self.subject.function.__doc__ or ""
            if not raised_on_purpose(answer, self.raises, documented, given.observed):
                return self._drop("it raises an exception that nobody promises")
            return self._raising(prepared, answer)
        if answer.outcome != "value":
            return self._drop(answer.reason or answer.text)
        renderer = self.around.renderer()
        try:
            expected = renderer.render(answer.value)
        except Unrenderable as reason:
            return self._drop(f"its result is {reason}")
        approximate = _inexact(answer.value)
        if not approximate and not self._says_the_same(expected, renderer.imports, answer.value):
            return self._drop("its result cannot be compared with ==")
        if given.key in self.promised:
            who, value = self.promised[given.key]
            if who == "docstring" and not _close(value, answer.value):
                return self._drop("the docstring says something else")
        asserted = self.promised.get(given.key, ("", None))[0] == "tests"
        return _Candidate(prepared, answer, expected, approximate, frozenset(renderer.imports), asserted)

    def _raising(self, prepared: Prepared, answer: Answer) -> _Candidate | None:
        renderer = self.around.renderer()
        try:
            name = renderer.name_of(type(answer.error))
        except Unrenderable as reason:
            return self._drop(f"it raises {reason}")
        return _Candidate(prepared, answer, name, False, frozenset(renderer.imports))

    def _says_the_same(self, source: str, imports: set[tuple[str, str]], value: Any) -> bool:
        try:
            space = {(n[1] or n[0]): self.evaluator._import(n) for n in imports}
            again = eval(source, space)
            return bool(again == value) and type(again) is type(value)
        except Exception:
            return False

    def _drop(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _most_common(self, fallback: str) -> str:
        if not self.reasons:
            return fallback
        return max(self.reasons, key=lambda reason: self.reasons[reason])

    # ------------------------------------------------------------------ versions

    def _texts_of(self, versions: Sequence[Mapping[str, CodeType] | None], inputs: Sequence[Prepared]) -> list[list[str] | None]:
        """Answers of each version (``None``: the code as it is), many versions to a forked process."""
        found: list[list[str] | None] = [None] * len(versions)
        patience = 3.0 + 0.5 * len(versions)
        answers = fork.call(lambda: [self._one(v, inputs) for v in versions], patience, self.around.usage)
        if answers is not None:
            return list(answers)
        if len(versions) == 1:
            return found
        for i, version in enumerate(versions):
            alone = fork.call(lambda v=version: self._one(v, inputs), 3.0, self.around.usage)  # type: ignore[misc]
            found[i] = alone
        return found

    def _one(self, version: Mapping[str, CodeType] | None, inputs: Sequence[Prepared]) -> list[str] | None:
        live = self.named
        before = {name: [f.__code__ for f in live.get(name, ())] for name in version or ()}
        if version is not None and not swap(live, version):
            return None
        self.around.live.clear_caches()
        try:
            return self.evaluator.texts(inputs)
        finally:
            for name, codes in before.items():
                for function, code in zip(live.get(name, ()), codes, strict=True):
                    function.__code__ = code

    def _drop_undecided(self) -> None:
        """Drop what answers differently the second time, and cut down to what there is time for."""
        self.candidates.sort(key=lambda c: c.cost)
        if len(self.candidates) > 3 * MAX_CANDIDATES:
            self.candidates = self.candidates[: 3 * MAX_CANDIDATES]
        inputs = [c.prepared for c in self.candidates]
        texts = self._texts_of([None], inputs)[0]
        if texts is None:
            self.candidates = []
            return
        kept = agree([c.answer.text for c in self.candidates], texts)
        for same in kept:
            if not same:
                self._drop("it answers differently from call to call")
        self.candidates = [c for c, same in zip(self.candidates, kept, strict=True) if same]

    def _compare_with_before(self) -> None:
        old = self._old_codes()
        if old is None:
            return
        self._note_differences(self.candidates, old)
        differing = [c for c in self.candidates if c.differs]
        if differing:
            self.candidates += self._shrunk(min(differing, key=lambda c: c.cost), old)

    def _note_differences(self, candidates: Sequence[_Candidate], old: Mapping[str, CodeType]) -> None:
        texts = self._texts_of([old], [c.prepared for c in candidates])[0]
        for candidate, text in zip(candidates, texts or (), strict=False):
            candidate.before = text
            candidate.differs = text not in ("?", candidate.answer.text)

    def _old_codes(self) -> dict[str, CodeType] | None:
        text = self.job.before.get(self.target.path)
        if text is None:
            return None
        try:
            old = codes_of(text, self.path)
        except (SyntaxError, ValueError):
            return None
        return {name: code for name, code in old.items() if self.named.get(name)}

    def _shrunk(self, start: _Candidate, old: Mapping[str, CodeType]) -> list[_Candidate]:
        """Ever smaller inputs on which old and new code still differ."""
        best, found = start, []
        for _ in range(SHRINK_ROUNDS):
            smaller = [g for g in self.variation.smaller(best.input) if g.key not in self.keys]
            self.keys |= {g.key for g in smaller}
            made = [c for c in (self._candidate(g, False) for g in smaller) if c is not None]
            self._note_differences(made, old)
            made = [c for c in made if c.differs]
            found += made
            if not made or min(c.cost for c in made) >= best.cost:
                break
            best = min(made, key=lambda c: c.cost)
        return found

    # ------------------------------------------------------------------ proof

    def _judge(self, wanted: frozenset[tuple[int, int]]) -> None:
        regression = self.job.use == "regression"
        comparable = regression and any(c.before for c in self.candidates)
        if comparable and not any(c.differs for c in self.candidates):
            self.found.reason = "no input was found on which it behaves differently from before"
            return
        chosen = self._affordable(wanted)
        faults = mutants(self.text, self.path, self.target.qualname)
        killed, before = self._killed(faults, chosen)
        proofs: list[frozenset[Any]] = []
        new = [self._new_cover(c.answer, wanted) for c in chosen]
        for candidate, kills, covers in zip(chosen, killed, new, strict=True):
            if regression:
                counts = candidate.differs or not comparable
                proofs.append(frozenset(kills) | {"differs"} if counts else frozenset())
            else:
                proofs.append(frozenset(kills) | covers if kills and covers else frozenset())
        numbers = select.cover(proofs, [c.cost for c in chosen])
        if regression:
            numbers += self._pins(chosen, killed, numbers)
        for n in numbers:
            self.found.cases.append(self._case(chosen[n], killed[n], new[n]))
        self._figures_after(faults, chosen, killed, numbers, before)
        if not self.found.cases:
            self.found.reason = (
                "no input that reaches its changed lines kills a mutant of it" if faults else "it has nothing to test"
            )

    def _affordable(self, wanted: frozenset[tuple[int, int]]) -> list[_Candidate]:
        """The candidates that are compared with the mutants: those that matter most, of every kind of answer."""
        ranked = sorted(
            self.candidates, key=lambda c: (not c.differs, not self._new_cover(c.answer, wanted), c.cost)
        )
        if len(ranked) <= MAX_CANDIDATES:
            return ranked
        paths: dict[Any, list[_Candidate]] = {}
        for candidate in ranked:
            paths.setdefault((candidate.answer.branches, candidate.differs), []).append(candidate)
        chosen: list[_Candidate] = []
        while len(chosen) < MAX_CANDIDATES and any(paths.values()):
            for group in paths.values():
                if group:
                    chosen.append(group.pop(0))
        return chosen[:MAX_CANDIDATES]

    def _pins(
        self, chosen: Sequence[_Candidate], killed: Sequence[frozenset[int]], numbers: Sequence[int]
    ) -> list[int]:
        """Further cases that kill what the regression cases do not: what the repaired function does elsewhere."""
        dead: frozenset[int] = frozenset().union(*(killed[n] for n in numbers))
        proofs: list[frozenset[Any]] = [
            frozenset() if candidate.asserted else kills - dead for candidate, kills in zip(chosen, killed, strict=True)
        ]
        return [n for n in select.cover(proofs, [c.cost for c in chosen], limit=MAX_PINS) if n not in numbers]

    def _killed(
        self, faults: Sequence[Mutant], chosen: Sequence[_Candidate]
    ) -> tuple[list[frozenset[int]], frozenset[int]]:
        """Per candidate the mutants that it kills, and the mutants that the existing tests kill."""
        inputs = [c.prepared for c in chosen]
        answers: dict[int, Sequence[str]] = {}
        before: set[int] = set()
        tests = self._calling_tests()
        for start in range(0, len(faults), MUTANTS_PER_FORK):
            batch = list(range(start, min(start + MUTANTS_PER_FORK, len(faults))))
            texts = self._texts_of([faults[n].codes for n in batch], inputs)
            answers.update({n: found for n, found in zip(batch, texts, strict=True) if found is not None})
        if tests:
            before = self._killed_by(tests, faults)
            self.found.killed_before = len(before)
        elif not self.seen.calls:
            self.found.killed_before = 0
        return select.kills(answers, [c.answer.text for c in chosen]), frozenset(before)

    def _calling_tests(self) -> list[items.Run]:
        """Runs of the tests that call the target, in the cheapest way that passes; few and quick ones."""
        runs: list[items.Run] = []
        found = [self.around.tests[nodeid] for nodeid in self.seen.tests if nodeid in self.around.tests][:12]

        def calibrated() -> list[str]:
            timer = Timer()
            return [next((way for way, run in items.ways(item) if not _fails(timer, run)), "") for item in found]

        ways = fork.call(calibrated, 5.0, self.around.usage)
        for item, way in zip(found, ways or (), strict=False):
            if way:
                runs.append(dict(items.ways(item))[way])
        return runs

    def _killed_by(self, tests: Sequence[items.Run], faults: Sequence[Mutant]) -> set[int]:
        dead: set[int] = set()

        def batch(numbers: Sequence[int]) -> list[int]:
            timer = Timer()
            found = []
            for n in numbers:
                before = {name: [f.__code__ for f in self.named.get(name, ())] for name in faults[n].codes}
                if swap(self.named, faults[n].codes):
                    self.around.live.clear_caches()
                    if any(_fails(timer, run) for run in tests):
                        found.append(n)
                for name, codes in before.items():
                    for function, code in zip(self.named.get(name, ()), codes, strict=True):
                        function.__code__ = code
            return found

        for start in range(0, len(faults), MUTANTS_PER_FORK):
            numbers = list(range(start, min(start + MUTANTS_PER_FORK, len(faults))))
            dead.update(fork.call(lambda n=numbers: batch(n), 6.0, self.around.usage) or ())  # type: ignore[misc]
        return dead

    def _figures_after(
        self,
        faults: Sequence[Mutant],
        chosen: Sequence[_Candidate],
        killed: Sequence[frozenset[int]],
        numbers: Sequence[int],
        before: frozenset[int],
    ) -> None:
        found = self.found
        alone: frozenset[int] = frozenset().union(*(killed[n] for n in numbers))
        found.mutants, found.killed_alone = len(faults), len(alone)
        found.killed_after = len(alone | before)
        found.alive = [f"line {faults[n].line}: {faults[n].words}" for n in range(len(faults)) if n not in alone | before][:10]
        covered = self.seen.lines.union(*(chosen[n].answer.lines for n in numbers))
        branches = set(self.seen.branches).union(*(chosen[n].answer.branches for n in numbers))
        found.lines_after = len(self.all_lines & covered)
        found.branches_after = len(lines.taken(branches, self.branching))
        found.dropped = dict(self.reasons)

    # ------------------------------------------------------------------ cases

    def _case(self, candidate: _Candidate, kills: frozenset[int], covers: frozenset[tuple[int, int]]) -> Case:
        answer, given = candidate.answer, candidate.input
        call = self.subject.template(given.arguments)
        who = self.promised.get(given.key, ("", None))[0]
        imports = candidate.imports | given.imports | {self.subject.import_name}
        if _is_coroutine(self.subject.function):
            call, imports = f"asyncio.run({call})", imports | {("asyncio", "")}
        if answer.iterated:
            call = f"list({call})"
        after, more = self._after(candidate)
        return Case(
            input=given,
            call=call,
            kind="raises" if answer.outcome == "raises" else "value",
            expected=candidate.expected,
            approximate=candidate.approximate,
            after=after,
            imports=frozenset(imports | more),
            fails_before=candidate.differs,
            kills=kills,
            covers=covers,
            backed=who,  # type: ignore[arg-type]
        )

    def _after(self, candidate: _Candidate) -> tuple[tuple[tuple[int, str, str], ...], frozenset[tuple[str, str]]]:
        """What to assert of the arguments after the call: those it changes, or those that only the old code changed."""
        answer = candidate.answer
        only_before = candidate.differs and candidate.before.partition(", then [")[0] == answer.text.partition(", then [")[0]
        found, imports = [], set()
        for i, (value, changed) in enumerate(zip(answer.after, answer.changed, strict=False)):
            if not changed and not (only_before and isinstance(value, (list, dict, set, bytearray))):
                continue
            renderer = self.around.renderer()
            for form, thing in (("{0}", value), ("vars({0})", getattr(value, "__dict__", None))):
                if thing is None:
                    continue
                try:
                    source = renderer.render(thing)
                except Unrenderable:
                    continue
                if self._says_the_same(source, renderer.imports, thing):
                    found.append((i, form, source))
                    imports |= renderer.imports
                    break
        return tuple(found), frozenset(imports)


def _fails(timer: Timer, run: items.Run) -> bool:
    try:
        timer.start(0.5)
        try:
            run()
        finally:
            timer.stop()
    except CpuTimeout:
        return True
    except BaseException:
        return True
    return False


def _is_coroutine(function: FunctionType) -> bool:
    import inspect

    return inspect.iscoroutinefunction(function)


def _inexact(value: Any) -> bool:
    """Whether a number (or a flat list of numbers) has more digits than people write: it is compared approximately."""
    if isinstance(value, float):
        return value != value or len(repr(value)) > 8
    if isinstance(value, (list, tuple)) and value and all(type(v) in (int, float) for v in value):
        return any(_inexact(v) for v in value if isinstance(v, float))
    return False


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        try:
            return abs(a - b) <= 1e-6 * max(1.0, abs(a))
        except TypeError:
            return False
    return bool(a == b)


def observed_first(cases: Sequence[Case]) -> list[Case]:
    """Cases in the order in which people would write them: known inputs first, short ones first."""
    return sorted(cases, key=lambda c: (not c.input.observed, c.input.cost))


def plain(found: Found) -> Found:
    """``found`` with its cases in reading order."""
    return replace(found, cases=observed_first(found.cases))
