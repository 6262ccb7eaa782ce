"""Units of weight and volume, and how to get from one to the other."""

GRAMS = {"g": 1.0, "kg": 1000.0, "oz": 28.35, "lb": 453.6}
MILLILITRES = {"ml": 1.0, "l": 1000.0, "tsp": 5.0, "tbsp": 15.0, "cup": 240.0}


def factors_of(unit: str) -> dict[str, float]:
    """The table that holds ``unit``. Raises ``ValueError`` for an unknown unit."""
    for table in (GRAMS, MILLILITRES):
        if unit in table:
            return table
    raise ValueError(f"unknown unit: {unit!r}")


def convert(amount: float, unit: str, to: str) -> float:
    """``amount`` of ``unit``, expressed in the unit ``to`` of the same kind.

    >>> convert(2, "kg", "g")
    2000.0
    """
    table = factors_of(unit)
    if to not in table:
        raise ValueError(f"cannot turn {unit} into {to}")
    return amount * table[unit] / table[to]
