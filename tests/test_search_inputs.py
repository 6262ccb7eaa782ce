"""Inputs made from observed ones."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_selfheal.propose.search.inputs import beyond, mutants, promised
from pytest_selfheal.propose.search.observe import Call

KEY = ("m.py", 1)


def made(annotation: Any, *values: Any) -> list[Any]:
    calls = [Call(KEY, {"x": value, "y": 1}, ("x", "y")) for value in values]
    found = list(promised(calls, lambda key: {"x": annotation, "return": float}))
    assert all(call.arguments["y"] == 1 and call.order == ("x", "y") for call in found)
    return [call.arguments["x"] for call in found]


@pytest.mark.parametrize(
    ("annotation", "values", "wanted"),
    [
        (float, (3, 5), [2.5, 4.5]),
        ("float | str", (3, "5"), [2.5]),
        ("list[float]", ([1, 2], []), [[1, 1.5]]),
        (list[float], ((1, 2),), [(1, 1.5)]),
        (float, (3, 2.5), []),  # the tests have fractions themselves
        (int, (3, 5), []),
        ("int | None", (3,), [None]),
        ("Optional[str]", ("a", None), []),
    ],
)
def test_values_that_annotations_allow_and_no_test_uses(annotation: Any, values: Any, wanted: Any) -> None:
    assert made(annotation, *values) == wanted


def unseen(*values: Any) -> list[Any]:
    calls = [Call(KEY, {"x": value, "y": 1}, ("x", "y")) for value in values]
    found = list(beyond(calls))
    assert all(call.arguments["y"] == 1 and call.order == ("x", "y") for call in found)
    assert [call.arguments["x"] for call in calls] == list(values)
    return [call.arguments["x"] for call in found]


def test_texts_of_letters_get_the_characters_that_no_test_uses() -> None:
    texts = "".join(unseen("Abc", "xY"))
    assert any(c.isdigit() for c in texts) and any(c.isspace() for c in texts)
    assert all(any(c.isupper() for c in text) for text in unseen("abc 1"))
    assert "".join(unseen(["ABC", "D"])[0]) != "ABCD"


@pytest.mark.parametrize(
    "values",
    [
        ("(()())", "()"),  # a language of its own
        ("12", "345"),
        ("Abc 1", "x"),  # all kinds are there
        (3, 5),  # may be a count
        ([-1, 2], [3]),
        ([True, False],),
        ({"a": 1},),
        ([], ""),
    ],
)
def test_nothing_is_made_up_where_it_may_not_be_meant(values: Any) -> None:
    assert unseen(*values) == []


@pytest.mark.parametrize("kind", [list, tuple])
def test_numbers_of_a_sequence_are_tried_below_zero(kind: type) -> None:
    made = unseen(kind([1, 2, 3]), kind([0.5]))
    assert made and all(type(value) is kind and sum(x < 0 for x in value) == 1 for value in made)


def test_a_number_seen_once_is_not_the_only_one_of_its_size() -> None:
    def numbers(*seen: float) -> set[float]:
        return {m.arguments["x"] for m in mutants([Call(KEY, {"x": x}, ("x",)) for x in seen], 140)}

    assert numbers(5) == {1, 2, 3, 4, 6, 7, 8, 9, 10}
    assert len(numbers(3.5)) > 50 and all(0 < x <= 7.5 for x in numbers(3.5))
    assert max(numbers(*range(20, 40))) == 40  # enough is known of the range
