def half_life(amount, limit):
    periods = 0
    while amount > limit:
        amount = amount / 2
        periods += 1
    return periods
