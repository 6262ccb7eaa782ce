"""Signs that a passing patch fits the tests rather than the intention."""

from __future__ import annotations

import pytest

from pytest_selfheal.propose.search.candidate import Candidate, Edit
from pytest_selfheal.propose.search.choose import choose
from pytest_selfheal.propose.search.smells import SAME_SIDES, TWIN, UNREAD, doubt, doubt_of
from pytest_selfheal.propose.search.source import Source
from tests.test_search_parts import SAME, compared, plausible


def body(text: str) -> str:
    return f"def f(a, b):\n    {text}\n"


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("return a - b", "return b - a", 1.0),
        ("return a * b", "return a * a", UNREAD),  # a square is no smell, a lost parameter is
        ("return a + b, b", "return a + a, b", TWIN),
        ("return a < b or b", "return b < b or a", SAME_SIDES),
        ("return (a and b) or b", "return (a and a) or b", SAME_SIDES),
        ("return sum(a for x in b)", "return sum(x for x in b)", UNREAD),
        ("return [x for x in b if a]", "return [a for x in b if a]", UNREAD),
        ("return a - a + b", "return a - a - b", 1.0),  # it was there before
        ("_c = a; return _c + b", "_c = a; return a + b", 1.0),  # named as one that nobody reads
        ("return a +", "return a + a", 1.0),
    ],
)
def test_only_what_a_patch_brings_in_is_a_smell(before: str, after: str, left: float) -> None:
    assert doubt(body(before), body(after)) == left


def test_methods_are_looked_at_alone_and_in_their_indentation() -> None:
    text = (
        "class A:\n    def f(self, a, b):\n        return self, a - b\n\n    def g(self, c):\n        return self, c\n"
    )
    start = text.index("a - b")
    edit = Edit(start + 4, start + 5, "a")
    source = Source("m.py", text)
    found = [doubt_of(source, Candidate("m.py", (edit,), "x", 0.1, 3, f, "", True)) for f in ("A.f", "<module>")]
    assert found == [UNREAD * TWIN] * 2


def test_a_smell_costs_the_first_place_and_high_confidence() -> None:
    found = [plausible("a/x", 0.1, 1), plausible("b/y", 0.06, 2)]
    other = [*SAME[:-1], "other"]
    smelly = {"a/x": 0.25}
    choices = choose(found, compared(SAME, other), doubt=lambda p: smelly.get(p.candidate.operator, 1.0))
    assert choices[0].plausible.candidate.operator == "b/y"
    alone = choose(found[:1], compared(SAME), doubt=lambda p: smelly.get(p.candidate.operator, 1.0))
    assert alone[0].confidence == "medium"
