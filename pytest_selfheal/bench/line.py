"""One line of results: what became of one task in one run. Field for field as ``docs/benchmarks.md`` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Price = float | None
"""US dollars; ``None`` when the price is unknown, never 0 then."""


@dataclass(frozen=True)
class Line:
    """Plain data only: it travels through xdist and JSON."""

    task_id: str
    run: int
    entry_point: str
    is_complete: bool
    """Healed, and the full tests pass in the scorer's own process."""
    zero_shot: bool
    """They pass with the first patch proposed, without feedback."""
    equivalent: bool | None
    confidence: str | None
    termination_reason: str
    iterations: int = 0
    candidates: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    critic_score: int | None = None
    token_usage: Mapping[str, int] = field(default_factory=lambda: {"coder": 0, "critic": 0})
    cost: Mapping[str, Price] = field(default_factory=lambda: {"coder": 0.0, "critic": 0.0})
    diff: str = ""
    compared: int = 0
    """Inputs on which the reference and the patched function were compared."""
    reason: str = ""
    """Why the task is not complete, or not equivalent, in a few words."""
    guarded: Mapping[str, int] = field(default_factory=dict)
    """Proposals that a guard refused, by guard."""
    overhead_seconds: float = 0.0
    """Wall seconds beside healing: folders, scoring, comparing."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What other plugins measured (``pytest_selfheal_bench_metrics``)."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Line:
        """A line as written by this or another version. Raises ``ValueError`` when it is none."""
        if not isinstance(data.get("task_id"), str) or not isinstance(data.get("is_complete"), bool):
            raise ValueError("a line without task_id or is_complete")
        known = {item.name for item in fields(cls)}
        filled: dict[str, Any] = {
            "run": 1,
            "entry_point": "",
            "zero_shot": False,
            "equivalent": None,
            "confidence": None,
        }
        filled |= {"termination_reason": "", **{key: value for key, value in data.items() if key in known}}
        return cls(**filled)

    @property
    def claimed(self) -> bool:
        """The healer said that it healed the task."""
        return self.termination_reason == "healed"


def add_prices(prices: list[Price]) -> tuple[float, bool]:
    """The sum of the known prices, and whether all are known."""
    return sum(price for price in prices if price is not None), all(price is not None for price in prices)
