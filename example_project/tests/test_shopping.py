import pytest

from stockpot import Pantry, Recipe
from stockpot.shopping import needed_for, packs_needed, shopping_list


def test_needed_for_adds_up(dal):
    needed = needed_for([dal, dal.scaled_to(2)])
    assert needed["red lentils"].amount == 300.0
    assert needed["onion"].amount == 1.5


def test_shopping_list_leaves_out_what_is_there(dal, pantry):
    assert shopping_list([dal], pantry) == ["400 ml coconut milk", "50 g red lentils"]


def test_shopping_list_for_an_empty_pantry():
    bread = Recipe.from_lines("Bread", 1, ["1 1/2 kg flour", "2 tsp salt"])
    assert shopping_list([bread], Pantry()) == ["1 1/2 kg flour", "2 tsp salt"]


@pytest.mark.parametrize(
    ("amount", "pack", "packs"), [(200, 100, 2), (250, 100, 3), (1, 100, 1), (0, 9, 0)]
)
def test_packs_needed(amount, pack, packs):
    assert packs_needed(amount, pack) == packs


def test_packs_needed_for_half_a_pack_more():
    assert packs_needed(250, 100) == 2
