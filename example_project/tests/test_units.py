import pytest

from stockpot.units import convert, factors_of


@pytest.mark.parametrize(
    ("amount", "unit", "to", "expected"),
    [
        (2, "kg", "g", 2000.0),
        (500, "g", "kg", 0.5),
        (2, "tbsp", "tsp", 6.0),
        (1, "cup", "ml", 240.0),
    ],
)
def test_convert(amount, unit, to, expected):
    assert convert(amount, unit, to) == pytest.approx(expected)


def test_convert_keeps_to_one_kind():
    with pytest.raises(ValueError, match="cannot turn g into ml"):
        convert(1, "g", "ml")


def test_unknown_unit():
    with pytest.raises(ValueError, match="unknown unit: 'pinch'"):
        factors_of("pinch")
