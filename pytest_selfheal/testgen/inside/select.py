"""Which cases are worth a reader's time: the cheapest ones that together prove all that any of them proves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

MAX_CASES = 12
BASE = 14
"""What a case costs beside its own characters."""


def cover(proofs: Sequence[frozenset[Hashable]], costs: Sequence[int], limit: int = MAX_CASES) -> list[int]:
    """Numbers of the chosen ones, by greedy weighted set cover; none that proves nothing of its own."""
    chosen: list[int] = []
    left = set().union(*proofs) if proofs else set()
    while left and len(chosen) < limit:
        best = max(range(len(proofs)), key=lambda i: (len(proofs[i] & left) / (BASE + costs[i]), -costs[i], -i))
        if not proofs[best] & left:
            break
        chosen.append(best)
        left -= proofs[best]
    return _without_redundant(chosen, proofs, costs)


def _without_redundant(chosen: list[int], proofs: Sequence[frozenset[Hashable]], costs: Sequence[int]) -> list[int]:
    kept = list(chosen)
    for i in sorted(chosen, key=lambda i: -costs[i]):
        others: set[Hashable] = set().union(*(proofs[j] for j in kept if j != i))
        if proofs[i] <= others:
            kept.remove(i)
    return kept
