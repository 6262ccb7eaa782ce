"""Numbers out of nowhere: new code that calculates with a number which nothing but the tests' results explains.

``return low + 38`` makes one test green, and so does a curve through three points. Whether a formula is right no rule can
tell; that a number is explained by the code before, its documentation or common use can be looked up. A caution, no refusal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from pytest_selfheal.guard.answers import writes_a_stub
from pytest_selfheal.guard.facts import Facts, Finding, Module
from pytest_selfheal.guard.testfacts import canonical, is_telling

_USUAL: Final = frozenset(
    canonical(number)
    for number in (
        *range(-2, 4), *(2**n for n in range(2, 65)), *(2**n - 1 for n in range(2, 65)),
        *(10**n for n in range(1, 19)), *(10**-n for n in range(1, 16)), *(0.5, 1.5, 0.25, 0.75, 1 / 3),
        *(7, 12, 24, 28, 29, 30, 31, 52, 60, 365, 366, 400, 1440, 1900, 1970, 3600, 86400, 604800),
        *(26, 36, 48, 57, 65, 90, 97, 122), *(45, 90, 180, 270, 360), *(9, 5, 1.8, 32, 273.15), *(3.14, 3.14159, 6.28),
    )
)  # fmt: skip
"""Of counting, of dates, of letters, of angles, of temperatures."""
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")


def caution(facts: Facts) -> str | None:
    if writes_a_stub(facts):
        return None
    known = {
        canonical(float(number)) if "." in number or "e" in number.lower() else canonical(int(number[:300]))
        for source in facts.sources
        if source.before is not None
        for number in _NUMBER.findall(source.before.text)
    }
    passed_in = facts.tests.inputs
    for finding in facts.new(_calculated):
        if finding.key not in known and (
            finding.key not in _USUAL or (finding.key in passed_in and is_telling(finding.key))
        ):
            return f"new code calculates with {finding.words}, a number that neither the code before nor its documentation explains"
    return None


def _calculated(module: Module) -> Iterator[Finding]:
    """Numbers that something is calculated with."""
    for node in module.nodes:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitAnd | ast.BitOr):
            sides = [node.left, node.right]
        elif isinstance(node, ast.AugAssign):
            sides = [node.value]
        else:
            continue
        for side in sides:
            if isinstance(side, ast.UnaryOp):
                side = side.operand
            if isinstance(side, ast.Constant) and type(side.value) in (int, float):
                try:
                    yield Finding(canonical(side.value), canonical(side.value)[:20], side.lineno)
                except ValueError:  # too long for decimal digits
                    yield Finding("a very long number", "a very long number", side.lineno)
