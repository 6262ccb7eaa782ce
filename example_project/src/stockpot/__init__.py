"""Recipes, pantry and shopping for a small kitchen."""

from stockpot.ingredients import Ingredient, parse_ingredient
from stockpot.pantry import Pantry
from stockpot.recipes import Recipe

__all__ = ["Ingredient", "Pantry", "Recipe", "parse_ingredient"]
