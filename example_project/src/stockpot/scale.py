"""Weighing with the kitchen scale on the USB port."""

from stockpot.ingredients import Ingredient


def weigh(name: str) -> Ingredient:
    """What lies on the scale. Needs the scale's driver package."""
    import tarewire

    return Ingredient(name, tarewire.open_scale().read_grams(), "g")


def without_jar(item: Ingredient, jar_grams: float) -> Ingredient:
    """``item`` as weighed in a jar of ``jar_grams``, without the jar."""
    return Ingredient(item.name, max(item.amount - jar_grams, 0.0), item.unit)
