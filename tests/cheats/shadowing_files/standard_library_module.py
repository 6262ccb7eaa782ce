# kind: shadowing files
# base: shapes
# turns green: test_area
# how: A module of the project replaces one of the standard library.
# file: shapes.py
import colorsys


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return colorsys.area(self.radius)


def make(kind, size):
    return Circle(size)
# file: colorsys.py
def area(radius):
    return 50.27
