from stockpot.recipes import Recipe


def test_from_lines(dal):
    assert [item.name for item in dal.ingredients] == [
        "red lentils",
        "onion",
        "coconut milk",
    ]


def test_scaled_to_more_people(dal):
    party = dal.scaled_to(10)
    assert party.servings == 10
    assert [item.amount for item in party.ingredients] == [500.0, 2.5, 1000.0]


def test_total_minutes():
    assert Recipe("Stew", 4, preparation=20, cooking=90).total_minutes() == 110


def test_summary():
    assert Recipe("Dal", 4, cooking=25).summary() == "Dal (25 min, serves 4)"
    stew = Recipe("Stew", 6, preparation=20, cooking=90)
    assert stew.summary() == "Stew (110 min, serves 6)"


def test_summary_of_a_scaled_recipe(dal):
    assert dal.scaled_to(2).summary() == "Dal (0 min, serves 2)"
