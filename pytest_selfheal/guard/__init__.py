"""Policy: what no patch may do, whatever the tests say.

Nothing of a model's, a plugin's or a remembered patch runs before it has passed here. The embedded engine runs its own small
edits to find them; of these, no verdict counts before they have passed.

Each rule is one small module with a ``check`` that looks at what a patch *newly introduces* and returns a reason or
``None``; :mod:`pytest_selfheal.guard.review` asks them in order.
"""

from __future__ import annotations

from pytest_selfheal.guard.review import Review as Review
from pytest_selfheal.guard.review import Reviews as Reviews
from pytest_selfheal.guard.review import review as review

__all__ = ["Review", "Reviews", "review"]
