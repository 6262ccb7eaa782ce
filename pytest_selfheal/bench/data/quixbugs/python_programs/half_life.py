def half_life(amount, limit):
    periods = 0
    while amount >= limit:
        amount = amount / 2
        periods += 1
    return periods


"""
How many halvings until an amount is not above a limit.

Example:
    >>> half_life(8, 2)
    2
"""
