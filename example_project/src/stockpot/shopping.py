"""From recipes and pantry to what has to be bought."""

from stockpot.ingredients import Ingredient
from stockpot.pantry import Pantry
from stockpot.recipes import Recipe


def needed_for(recipes: list[Recipe]) -> dict[str, Ingredient]:
    """Everything that ``recipes`` take together, by name."""
    needed: dict[str, Ingredient] = {}
    for recipe in recipes:
        for item in recipe.ingredients:
            held = needed.get(item.name)
            needed[item.name] = held.plus(item) if held else item
    return needed


def shopping_list(recipes: list[Recipe], pantry: Pantry) -> list[str]:
    """Lines such as ``1 1/2 kg flour`` for what the pantry lacks, by name."""
    lines = []
    for name, item in sorted(needed_for(recipes).items()):
        lacking = item.amount - pantry.amount_of(name)
        if lacking > 0:
            lines.append(str(Ingredient(name, lacking, item.unit)))
    return lines


def packs_needed(amount: int, pack: int) -> int:
    """How many packs to buy. Packs are not split: a started pack is a whole one.

    >>> packs_needed(250, 100)
    3
    >>> packs_needed(200, 100)
    2
    """
    return -(-amount // pack)
