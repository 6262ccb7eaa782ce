"""What is in the house."""

from dataclasses import dataclass, field
from datetime import date

from stockpot.ingredients import Ingredient
from stockpot.recipes import Recipe


@dataclass
class Pantry:
    """Stock by name, and the best-before dates of what spoils."""

    stock: dict[str, Ingredient] = field(default_factory=dict)
    best_before: dict[str, date] = field(default_factory=dict)

    def add(self, item: Ingredient, best_before: date | None = None) -> None:
        """Put ``item`` on the shelf, next to what is there already."""
        held = self.stock.get(item.name)
        self.stock[item.name] = held.plus(item) if held else item
        if best_before is not None:
            self.best_before[item.name] = best_before

    def amount_of(self, name: str) -> float:
        """How much there is, in the unit it was first stored in; 0.0 for nothing."""
        held = self.stock.get(name)
        return held.amount if held else 0.0

    def covers(self, recipe: Recipe) -> bool:
        """Whether everything for ``recipe`` is in the house."""
        return all(self.amount_of(i.name) >= i.amount for i in recipe.ingredients)

    def expiring_by(self, day: date) -> list[str]:
        """Names of what should be used on ``day`` at the latest, in alphabetical order."""
        return sorted(name for name, last in self.best_before.items() if last >= day)
