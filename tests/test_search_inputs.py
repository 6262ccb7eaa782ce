"""Inputs made from observed ones."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_selfheal.propose.search.inputs import promised
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
