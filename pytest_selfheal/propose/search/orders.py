"""What the parent asks of the engine in its child."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from pytest_selfheal.types import Diagnosis


@dataclass(frozen=True)
class Orders:
    """What the parent asks for. Travels pickled; the channel is private to the two."""

    diagnosis: Diagnosis
    passing: tuple[str, ...]
    """Nodeids of tests that must go on passing and are quick enough to be run again for each plausible patch."""
    others: tuple[str, ...]
    """Nodeids of tests that fail by what may be the same cause or another one: what repairs them too is likelier right."""
    durations: dict[str, float]
    top: str
    rootdir: str
    editable: tuple[str, ...]
    """Python files below top that a patch may touch, relative to top."""
    cpu_seconds: float
    wall_seconds: float
    go_on: str
    """Path of a file: as soon as it has the number of the last group of patches in it, the search is resumed."""
    test_timeout: float
    """Seconds after which a test of the first run was stopped."""

    def to_json(self) -> dict[str, Any]:
        return {"search": b64encode(pickle.dumps(self)).decode("ascii")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Orders:
        orders = pickle.loads(b64decode(data["search"]))
        assert isinstance(orders, cls)
        return orders
