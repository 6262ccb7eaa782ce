"""Order plausible patches by what they do rather than by how they look, and say how sure one can be of the first.

Patches that behave alike on all inputs that were tried form a group. A group is worth what its members are worth (prior ×
suspiciousness) and the docstring's examples that it keeps; one that answers everything alike, or fails on inputs that
others master, is worth less. When nearly all the worth is in one group, the tests pin the behaviour down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_selfheal.propose.search.behaviour import UNKNOWN, Behaviour, Comparison
from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.search import Plausible
from pytest_selfheal.types import Confidence

ENOUGH_INPUTS = 8
"""With fewer answers to compare, behaviour says too little for high confidence."""
ENOUGH_OBSERVED = 2
"""A single input that the tests use pins hardly anything down, unless all that passes gives the same answers."""
HIGH_SHARE, MEDIUM_SHARE = 0.8, 0.5
ALL_SHARE = 0.99
HARDLY = 0.1
"""A patch that keeps no more of its weight is of low confidence, even alone."""
REPAIRS_FEWER, REPAIRS_NONE = 0.1, 0.005
"""What a patch keeps of its weight when another one repairs more of what fails beside the tests that they were made for."""
MAX_ALTERNATIVES = 3
SHOWN = 80


@dataclass
class Choice:
    """A plausible patch in its place in the order."""

    plausible: Plausible
    confidence: Confidence
    note: str = ""
    alternatives: tuple[tuple[Plausible, str], ...] = ()
    """Patches that behave differently, with an input that shows it."""
    group: int = 0


@dataclass
class _Group:
    behaviour: Behaviour
    members: list[Plausible] = field(default_factory=list)
    worth: float = 0.0


def choose(
    found: Sequence[Plausible],
    comparison: Comparison,
    located: Callable[[Candidate], bool] = lambda candidate: True,
    doubt: Callable[[Plausible], float] = lambda plausible: 1.0,
    reads: Callable[[Candidate], Counter[str]] = lambda candidate: Counter(),
    pinned: Callable[[Plausible], bool] = lambda plausible: True,
    settled: bool = True,
) -> list[Choice]:
    """``comparison`` has the unpatched code's answers first, then those of ``found`` in its order (as many as there are).

    ``located`` says whether it is clear enough that the fault lies where a candidate changes the code; ``doubt`` which
    share of its weight a patch keeps for how it reads and what the tests see of it; ``reads`` how often the changed code reads each name;
    ``pinned`` whether the tests look at all that a patch decides (asked of the first one only, where it matters); ``settled``
    whether others were looked for as long as they should.
    """
    groups = _grouped(found, comparison)
    doubts = {id(p): doubt(p) for p in found}
    most = max((p.repairs for p in found), default=0.0)
    weights = {id(p): p.candidate.weight * doubts[id(p)] * _repairing(p.repairs, most) for p in found}
    for group in groups:
        group.members.sort(key=lambda p: -weights[id(p)])
        group.worth = _worth([weights[id(p)] for p in group.members], group, groups, comparison)
    groups.sort(key=lambda group: -group.worth)
    total = sum(group.worth for group in groups) or 1.0
    choices: list[Choice] = []
    for number, group in enumerate(groups):
        confidence: Confidence = "low"
        if number == 0:
            confidence = _confidence(group, group.worth / total, comparison)
            first = group.members[0]
            if confidence == "high" and (
                not settled
                or not located(first.candidate)
                or doubts[id(first)] < 1
                or _may_drop(group, reads)
                or not pinned(first)
            ):
                confidence = "medium"
            if doubts[id(first)] <= HARDLY:
                confidence = "low"
        others = tuple(
            (other.members[0], _difference(group.behaviour, other.behaviour, comparison))
            for other in groups
            if other is not group
        )[:MAX_ALTERNATIVES]
        for member in group.members:
            choices.append(Choice(member, confidence, _note(others), others, number))
    # One of each group first: a second patch that does the same as a refused one would be refused as well.
    firsts = {id(group.members[0]) for group in groups}
    choices.sort(key=lambda choice: id(choice.plausible) not in firsts)
    return choices


def _repairing(share: float, most: float) -> float:
    return 1.0 if share == most else REPAIRS_NONE + (REPAIRS_FEWER - REPAIRS_NONE) * share / most


def _grouped(found: Sequence[Plausible], comparison: Comparison) -> list[_Group]:
    groups: list[_Group] = []
    for i, plausible in enumerate(found):
        behaviour = comparison.versions[i + 1] if i + 1 < len(comparison.versions) else Behaviour()
        for group in groups:
            if behaviour.answers and _alike(group.behaviour.answers, behaviour.answers):
                group.members.append(plausible)
                break
        else:
            groups.append(_Group(behaviour, [plausible]))
    return groups


def _alike(first: Sequence[str], second: Sequence[str]) -> bool:
    return len(first) == len(second) and all(a == b or UNKNOWN in (a, b) for a, b in zip(first, second, strict=True))


def _worth(weights: Sequence[float], group: _Group, groups: Sequence[_Group], comparison: Comparison) -> float:
    # Several ways to the same behaviour make it likelier, but they are no independent witnesses.
    worth = weights[0] * (1.0 + 0.3 * min(len(weights) - 1, 6))
    answers = group.behaviour.answers
    if answers:
        most = max(g.behaviour.examples for g in groups)
        worth *= 0.2 ** (most - group.behaviour.examples)
        fewest = min(_raising(g.behaviour.answers) for g in groups if g.behaviour.answers)
        worth *= 1.0 - 0.5 * (_raising(answers) - fewest)
        if len(set(answers)) == 1 and len(set(comparison.versions[0].answers)) > 2:
            worth *= 0.05
    return worth


def _raising(answers: Sequence[str]) -> float:
    return sum(answer.startswith("raises ") for answer in answers) / max(len(answers), 1)


def _confidence(group: _Group, share: float, comparison: Comparison) -> Confidence:
    known = [answer for answer in group.behaviour.answers if answer != UNKNOWN]
    # Two edits that had to be found together fit the tests more often than the intention.
    single = " + " not in group.members[0].candidate.operator
    # What answers everything alike (None, say) shows nothing of what it does.
    several = comparison.observed >= ENOUGH_OBSERVED or share >= ALL_SHARE
    pinned = len(known) >= ENOUGH_INPUTS and len(set(known)) > 1 and several
    if share >= HIGH_SHARE and pinned and single:
        return "high"
    return "medium" if share >= MEDIUM_SHARE else "low"


def _may_drop(group: _Group, reads: Callable[[Candidate], Counter[str]]) -> bool:
    """Whether the first drops an operand that another one keeps, and no input shows whether it matters."""
    first, *others = (reads(member.candidate) for member in group.members)
    dropped = reads(group.members[0].candidate.but(edits=())) - first
    return any(first < other and (other - first) & dropped for other in others)


def _difference(mine: Behaviour, other: Behaviour, comparison: Comparison) -> str:
    """``f(5, 5) → 5 here, 4 in the chosen patch``; empty where no input tells them apart."""
    for call, a, b in zip(comparison.calls, mine.answers, other.answers, strict=False):
        if a != b and UNKNOWN not in (a, b):
            return f"{call} → {_short(b)} here, {_short(a)} in the chosen patch"
    return ""


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _note(others: Sequence[tuple[Plausible, str]]) -> str:
    shown = next((text for _, text in others if text), "")
    if not shown:
        return ""
    return f"The tests leave open what should happen: another small change also passes them; {shown.replace(' here,', ' there,')}."
