"""How likely a change of each kind is to be *the* fix, before anything ran: learned numbers with a fall-back to the family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

DEFAULT = 0.002
"""For a family that nothing was learned about."""


@dataclass(frozen=True)
class Priors:
    """Weights per key (``family/detail``) and per family; each is the chance that one such candidate is right."""

    weights: Mapping[str, float] = field(default_factory=dict)
    _bounds: dict[str, float] = field(default_factory=dict, repr=False, compare=False)

    def of(self, key: str) -> float:
        """The most special weight that is known: ``a/b/c``, else ``a/b``, else ``a``, else :data:`DEFAULT`."""
        while True:
            found = self.weights.get(key)
            if found is not None:
                return found
            key, slash, _ = key.rpartition("/")
            if not slash:
                return DEFAULT

    def bound(self, family: str) -> float:
        """The largest weight that any key of a family can have."""
        found = self._bounds.get(family)
        if found is None:
            head = family + "/"
            own = [w for key, w in self.weights.items() if key == family or key.startswith(head)]
            found = self._bounds[family] = max([*own, self.of(family)])
        return found


@lru_cache(maxsize=1)
def load() -> Priors:
    """The weights that ship with the package (written by ``benchmarks/learn_priors.py``)."""
    data = json.loads(resources.files(__package__).joinpath("priors.json").read_text("utf-8"))
    return Priors({str(key): float(value) for key, value in data["weights"].items()})
