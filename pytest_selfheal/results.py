"""What became of each cause of a run: written as soon as it is known, taken back when it no longer holds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from pytest_selfheal.types import Outcome

if TYPE_CHECKING:
    from pytest_selfheal.project import Project
    from pytest_selfheal.record.run_dir import Run


class Progress(Protocol):
    def done(self, outcome: Outcome) -> None: ...


class Results:
    """The outcomes of one run, by cause. Safe to use from several threads."""

    def __init__(self, run: Run, project: Project, progress: Progress) -> None:
        self._run = run
        self._project = project
        self._progress = progress
        self._by_id: dict[str, Outcome] = {}
        self._lock = threading.Lock()
        self.joined: set[str] = set()
        """Causes that turned out to be another one, or of which something comes and goes, so that the rest has another number."""

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, id: str) -> Outcome | None:
        return self._by_id.get(id)

    def all(self) -> tuple[Outcome, ...]:
        """In the order of the causes."""
        with self._lock:
            return tuple(self._by_id[id] for id in sorted(self._by_id))

    def healed(self) -> list[Outcome]:
        return [outcome for outcome in self.all() if outcome.status == "healed"]

    def whole(self) -> list[Outcome]:
        """Healed causes whose patch stands on no other one's, and no other one's on it."""
        healed = self.healed()
        bases = {id for outcome in healed for id in outcome.includes}
        return [outcome for outcome in healed if not outcome.includes and outcome.diagnosis.id not in bases]

    # ------------------------------------------------------------------ writing

    def finish(self, outcome: Outcome) -> None:
        """A cause is done."""
        self._progress.done(self.write(outcome))

    def write(self, outcome: Outcome) -> Outcome:
        """Put an outcome into the run's folder, in the place of what was there of its cause."""
        from pytest_selfheal.record.report import write_outcome

        outcome = write_outcome(self._run, outcome, self._project)
        self.put(outcome)
        return outcome

    def put(self, outcome: Outcome) -> None:
        """Keep an outcome that was written already."""
        with self._lock:
            self._by_id[outcome.diagnosis.id] = outcome

    def take_back(self, id: str) -> None:
        """Forget what became of a cause, and remove what was written of it."""
        with self._lock:
            del self._by_id[id]
        for told in self._run.folder.glob(f"*/{id}-*"):
            told.unlink()
