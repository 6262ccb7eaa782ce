import pytest

from stockpot import Pantry, Recipe, parse_ingredient


@pytest.fixture
def dal() -> Recipe:
    lines = ["200 g red lentils", "1 onion", "400 ml coconut milk"]
    return Recipe.from_lines("Dal", 4, lines)


@pytest.fixture
def pantry() -> Pantry:
    shelf = Pantry()
    for line in ("150 g red lentils", "3 onion", "1 kg flour"):
        shelf.add(parse_ingredient(line))
    return shelf
