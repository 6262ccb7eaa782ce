"""A shop's catalogue: products in the order of their prices."""

from stockpot.prices import mean_price


def count_within(prices: list[float], budget: float) -> int:
    """How many of the ascending ``prices`` are no higher than ``budget``.

    >>> count_within([1.0, 2.5, 4.0], 2.5)
    2
    """
    low, high = 0, len(prices)
    while low < high:
        middle = (low + high) // 2
        if prices[middle] <= budget:
            low = middle
        else:
            high = middle
    return low


def bargains(catalogue: dict[str, float]) -> list[str]:
    """Products that cost less than the average of the catalogue, cheapest first."""
    average = mean_price(list(catalogue.values()))
    cheap = [name for name, price in catalogue.items() if price < average]
    return sorted(cheap, key=lambda name: catalogue[name])
