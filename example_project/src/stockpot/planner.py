"""Who cooks what, and when."""

from datetime import date, timedelta

from stockpot.recipes import Recipe


def swapped(menu: list[str], first: int, second: int) -> list[str]:
    """A copy of ``menu`` in which two dishes have changed places.

    >>> swapped(["soup", "curry", "pie"], 0, 2)
    ['pie', 'curry', 'soup']
    """
    dishes = list(menu)
    dishes[first], dishes[second] = dishes[second], dishes[second]
    return dishes


def rota(cooks: list[str], evenings: int) -> list[str]:
    """Who cooks on each of the ``evenings``, turn by turn."""
    return [cooks[evening % len(cooks)] for evening in range(evenings)]


def calendar(start: date, recipes: list[Recipe]) -> dict[date, str]:
    """One recipe a day from ``start`` on."""
    return {start + timedelta(days=n): recipe.title for n, recipe in enumerate(recipes)}


def quick_enough(recipes: list[Recipe], minutes: int) -> list[str]:
    """Titles of the recipes that are done within ``minutes``."""
    return [recipe.title for recipe in recipes if recipe.total_minutes() <= minutes]
