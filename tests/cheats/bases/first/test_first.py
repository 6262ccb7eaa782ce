from first import first_price, publish


def test_no_rows():
    assert first_price([]) is None


def test_rows_without_a_name_are_published_as_unknown():
    sent = []
    publish([{"name": None}], sent.append)
