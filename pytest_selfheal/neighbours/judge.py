"""What the answers to other inputs say of a patch. Pure: the answers are texts, ``raises X`` for exceptions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_selfheal.types import Confidence

ENOUGH: Final = 12
"""With fewer other inputs nothing is concluded."""
UNKNOWN: Final = "?"
SLOW: Final = "too slow"
_LOOKUPS: Final = frozenset(("raises KeyError", "raises IndexError", "raises StopIteration"))
_SOME, _MOST = 0.2, 0.5
_NEARLY_ALL: Final = 0.8
_SHOWN: Final = 60


@dataclass(frozen=True)
class Asked:
    """One input, and what the code before and after the patch makes of it."""

    shown: str
    """``fib(7)``."""
    function: str
    old: str
    new: str
    observed: bool = False
    """Seen in a test rather than made."""
    numbers: dict[str, float] = field(default_factory=dict)
    """Arguments that are numbers worth recognising."""

    @property
    def known(self) -> bool:
        """Endless loops say nothing: a made-up input (a base of 1, a negative step) leads honest code into one as well."""
        return not {UNKNOWN, SLOW} & {self.old, self.new}

    @property
    def differs(self) -> bool:
        return self.old != self.new


def doubt(asked: Sequence[Asked], deliberate: Collection[str]) -> tuple[Confidence, str] | None:
    """How sure one can be of a patch at most, and why; ``None`` where nothing speaks against it.

    ``deliberate`` has the names of exceptions that the patched files raise by a statement of their own.
    """
    known = [one for one in asked if one.known]
    changed = [one for one in known if one.observed and one.differs]
    functions = {one.function for one in changed}
    others = [one for one in known if not one.observed and one.function in functions]
    if len(others) < ENOUGH:
        return None
    observed = [one for one in known if one.observed and one.function in functions]
    return (
        _only_tested(changed, others)
        or _stumbles(observed, others, deliberate)
        or _only_known_answers(observed, others)
    )


def _only_tested(changed: Sequence[Asked], others: Sequence[Asked]) -> tuple[Confidence, str] | None:
    if not any(one.differs for one in others):
        return "low", (
            f"on {len(others)} other inputs, such as {_short(others[0].shown)}, it does what the faulty code did, and "
            f"something else only on inputs of the tests, such as {_short(changed[0].shown)}"
        )
    for name in changed[0].numbers:
        values = {one.numbers.get(name) for one in changed}
        away = [one for one in others if one.numbers.get(name) not in values]
        if None not in values and len(away) >= ENOUGH and not any(one.differs for one in away):
            return "low", (
                f"it does what the faulty code did on {len(away)} other inputs, such as {_short(away[0].shown)}, and "
                f"something else only where {name} is what the tests pass in, as in {_short(changed[0].shown)}"
            )
    return None


def _stumbles(
    observed: Sequence[Asked], others: Sequence[Asked], deliberate: Collection[str]
) -> tuple[Confidence, str] | None:
    """Inputs that the faulty code answered, and this one does not; nor does it refuse them in so many words."""
    answered = [one for one in others if not _fails(one.old)]
    fallen = [one for one in answered if _fails(one.new) and one.new.removeprefix("raises ") not in deliberate]
    share = len(fallen) / len(answered) if len(answered) >= ENOUGH else 0.0
    if share >= _SOME:
        return "low" if share >= _MOST else "medium", (
            f"{len(fallen)} of {len(answered)} other inputs that the faulty code answered have no answer now: "
            f"{_short(fallen[0].shown)} {fallen[0].new}"
        )
    lost = [one for one in others if one.new in _LOOKUPS and one.new.removeprefix("raises ") not in deliberate]
    if not any(_fails(one.new) for one in observed) and len(lost) >= _NEARLY_ALL * len(others):
        return "low", (
            f"it answers hardly anything but the tests' own inputs: {_short(lost[0].shown)} {lost[0].new}, "
            f"as {len(lost)} of {len(others)} do"
        )
    return None


def _only_known_answers(observed: Sequence[Asked], others: Sequence[Asked]) -> tuple[Confidence, str] | None:
    answers = {one.new for one in observed if not _fails(one.new)}
    given = {one.new for one in others if not _fails(one.new)}
    before = {one.old for one in others if not _fails(one.old)}
    if len(answers) >= 3 and given and given <= answers and len(before) >= 2 * len(given):
        return "low", (
            f"{len(others)} other inputs get no other answers than those that the tests ask for, such as "
            f"{_short(others[0].shown)} → {_short(others[0].new)}"
        )
    return None


def _fails(answer: str) -> bool:
    return answer.startswith("raises ")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
