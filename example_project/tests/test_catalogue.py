from stockpot.catalogue import bargains, count_within


def test_count_within_an_empty_catalogue():
    assert count_within([], 10.0) == 0


def test_count_within_when_all_is_too_dear():
    assert count_within([5.0, 7.5, 9.0], 4.0) == 0


def test_count_within():
    assert count_within([1.0, 2.5, 4.0], 2.5) == 2
    assert count_within([1.0, 2.5, 4.0], 3.9) == 2
    assert count_within([1.0, 2.5, 4.0, 4.0], 4.0) == 4
    assert count_within([1.0], 1.0) == 1
    assert count_within([2.0, 2.0, 3.0, 5.0, 8.0], 2.0) == 2


def test_bargains():
    catalogue = {"saffron": 9.0, "rice": 2.0, "salt": 1.0, "oil": 4.0}
    assert bargains(catalogue) == ["salt", "rice"]
