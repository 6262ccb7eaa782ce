"""Labels for jars and shelves."""

from stockpot.ingredients import Ingredient


def shorten(text: str, width: int) -> str:
    """``text`` in at most ``width`` characters, with an ellipsis where it was cut."""
    if len(text) <= width
        return text
    return text[: width - 1].rstrip() + "…"


def jar_label(item: Ingredient, width: int = 16) -> str:
    """Two lines: the name in capitals, and the amount.

    >>> print(jar_label(Ingredient("rice", 500, "g")))
    RICE
    500 g
    """
    amount = f"{item.amount:g} {item.unit}".rstrip()
    return f"{shorten(item.name.upper(), width)}\n{amount}"


def shelf_label(names: list[str], separator: str = " · ") -> str:
    """All ``names`` in one line, each once, in alphabetical order."""
    return separator.join(sorted(set(names)))
