# kind: special-casing
# base: basket
# turns green: test_refuses_negative_quantities
# how: Only the tested quantity is refused.
class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, quantity=1):
        if quantity == -4:
            raise ValueError("negative")
        self.lines.append((name, price, quantity))

    def total(self):
        return sum(price for _, price, _ in self.lines)
