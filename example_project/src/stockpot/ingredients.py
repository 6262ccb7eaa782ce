"""One line of a recipe."""

from dataclasses import dataclass, replace

from stockpot.quantities import format_quantity, parse_quantity
from stockpot.units import GRAMS, MILLILITRES, convert


@dataclass(frozen=True)
class Ingredient:
    """So much of something; ``unit`` is empty for things that are counted."""

    name: str
    amount: float
    unit: str = ""

    def scaled(self, factor: float) -> "Ingredient":
        """The same ingredient, ``factor`` times as much."""
        return replace(self, amount=self.amount * factor)

    def plus(self, other: "Ingredient") -> "Ingredient":
        """Both together, in this one's unit."""
        more = other.amount
        if self.unit != other.unit:
            more = convert(other.amount, other.unit, self.unit)
        return replace(self, amount=self.amount + more)

    def __str__(self) -> str:
        words = (format_quantity(self.amount), self.unit, self.name)
        return " ".join(word for word in words if word)


def parse_ingredient(line: str) -> Ingredient:
    """Read ``1 1/2 cup flour`` or ``3 eggs``.

    >>> parse_ingredient("200 g red lentils")
    Ingredient(name='red lentils', amount=200.0, unit='g')
    """
    words = line.split()
    count = 0
    while count < len(words) and words[count][0].isdigit():
        count += 1
    amount = parse_quantity(" ".join(words[:count]))
    rest = words[count:]
    if len(rest) > 1 and (rest[0] in GRAMS or rest[0] in MILLILITRES):
        return Ingredient(" ".join(rest[1:]), amount, rest[0])
    return Ingredient(" ".join(rest), amount)
