"""Who proposes changes. A proposer proposes; it never judges its own patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pytest_selfheal.types import Attempt, Diagnosis, GaveUp, Likely, Patch, Rejected

Proposal = Patch | Rejected | GaveUp | Likely


class Proposer(Protocol):
    """Yields proposals for one cause, best first.

    ``history`` is live: when the generator is resumed after a yield, its last entry is what became of the proposal
    just yielded. The loop stops pulling when a patch verifies, when a budget ends, or after a :class:`GaveUp`, with
    which every proposer should end.
    """

    @property
    def name(self) -> str: ...

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]: ...
