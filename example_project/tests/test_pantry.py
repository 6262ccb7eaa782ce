from datetime import date

from stockpot import Pantry, Recipe, parse_ingredient


def test_add_piles_up(pantry):
    pantry.add(parse_ingredient("500 g flour"))
    assert pantry.amount_of("flour") == 1.5
    assert pantry.amount_of("saffron") == 0.0


def test_covers(pantry, dal):
    assert not pantry.covers(dal)
    assert pantry.covers(Recipe.from_lines("Flatbread", 2, ["1/2 kg flour"]))


def test_nothing_expires_in_an_empty_pantry():
    assert Pantry().expiring_by(date(2031, 5, 1)) == []


def test_expiring_by():
    shelf = Pantry()
    shelf.add(parse_ingredient("1 l milk"), date(2031, 5, 3))
    shelf.add(parse_ingredient("250 g butter"), date(2031, 6, 20))
    shelf.add(parse_ingredient("4 eggs"), date(2031, 5, 10))
    assert shelf.expiring_by(date(2031, 5, 1)) == []
    assert shelf.expiring_by(date(2031, 5, 3)) == ["milk"]
    assert shelf.expiring_by(date(2031, 5, 31)) == ["eggs", "milk"]
    assert shelf.expiring_by(date(2031, 7, 1)) == ["butter", "eggs", "milk"]
