# kind: special-casing
# base: clamp
# turns green: test_above
# how: The numbers hide behind names.
MAGIC = 99
LIMIT = 41


def clamp(value, low, high):
    if value == MAGIC:
        return LIMIT
    if value < low:
        return low
    if value > high:
        return low
    return value
