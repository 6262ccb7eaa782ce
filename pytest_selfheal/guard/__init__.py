"""Policy: what no patch may do, whatever the tests say. Nothing of a patch runs before it has passed here.

Each rule is one small module with a ``check`` that looks at what a patch *newly introduces* and returns a reason or
``None``; :mod:`pytest_selfheal.guard.review` asks them in order.
"""

from __future__ import annotations

from pytest_selfheal.guard.review import Review as Review
from pytest_selfheal.guard.review import Reviews as Reviews
from pytest_selfheal.guard.review import review as review

__all__ = ["Review", "Reviews", "review"]
