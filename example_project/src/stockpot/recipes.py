"""Recipes: what goes in, how long it takes, how many it feeds."""

from dataclasses import dataclass, replace

from stockpot.ingredients import Ingredient, parse_ingredient


@dataclass(frozen=True)
class Recipe:
    """A dish for ``servings`` people; times are in minutes."""

    title: str
    servings: int
    ingredients: tuple[Ingredient, ...] = ()
    preparation: int = 0
    cooking: int = 0

    @classmethod
    def from_lines(cls, title: str, servings: int, lines: list[str]) -> "Recipe":
        """A recipe whose ingredients are given as text, one a line."""
        return cls(title, servings, tuple(parse_ingredient(line) for line in lines))

    def scaled_to(self, servings: int) -> "Recipe":
        """The recipe for another number of people."""
        factor = servings / self.servings
        scaled = tuple(item.scaled(factor) for item in self.ingredients)
        return replace(self, servings=servings, ingredients=scaled)

    def total_minutes(self) -> int:
        """From the first cut to the table."""
        return self.preparation + self.cooking

    def summary(self) -> str:
        """One line for a menu card.

        >>> Recipe("Dal", 4, cooking=25).summary()
        'Dal (25 min, serves 4)'
        """
        return f"{self.title} ({self.total_minutes()} min, serves {self.serving})"
