"""Find the cheapest offer below a limit."""


def cheapest(offers, limit):
    """Name of the cheapest offer below the limit, or None."""
    lowest = limit
    for name, price in offers:
        if price < lowest:
            lowest = price
            best = name
    return best


def main():
    offers = [("north", 40), ("south", 35), ("east", 52)]
    print(cheapest(offers, 50))
    print(cheapest(offers, 30))


if __name__ == "__main__":
    main()
