"""Amounts as people write them: ``2``, ``1/2``, ``1 1/2``."""

from fractions import Fraction


def parse_quantity(text: str) -> float:
    """Read a whole number, a decimal, a fraction, or a number and a fraction.

    >>> parse_quantity("1 1/2")
    1.5
    """
    parts = text.split()
    if not parts:
        raise ValueError("no amount given")
    return float(sum(Fraction(part) for part in parts))


def format_quantity(amount: float) -> str:
    """Write ``amount`` to the nearest eighth, the way cookbooks do.

    >>> format_quantity(1.5)
    '1 1/2'
    """
    whole, rest = divmod(Fraction(round(amount * 8), 8), 1)
    if not rest:
        return str(whole)
    return f"{whole} {rest}" if whole else str(rest)


def round_up(amount: float, step: float) -> float:
    """The smallest multiple of ``step`` that is no less than ``amount``.

    >>> round_up(130, 50)
    150
    """
    return math.ceil(amount / step) * step
