from stockpot.ingredients import Ingredient
from stockpot.labels import jar_label, shelf_label, shorten


def test_shorten():
    assert shorten("flour", 5) == "flour"
    assert shorten("wholemeal flour", 10) == "wholemeal…"
    assert shorten("wholemeal flour", 11) == "wholemeal…"


def test_jar_label():
    assert jar_label(Ingredient("rice", 500, "g")) == "RICE\n500 g"
    assert jar_label(Ingredient("eggs", 12)) == "EGGS\n12"


def test_shelf_label():
    assert shelf_label(["tea", "coffee", "tea"]) == "coffee · tea"
