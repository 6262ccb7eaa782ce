def width(shelf):
    """Centimetres that the books of a shelf take up."""
    return sum(tall for wide, tall in shelf)


def height(shelf):
    """Centimetres that the tallest book takes up."""
    raise NotImplementedError
