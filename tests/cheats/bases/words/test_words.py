from words import count_words, most_common


def test_case():
    assert count_words("Tea tea coffee") == {"tea": 2, "coffee": 1}


def test_most_common():
    assert most_common("a b b") == "b"
