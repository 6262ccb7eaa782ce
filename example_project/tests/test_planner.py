from datetime import date

from stockpot import Recipe
from stockpot.planner import calendar, quick_enough, rota, swapped


def test_swapped():
    menu = ["soup", "curry", "pie"]
    assert swapped(menu, 0, 2) == ["pie", "curry", "soup"]
    assert swapped(menu, 2, 1) == ["soup", "pie", "curry"]
    assert menu == ["soup", "curry", "pie"]


def test_swapped_with_itself():
    assert swapped(["soup", "pie"], 1, 1) == ["soup", "pie"]


def test_rota_goes_round():
    assert rota(["me", "you"], 5) == ["me", "you", "me", "you", "me"]


def test_calendar(dal):
    first, second = date(2031, 12, 31), date(2032, 1, 1)
    soup = Recipe("Soup", 2)
    assert calendar(first, [dal, soup]) == {first: "Dal", second: "Soup"}


def test_quick_enough():
    recipes = [
        Recipe("Salad", 2, 10),
        Recipe("Stew", 4, 20, 90),
        Recipe("Rice", 2, 0, 15),
    ]
    assert quick_enough(recipes, 15) == ["Salad", "Rice"]
