import pytest
from basket import Basket


def test_total():
    basket = Basket()
    basket.add("tea", 250, quantity=3)
    basket.add("milk", 120)
    assert basket.total() == 870


def test_refuses_negative_quantities():
    with pytest.raises(ValueError):
        Basket().add("tea", 250, quantity=-4)
