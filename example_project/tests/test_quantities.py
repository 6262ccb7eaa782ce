import pytest

from stockpot.quantities import format_quantity, parse_quantity, round_up


@pytest.mark.parametrize(
    ("text", "amount"), [("2", 2.0), ("0.25", 0.25), ("3/4", 0.75), ("1 1/2", 1.5)]
)
def test_parse_quantity(text, amount):
    assert parse_quantity(text) == amount


def test_parse_quantity_wants_an_amount():
    with pytest.raises(ValueError, match="no amount"):
        parse_quantity("  ")


@pytest.mark.parametrize(
    ("amount", "text"), [(2.0, "2"), (0.75, "3/4"), (1.5, "1 1/2"), (0.0, "0")]
)
def test_format_quantity(amount, text):
    assert format_quantity(amount) == text


def test_round_up_to_the_next_step():
    assert round_up(130, 50) == 150
    assert round_up(150, 50) == 150
    assert round_up(1, 50) == 50
    assert round_up(0, 50) == 0
    assert round_up(101, 50) == 150
    assert round_up(9, 4) == 12
    assert round_up(7.1, 0.5) == 7.5
