"""What things cost, and a snapshot of it on disk."""

import json
from pathlib import Path


def mean_price(paid: list[float]) -> float:
    """The average of the prices paid; 0.0 when nothing was bought yet.

    >>> mean_price([2.0, 3.0])
    2.5
    """
    return sum(paid) / len(paid)


def save_snapshot(path: Path, prices: dict[str, float]) -> None:
    """Keep ``prices`` for the next run."""
    path.write_text(json.dumps(prices, sort_keys=True), encoding="utf-8")


def load_snapshot(path: Path) -> dict[str, float] | None:
    """The prices that were kept in ``path``; ``None`` when there are none."""
    if not path.exists():
        return None
    return json.loads(path.read_text(encoding="utf-8"))
