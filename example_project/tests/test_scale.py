from stockpot.ingredients import Ingredient
from stockpot.scale import weigh, without_jar


def test_without_jar():
    assert without_jar(Ingredient("rice", 700, "g"), 200) == Ingredient(
        "rice", 500, "g"
    )
    assert without_jar(Ingredient("rice", 150, "g"), 200) == Ingredient(
        "rice", 0.0, "g"
    )


def test_weigh():
    assert weigh("rice").unit == "g"
