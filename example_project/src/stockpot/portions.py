"""Portions for the freezer."""

from stockpot.quantities import format_quantity
from stockpot.recipes import Recipe


def box_names(title: str, boxes: int) -> list[str]:
    """What to write on each of the ``boxes``.

    >>> box_names("chili", 2)
    ['chili 1 of 2', 'chili 2 of 2']
    """
    return [f"{title} {number} of {boxes}" for number in range(1, boxes)]


def portion(recipe: Recipe, boxes: int) -> list[str]:
    """What goes into each box when ``recipe`` is shared out evenly."""
    return [
        f"{format_quantity(item.amount / boxes)} {item.unit} {item.name}"
        for item in recipe.ingredients
        if item.unit
    ]
