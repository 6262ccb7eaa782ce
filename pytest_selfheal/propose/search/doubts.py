"""How far to trust a plausible patch for what a reader and the passing tests would say of it."""

from __future__ import annotations

import ast
import re
from collections import Counter

from pytest_selfheal import parsing
from pytest_selfheal.propose.search.candidate import Candidate, apply
from pytest_selfheal.propose.search.decided import Outcome, Probes, probed
from pytest_selfheal.propose.search.files import Files
from pytest_selfheal.propose.search.harness import Harness
from pytest_selfheal.propose.search.search import Plausible
from pytest_selfheal.propose.search.smells import doubt_of, reads_of, rewrites
from pytest_selfheal.propose.search.source import Source

_DECISIONS = (ast.If, ast.While, ast.Try, ast.IfExp)
_WORD = re.compile(r"\bif\b")
SLOW_TESTS = 2.0
"""Wall seconds of the failing tests beyond which nothing but the first patch is looked at for what it decides."""
NOT_LOOKED_AT = 0.1
"""What a patch keeps of its weight when nobody looks at what it decides."""


class Doubts:
    """Answers about the plausible patches of one search."""

    def __init__(self, files: Files, harness: Harness) -> None:
        self._files = files
        self._harness = harness
        self._decided: dict[Candidate, bool] = {}

    def of(self, plausible: Plausible) -> float:
        """The share of its weight (0..1) that a patch keeps for how it reads, and for a decision that it turns unseen."""
        candidate = plausible.candidate
        source = self._files.source(candidate.path)
        if source is None:
            return 1.0
        kept = doubt_of(source, candidate)
        if plausible.slow or self._harness.wall > SLOW_TESTS or _is_new(candidate, source):
            return kept
        changed = probed(source, candidate)
        return kept if changed is None or self._seen(plausible, source, changed) else kept * NOT_LOOKED_AT

    def reads(self, candidate: Candidate) -> Counter[str]:
        """How often the changed code reads each name."""
        source = self._files.source(candidate.path)
        return reads_of(source, candidate) if source is not None else Counter()

    def pinned(self, plausible: Plausible) -> bool:
        """The tests see both outcomes of what it decides, and it is no new expression that leaves out what was read."""
        candidate = plausible.candidate
        source = self._files.source(candidate.path)
        if source is None or rewrites(source, candidate):
            return False
        changed = probed(source, candidate)
        return changed is None or plausible.slow or self._seen(plausible, source, changed)

    def _seen(self, plausible: Plausible, source: Source, changed: Probes) -> bool:
        """Whether tests see both outcomes, and no passing test goes another way than before without noticing."""
        known = self._decided.get(plausible.candidate)
        if known is None:
            after = self._asked(plausible, source, changed.after)
            outcomes = set().union(*after)
            known = len(outcomes) == 2 * changed.count
            passing = len(self._harness.passing)
            if known and passing and changed.before is not None and not _is_new(plausible.candidate, source):
                before = self._asked(plausible, source, changed.before, failing=False)
                known = before == after[:passing]
            self._decided[plausible.candidate] = known
        return known

    def _asked(
        self, plausible: Plausible, source: Source, probe: Candidate, failing: bool = True
    ) -> list[set[Outcome]]:
        try:
            codes = source.compile(probe)
        except (SyntaxError, ValueError, KeyError, RecursionError, OverflowError, MemoryError):
            return []
        return self._harness.asked(plausible.live, codes, failing)


def _is_new(candidate: Candidate, source: Source) -> bool:
    """Whether a decision comes in that was not there before, rather than that one is changed or its branches are."""
    if not any("\n" in edit.text or _WORD.search(edit.text) for edit in candidate.edits):
        return False
    try:
        new = _count(parsing.parse(apply(source.text, candidate.edits)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return new > _count(source.tree)


def _count(tree: ast.AST) -> int:
    return sum(
        len(node.ifs) if isinstance(node, ast.comprehension) else isinstance(node, _DECISIONS)
        for node in ast.walk(tree)
    )
