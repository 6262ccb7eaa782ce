"""Lazy best-first generation: which change to try next, over all suspects and operators.

Each operator on each suspect function is a *stream*. A stream is opened only when its bound (largest prior × suspiciousness)
is the best there is, so cheap and likely families come first and quadratic ones never start when an earlier one heals.
Candidates of open streams wait in one heap. Memory is bounded: a stream yields at most :data:`CAP` drafts, and the drafts
are cut back to their best :data:`HEAP` when the heap grows beyond twice that; streams that are still closed stay.

A prior is the chance of one candidate of a kind among as many as a small function has. In a long function some kinds
have thousands, so that each is less likely: what is beyond :data:`CROWD` takes from all of them.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search import priors as _priors
from pytest_selfheal.propose.search.candidate import Candidate, Draft, Edit, apply, compose, overlap, trimmed
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators import FAMILIES, Family
from pytest_selfheal.propose.search.priors import Priors
from pytest_selfheal.propose.search.source import Region, Source
from pytest_selfheal.types import Suspect

_log = logging.getLogger("pytest_selfheal")

CAP = 6000
HEAP = 20_000
CROWD = 100
"""Candidates of one kind in one function beyond which each counts less, by the root of how many times more there are."""
HABIT = 3.0
"""Factor for a wrapped value that stands elsewhere in the function in just that form: one place was forgotten."""
UNREAD = 3.0
"""For a change that reads a parameter or variable which nothing else in its function reads: it was meant to be used."""
_WRAPS = frozenset({"wrap", "rewrap", "project"})
SLIPS = frozenset(
    {
        "arithmetic",
        "assign",
        "boolean",
        "borrow",
        "compare",
        "compose",
        "comprehension",
        "constant",
        "offset",
        "operands",
    }
    | {
        "wrap/reverse",
        "wrap/reversed",
        "wrap/swapcase",
        "call/unwrap",
        "replicate",
        "statement/delete",
        "statement/open",
        "subscript",
        "synthesis/new",
        "variable",
    }
)
"""What a slip of the fingers looks like: code that was right once and would have failed in every test that runs it."""
CRASHED = 2.0
_RAISING = frozenset({"arithmetic", "compare", "subscript", "variable"})
"""Slips that raise where they stand count more on a line that an exception went through, by this factor."""
ARBITRARY = ("/length", "/number", "/pair")
"""Conditions of a kind of which one fits any test by chance: nothing says that a case is missing."""
SLIP_SHARE = 0.15
"""What is left at least of a slip's prior, however many tests run its line and pass."""
BOOST = 4.0
"""Operators' factors are clipped to this, so that a stream's bound is a bound."""


@dataclass(frozen=True)
class _Place:
    region: Region
    score: float
    lines: Mapping[int, float]

    def factor(self, line: int) -> float:
        """Of a line within its function: 1 for the most suspicious, ½ where nothing is known."""
        return self.lines.get(line, 0.5 if self.lines else 1.0)


def _urgency(context: Context) -> dict[str, float]:
    """Families that the failures ask for in their own words, and by how much their priors are raised."""
    found: dict[str, float] = {}
    words = " ".join(context.messages)
    if context.expected_exceptions and _about_raising(context):
        found |= {"guard/raise": 10.0, "exception": 5.0}
    if "NoneType" in words:
        found |= {"guard/value": 4.0, "guard/return": 3.0, "guard/expression": 3.0, "condition": 2.0}
    if any(word in words for word in ("IndexError", "KeyError", "ZeroDivisionError", "StopIteration", "ValueError: ")):
        found |= {
            "guard/value": 3.0,
            "guard/return": 3.0,
            "guard/expression": 3.0,
            "exception": max(3.0, found.get("exception", 1.0)),
        }
    if "TypeError" in words or "AttributeError" in words:
        found |= {"wrap": 2.0, "project": 2.0, "rewrap": 1.5}
    return found


def _about_raising(context: Context) -> bool:
    """Whether what is to be raised may be why the tests fail: not where they come to a comparison that does not hold."""
    return any(
        failure.expected_exception
        or failure.exception != "AssertionError"
        or failure.message.strip() in ("", "assert False", "assert 0")
        for failure in context.failures
    )


def _places(sources: Mapping[str, Source], suspects: Sequence[Suspect]) -> list[_Place]:
    grouped: dict[tuple[str, str], list[Suspect]] = {}
    for suspect in suspects:
        source = sources.get(suspect.path)
        if source is None:
            continue
        name = source.function_at(suspect.line) if suspect.line else suspect.function
        if name == "<module>" and suspect.function in source.functions:
            name = suspect.function
        outer = name.split(".<locals>.")[0]  # nested functions are part of the body that holds them
        grouped.setdefault((suspect.path, outer), []).append(suspect)
    top = max((s.score for s in suspects), default=0.0) or 1.0
    places = []
    for (path, name), group in grouped.items():
        region = sources[path].region(name)
        if region is None:
            continue
        best = max(s.score for s in group) or 1e-6
        lines: dict[int, float] = {}
        for s in group:
            if s.line:
                lines[s.line] = max(lines.get(s.line, 0.0), 0.5 + 0.5 * s.score / best)
        focus = frozenset(line for line, factor in lines.items() if factor > 0.75)
        places.append(_Place(Region(region.source, region.qualname, region.node, focus), best / top, lines))
    return places


def generate(
    sources: Mapping[str, Source],
    suspects: Sequence[Suspect],
    context: Context,
    priors: Priors | None = None,
    families: Iterable[Family] | None = None,
) -> Iterator[Candidate]:
    """Candidates, roughly best first, each text at most once. Lazy: nothing is computed beyond what is pulled."""
    priors = priors or _priors.load()
    chosen = tuple(FAMILIES if families is None else families)
    counter = itertools.count()
    urgency = _urgency(context)
    heap: list[tuple[float, int, _Place, Family | Draft]] = []
    for place in _places(sources, suspects):
        for family in chosen:
            bound = min(1.0, priors.bound(family.name) * BOOST * urgency.get(family.name, 1.0)) * place.score
            heapq.heappush(heap, (-bound, next(counter), place, family))
    seen: set[int] = set()
    while heap:
        negative, _, place, item = heapq.heappop(heap)
        if isinstance(item, Draft):
            candidate = finish(place.region.source, item, -negative)
            if candidate is not None and _new(candidate, place.region.source, seen):
                yield candidate
            continue
        source = place.region.source
        urgent = urgency.get(item.name, 1.0)
        crashed = context.raised_through(source.path)
        unread = place.region.unread
        text = source.text[slice(*place.region.span)] if item.name in _WRAPS else ""
        drafts = _drafts(item, place.region, context)
        sizes = Counter(_kind(draft.key) for draft in drafts)
        for draft in drafts:
            at = draft.at if draft.at >= 0 else draft.edits[0].start
            weight = (
                priors.of(draft.key)
                * urgent
                * min(
                    draft.factor
                    * (UNREAD if unread and _reads(draft, unread) else 1.0)
                    * (HABIT if item.name in _WRAPS and _habitual(draft, text) else 1.0),
                    BOOST,
                )
                * place.factor(source.line_of(at))
                * slip_factor(draft.key, source.path, source.line_of(at), context)
                * (CRASHED if item.name in _RAISING and source.line_of(at) in crashed else 1.0)
                * place.score
                * min(1.0, (CROWD / sizes[_kind(draft.key)]) ** 0.5)
            )
            heapq.heappush(heap, (-weight, next(counter), place, draft))
        if len(heap) > 2 * HEAP:
            closed = [entry for entry in heap if not isinstance(entry[3], Draft)]
            heap = heapq.nsmallest(HEAP, (entry for entry in heap if isinstance(entry[3], Draft))) + closed
            heapq.heapify(heap)


def _drafts(family: Family, region: Region, context: Context) -> list[Draft]:
    """What an operator yields; code that it stumbles over costs what it would still have yielded, not the search."""
    found: list[Draft] = []
    try:
        found.extend(itertools.islice(family.propose(region, context), CAP))
    except Exception:
        _log.warning("operator %s failed on %s", family.name, region.qualname, exc_info=True)
    return found


def is_slip(operator: str) -> bool:
    """Whether a kind of change undoes a slip rather than adds what was never there."""
    first = operator.split(" + ")[0]
    if first.startswith("condition/") and first.endswith(ARBITRARY):
        return True
    return not SLIPS.isdisjoint({first.partition("/")[0], "/".join(first.split("/")[:2])})


def slip_factor(operator: str, path: str, line: int, context: Context) -> float:
    """The less likely a slip is, the more of the tests that run its line pass; missing cases are what passing tests do not see."""
    share = context.shares.get(path, {}).get(line)
    return max(SLIP_SHARE, share**0.5) if share is not None and is_slip(operator) else 1.0


def is_crowded(candidate: Candidate, context: Context) -> bool:
    """A slip on a line that passing tests run as well: something else is likelier to be missing."""
    return slip_factor(candidate.operator, candidate.path, candidate.line, context) < 1


def _habitual(draft: Draft, text: str) -> bool:
    return len(draft.edits) == 1 and draft.edits[0].text in text


def _kind(key: str) -> str:
    return "/".join(key.split("/", 2)[:2])


def _reads(draft: Draft, names: re.Pattern[str]) -> bool:
    return any(names.search(edit.text) for edit in draft.edits)


def _new(candidate: Candidate, source: Source, seen: set[int]) -> bool:
    key = hash((candidate.path, tuple(trimmed(source.text, e) for e in candidate.edits)))
    if key in seen:
        return False
    seen.add(key)
    return True


def finish(source: Source, draft: Draft, weight: float) -> Candidate | None:
    """A draft with the bookkeeping done; ``None`` when it changes nothing or its edits overlap."""
    edits = tuple(sorted(draft.edits))
    if overlap(edits) or all(source.text[e.start : e.end] == e.text for e in edits):
        return None
    if any(source.breaks_string(e.start, e.end, e.text) for e in edits):
        return None
    if any(_never_none(source.text, e) for e in edits):
        return None
    at = draft.at if draft.at >= 0 else edits[0].start
    function, body_only = _where(source, edits)
    return Candidate(
        source.path, edits, draft.key, min(weight, 1.0), source.line_of(at), function, draft.description, body_only
    )


_VALUE = re.compile(r"(?:[A-Z]\w*|type|str|int|float|bool|len|list|tuple|set|dict|repr|sorted|sum|abs)\(.*\)\Z", re.S)
_ASKED = re.compile(r"\)*\s*(?:is|is\s+not|==|!=)\s+None\b")


def _never_none(text: str, edit: Edit) -> bool:
    """Whether the edit makes a test for ``None`` of something that never is: that decides nothing any more."""
    return bool(_VALUE.match(edit.text)) and bool(_ASKED.match(text, edit.end))


def _where(source: Source, edits: Iterable[Edit]) -> tuple[str, bool]:
    """The one innermost function that holds all edits (the outer one of nested), and whether all are in its body."""
    found = [
        source.inserted(e.start, e.text) if e.start == e.end else source.enclosing(offset)
        for e in edits
        for offset in (e.start, max(e.start, e.end - 1))
    ]
    names = {name for name, _ in found}
    if len(names) == 1:
        name, body = found[0][0], all(inside for _, inside in found)
        outer = name.split(".<locals>.")[0]
        if not body and outer != name and name != "<module>":  # the signature of a nested function is body of the outer
            return outer, True
        return name, body and name != "<module>"
    outers = {name.split(".<locals>.")[0] for name in names}
    if len(outers) == 1 and "<module>" not in outers:
        outer = outers.pop()
        body = all(inside or name != outer for name, inside in found)
        return outer, body
    return found[0][0], False


def neighbours(
    source: Source,
    candidate: Candidate,
    context: Context,
    priors: Priors | None = None,
    suspects: Sequence[Suspect] = (),
) -> Iterator[Candidate]:
    """``candidate`` plus one more edit in the same function (or in ``suspects`` of the same file), best first.

    The edits are in coordinates of ``source``; ``operator`` is ``first + second``.
    """
    text = apply(source.text, candidate.edits)
    try:
        after = Source(source.path, text)
    except (SyntaxError, ValueError):
        return
    places = list(suspects) or [Suspect(source.path, 0, candidate.function, 1.0)]
    for second in generate({source.path: after}, places, context, priors):
        edits = compose(source.text, candidate.edits, second.edits)
        if all(source.text[e.start : e.end] == e.text for e in edits):
            continue
        function, body_only = _where(source, edits)
        yield Candidate(
            source.path,
            edits,
            f"{candidate.operator} + {second.operator}",
            candidate.weight * second.weight,
            candidate.line,
            function,
            f"{candidate.description}; {second.description}",
            body_only,
        )
