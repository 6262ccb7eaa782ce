"""Misspellings: how far one name is from another (optimal string alignment, case costs half)."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str, limit: float = 4.0) -> float:
    """Insertions, deletions, substitutions and exchanged neighbours; ``limit`` when it is at least that."""
    if abs(len(a) - len(b)) >= limit:
        return limit
    before: list[float] = []
    row = [float(j) for j in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        new = [float(i)]
        for j, y in enumerate(b, 1):
            cost = 0.0 if x == y else 0.5 if x.lower() == y.lower() else 1.0
            best = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + cost)
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            new.append(best)
        if min(new) >= limit:
            return limit
        before, row = row, new
    return min(row[-1], limit)


def near(name: str, known: Iterable[str], most: int = 8) -> list[tuple[str, float]]:
    """Names that ``name`` may be a misspelling of, nearest first, with a likeness in 0..1."""
    squeezed = name.replace("_", "").lower()
    found = []
    for other in set(known):
        if other == name or not other:
            continue
        if other.replace("_", "").lower() == squeezed:
            found.append((other, 0.9))
            continue
        limit = 1.0 + max(1.0, min(len(name), len(other)) / 3)
        far = distance(name, other, limit)
        if far < limit:
            found.append((other, 1.0 - far / max(len(name), len(other), 1)))
        elif len(squeezed) > 3 and (squeezed in other.lower() or (len(other) > 3 and other.lower() in squeezed)):
            found.append((other, 0.3))
    return sorted(found, key=lambda item: (-item[1], item[0]))[:most]
