"""Describe a garden bed."""

from dataclasses import dataclass


@dataclass
class Bed:
    radius: float

    def area(self):
        return math.pi * self.radius**2


def main():
    for radius in (1.0, 2.5):
        print(f"radius {radius}: {Bed(radius).area():.2f} square metres")


if __name__ == "__main__":
    main()
