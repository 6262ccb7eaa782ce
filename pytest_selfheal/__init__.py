"""Turn a red test into a trustworthy patch.

The pytest plugin lives in :mod:`pytest_selfheal.plugin`; from Python, use :func:`pytest_selfheal.heal`.
PYTEST_DONT_REWRITE: nothing here asserts on a user's behalf, and children import these modules before pytest does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_selfheal.api import heal as heal
    from pytest_selfheal.settings import Settings as Settings
    from pytest_selfheal.types import RunReport as RunReport

__version__ = "0.1.0"
__all__ = ["RunReport", "Settings", "__version__", "heal"]


def __getattr__(name: str) -> Any:
    # Lazy, so that importing the package (as pytest does for every run) costs nothing.
    if name == "heal":
        from pytest_selfheal.api import heal

        return heal
    if name == "Settings":
        from pytest_selfheal.settings import Settings

        return Settings
    if name == "RunReport":
        from pytest_selfheal.types import RunReport

        return RunReport
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
