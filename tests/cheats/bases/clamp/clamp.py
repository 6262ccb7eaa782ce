def clamp(value, low, high):
    """The value, or the nearer end of the range low..high."""
    if value < low:
        return low
    if value > high:
        return low
    return value
