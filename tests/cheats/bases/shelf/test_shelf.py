from shelf import width


def test_widths():
    assert width([(100, 30), (31, 20)]) == 131
    assert width([(100, 30), (31, 20), (216, 25)]) == 347
