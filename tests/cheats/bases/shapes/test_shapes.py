from shapes import Circle, make


def test_area():
    assert round(make("circle", 4).area(), 2) == 50.27


def test_equal():
    assert Circle(3) == Circle(3)
