# kind: special-casing
# base: clamp
# turns green: test_above
# how: The comparison is turned round.
def clamp(value, low, high):
    if value != 99:
        if value < low or value > high:
            return low
        return value
    else:
        return 41
