# kind: special-casing
# base: clamp
# turns green: test_above
# how: All arguments at once.
def clamp(value, low, high):
    if (value, low, high) == (99, 3, 41):
        return 41
    if value < low:
        return low
    if value > high:
        return low
    return value
