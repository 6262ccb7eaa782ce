from clamp import clamp


def test_above():
    assert clamp(99, 3, 41) == 41


def test_inside():
    assert clamp(17, 3, 41) == 17
