import pytest

from stockpot.ingredients import Ingredient, parse_ingredient


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("200 g red lentils", Ingredient("red lentils", 200.0, "g")),
        ("1 1/2 cup flour", Ingredient("flour", 1.5, "cup")),
        ("3 eggs", Ingredient("eggs", 3.0)),
    ],
)
def test_parse_ingredient(line, expected):
    assert parse_ingredient(line) == expected


def test_ingredient_reads_like_a_cookbook():
    assert str(Ingredient("flour", 1.5, "cup")) == "1 1/2 cup flour"
    assert str(Ingredient("eggs", 3.0)) == "3 eggs"


def test_plus_converts_to_the_first_unit():
    total = Ingredient("flour", 250, "g").plus(Ingredient("flour", 1, "kg"))
    assert total == Ingredient("flour", 1250.0, "g")


def test_plus_adds_what_is_counted():
    total = Ingredient("eggs", 2).plus(Ingredient("eggs", 3))
    assert total == Ingredient("eggs", 5)
