"""Explore one function in a forked process: find inputs, see what the code makes of them, keep those that prove something."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from pytest_selfheal.testgen.inside import lines, select
from pytest_selfheal.testgen.inside.candidate import Candidate, Surroundings
from pytest_selfheal.testgen.inside.cases import Writer
from pytest_selfheal.testgen.inside.evaluate import CALL_SECONDS, QUICK, Answer, Evaluator, agree
from pytest_selfheal.testgen.inside.gather import Gatherer, Wanted
from pytest_selfheal.testgen.inside.mutants import MAX_MUTANTS, codes_of, mutants
from pytest_selfheal.testgen.inside.proof import Proof, prove
from pytest_selfheal.testgen.inside.purity import Purity
from pytest_selfheal.testgen.inside.subject import Subject
from pytest_selfheal.testgen.inside.versions import Versions
from pytest_selfheal.testgen.inside.watch import Branch, Seen
from pytest_selfheal.testgen.job import Found

MAX_CANDIDATES = 90
"""So many are compared with the mutants."""
FEWEST = 8
MAX_PINS = 6
SHRINK_ROUNDS = 8
WALL_FACTOR = 8
"""So many times its CPU seconds comparing versions may take on a busy machine; then what is known by then has to do."""

PATIENCE = 20.0
"""Wall seconds for one version and all inputs."""


class Explorer:
    """Works in a forked child; everything it finds is in the :class:`Found` that :meth:`explore` returns."""

    def __init__(self, around: Surroundings, subject: Subject, seen: Seen) -> None:
        self.around = around
        self.job = around.job
        self.seen = seen
        self.target = subject.target
        self.found = Found(self.target)
        self.text = around.texts[self.target.path]
        self.path = str(Path(self.job.top) / self.target.path)
        self.live = around.live.of(self.path, self.text)
        self.evaluator = Evaluator(subject, Purity())
        self.gatherer = Gatherer(around, subject, seen, self.evaluator)
        self.writer = Writer(around, self.evaluator, self.gatherer)
        self.versions = Versions(around, self.live)
        self.branching = lines.branching(self.text, self.target.qualname)
        self.all_lines = lines.executable(self.evaluator.codes)
        self.limit = CALL_SECONDS
        self.most = MAX_CANDIDATES
        self.candidates: list[Candidate] = []

    def explore(self) -> Found:
        """All of it, within the job's CPU seconds (roughly)."""
        self._figures_before()
        wanted = self.found.wanted = self._wanted()
        if self.job.use == "changed" and not wanted:
            self.found.covered = True
            return self._nothing("its changed lines and branches are covered by the existing tests")
        known = self.gatherer.known()
        if not known:
            return self._nothing(self._why_no_inputs())
        self.gatherer.gather(known, wanted, self.job.cpu_seconds)
        self.versions.deadline = time.monotonic() + WALL_FACTOR * self.job.cpu_seconds
        self.candidates = self._decided(self.gatherer.candidates)
        if not self.candidates:
            return self._nothing(self.gatherer.why_nothing())
        if self.job.use == "regression":
            self._compare_with_before()
        self._judge(wanted)
        return self.found

    def _nothing(self, reason: str) -> Found:
        self.found.reason = reason
        self.found.tried, self.found.dropped = self.gatherer.tried, dict(self.gatherer.reasons)
        return self.found

    def _why_no_inputs(self) -> str:
        reasons = self.seen.unrenderable
        if reasons:
            return f"it is called with {max(reasons, key=lambda reason: reasons[reason])}"
        return "no test calls it, and its parameters do not say what it can be called with"

    # ------------------------------------------------------------------ coverage

    def _figures_before(self) -> None:
        found, all_lines = self.found, self.all_lines
        found.lines, found.branches = len(all_lines), 2 * len(self.branching)
        found.lines_before = len(all_lines & self.seen.lines)
        found.branches_before = len(lines.taken(self.seen.branches, self.branching))

    def _wanted(self) -> Wanted:
        changed = self.target.changed or self.all_lines
        open_lines = {(0, line) for line in (self.all_lines & changed) - self.seen.lines}
        taken = lines.taken(self.seen.branches, self.branching)
        half = {line for line in self.branching & changed if sum(b[0] == line for b in taken) < 2}
        return frozenset(open_lines | {(line, 0) for line in half})

    def _covers(self, answer: Answer, wanted: Wanted) -> frozenset[tuple[int, int]]:
        covered = {(0, line) for line in answer.lines if (0, line) in wanted}
        covered |= {b for b in answer.branches if (b[0], 0) in wanted and b not in self.seen.branches}
        return frozenset(covered)

    # ------------------------------------------------------------------ versions

    def _decided(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those that answer the same a second time; also finds out how long a call may take from here on."""
        ranked = _within(_all_ways_first(candidates), self.job.cpu_seconds)[: 3 * MAX_CANDIDATES]
        if not ranked:
            return []
        used = self.around.usage.seconds
        inputs = [c.prepared for c in ranked]
        [texts] = self.versions.each([None], lambda: self.evaluator.texts(inputs), patience=PATIENCE)
        if texts is None:
            self.gatherer.drop("its calls end the process or take too long")
            return []
        each = (self.around.usage.seconds - used) / len(inputs)
        self.limit = min(CALL_SECONDS, max(QUICK, 100 * each))
        # All mutants on all of these may take three times what a function may take altogether.
        self.most = max(FEWEST, min(MAX_CANDIDATES, int(3 * self.job.cpu_seconds / (MAX_MUTANTS * max(each, 1e-6)))))
        kept = []
        for candidate, same in zip(ranked, agree([c.answer.text for c in ranked], texts), strict=True):
            if same:
                kept.append(candidate)
            else:
                self.gatherer.drop("it answers differently from call to call")
        return kept

    def _compare_with_before(self) -> None:
        old = self._old_codes()
        if old is None:
            return
        self._note_differences(self.candidates, old)
        best = min((c for c in self.candidates if c.differs), key=lambda c: c.cost, default=None)
        for _ in range(SHRINK_ROUNDS if best is not None else 0):
            assert best is not None
            made = self.gatherer.smaller(best)
            self._note_differences(made, old)
            made = [c for c in made if c.differs]
            self.candidates += made
            smallest = min(made, key=lambda c: c.cost, default=best)
            if smallest.cost >= best.cost:
                break
            best = smallest

    def _note_differences(self, candidates: Sequence[Candidate], old: Mapping[str, CodeType]) -> None:
        inputs = [c.prepared for c in candidates]
        [texts] = self.versions.each([old], lambda: self.evaluator.texts(inputs, self.limit), patience=PATIENCE)
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
        return {name: code for name, code in old.items() if self.live.get(name)}

    # ------------------------------------------------------------------ proof

    def _judge(self, wanted: Wanted) -> None:
        regression = self.job.use == "regression"
        comparable = regression and any(c.before for c in self.candidates)
        if comparable and not any(c.differs for c in self.candidates):
            self._nothing("no input was found on which it behaves differently from before")
            return
        chosen = self._affordable(wanted)
        faults = mutants(self.text, self.path, self.target.qualname)
        proof = prove(faults, chosen, self.seen, self.around, self.versions, self.evaluator, self.limit)
        covers = [self._covers(c.answer, wanted) for c in chosen]
        proofs: list[frozenset[Any]] = []
        for candidate, kills, new in zip(chosen, proof.killed, covers, strict=True):
            if regression:
                counts = candidate.differs or not comparable
                proofs.append(frozenset({*kills, "differs"}) if counts else frozenset())
            else:
                proofs.append(frozenset({*kills, *new}) if kills and new else frozenset())
        numbers = select.cover(proofs, [c.cost for c in chosen], max(select.MAX_CASES, len(self.branching)))
        if regression:
            numbers += self._pins(chosen, proof, numbers)
        cases = [self.writer.case(chosen[n], proof.killed[n], covers[n]) for n in numbers]
        self.found.cases = sorted(cases, key=lambda c: (not c.fails_before, not c.input.observed, c.input.cost))
        if not cases:
            self._nothing(
                "no input that reaches its changed lines kills a mutant of it" if faults else "it does nothing"
            )
        self._figures_after([f"line {fault.line}: {fault.words}" for fault in faults], chosen, proof, numbers)

    def _affordable(self, wanted: Wanted) -> list[Candidate]:
        """The candidates that are compared with the mutants: those that matter most, of every kind of way through the code."""
        ranked = sorted(self.candidates, key=lambda c: (not c.differs, not self._covers(c.answer, wanted), c.cost))
        if len(ranked) <= self.most:
            return ranked
        ways: dict[Any, list[Candidate]] = {}
        for candidate in ranked:
            ways.setdefault((candidate.answer.branches, candidate.differs), []).append(candidate)
        chosen: list[Candidate] = []
        while len(chosen) < self.most and any(ways.values()):
            for group in ways.values():
                if group:
                    chosen.append(group.pop(0))
        return chosen[: self.most]

    def _pins(self, chosen: Sequence[Candidate], proof: Proof, numbers: Sequence[int]) -> list[int]:
        """Further cases that kill what the regression cases do not: what the repaired function does elsewhere."""
        dead: frozenset[int] = frozenset().union(*(proof.killed[n] for n in numbers))
        proofs: list[frozenset[Any]] = [
            frozenset() if candidate.asserted else kills - dead
            for candidate, kills in zip(chosen, proof.killed, strict=True)
        ]
        return [n for n in select.cover(proofs, [c.cost for c in chosen], limit=MAX_PINS) if n not in numbers]

    def _figures_after(
        self, faults: Sequence[str], chosen: Sequence[Candidate], proof: Proof, numbers: Sequence[int]
    ) -> None:
        found = self.found
        alone: frozenset[int] = frozenset().union(*(proof.killed[n] for n in numbers))
        before = proof.before or frozenset()
        found.mutants, found.killed_alone = len(proof.tried), len(alone)
        found.killed_before = None if proof.before is None else len(before)
        found.killed_after = len(alone | before)
        found.alive = [faults[n] for n in proof.tried if n not in alone | before][:10]
        covered = self.seen.lines.union(*(chosen[n].answer.lines for n in numbers))
        branches = set(self.seen.branches).union(*(chosen[n].answer.branches for n in numbers))
        found.lines_after = len(self.all_lines & covered)
        found.missed = tuple(sorted(self.all_lines - covered))
        found.branches_after = len(lines.taken(branches, self.branching))
        found.tried, found.dropped = self.gatherer.tried, dict(self.gatherer.reasons)


def _all_ways_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """What tests do, then cheap ones, but before a second one of a way through the code the first one of each other way."""
    found: dict[frozenset[Branch], int] = {}
    order = []
    for candidate in sorted(candidates, key=lambda c: c.cost):
        way = candidate.answer.branches
        found[way] = found.get(way, -1) + 1
        order.append((found[way], candidate))
    return [candidate for _, candidate in sorted(order, key=lambda pair: (not pair[1].input.observed, pair[0]))]


def _within(candidates: Sequence[Candidate], cpu_seconds: float) -> list[Candidate]:
    """As many of the first ones as run again within so many CPU seconds, a few in any case."""
    chosen: list[Candidate] = []
    spent = 0.0
    for candidate in candidates:
        spent += candidate.answer.seconds
        if spent > cpu_seconds and len(chosen) >= FEWEST:
            break
        chosen.append(candidate)
    return chosen


def explore(around: Surroundings, subject: Subject, seen: Seen) -> Found:
    """Explore one subject; for a forked child."""
    return Explorer(around, subject, seen).explore()
