"""Who proposes in this run: the embedded engine, other plugins' proposers, a model and its critic, with one budget for all."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_selfheal.heldback import hold_back
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.propose import Proposer
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis

if TYPE_CHECKING:
    from pytest_selfheal.propose.search.proposer import SearchProposer


class Models:
    """Proposers, critic and budget; made once, when first needed."""

    def __init__(
        self,
        settings: Settings,
        config: Any,
        rootdir: Path,
        *,
        redactor: Any,
        trace: Callable[..., None],
        note: Callable[..., None],
    ) -> None:
        self.settings = settings
        self.config = config
        self.rootdir = rootdir
        self.redactor = redactor
        self.trace = trace
        self.note = note
        self._budget: Any = None
        self._critic: Any = None
        self._announcement: Any = None
        self._begun: SearchProposer | None = None
        self._beginning = threading.Lock()
        self._closed = False
        self._lock = threading.Lock()

    def budget(self) -> Any:
        from pytest_selfheal.propose.model import Budget

        with self._lock:
            if self._budget is None:
                self._budget = Budget(self.settings)
            return self._budget

    @property
    def _asked(self) -> bool:
        return self.settings.model != "builtin" or self.settings.critic is not None

    def warm_up(self) -> None:
        """The model library takes seconds to import; they pass while the failures are run again."""
        if self._asked:
            from pytest_selfheal.propose.model import warm_up

            warm_up()

    def announce(self, failures: int) -> None:
        """Say where source code will go and what it may cost, before the first call to a model."""
        if self._asked and failures:
            from pytest_selfheal.propose.model import Announcement

            self._announcement = Announcement(self.settings, failures, self.note)

    def wait_for_announcement(self) -> None:
        if self._announcement is not None:
            self._announcement.wait()

    def begin(self, workshop: Workshop, diagnosis: Diagnosis) -> None:
        """Start the engine for a cause before anybody asks it, where a core is free and children cannot meet."""
        if self.settings.strategy != "auto" or not workshop.sandbox.apart or (os.cpu_count() or 1) < 2:
            return
        from pytest_selfheal.propose.search.proposer import SearchProposer

        early = SearchProposer(workshop, self.settings)
        with self._beginning:  # whoever ends all waits for the copy that is made here
            if not self._closed:
                early.begin(hold_back(diagnosis)[0])
                self._begun = early

    def _take(self) -> SearchProposer | None:
        with self._beginning:
            begun, self._begun = self._begun, None
        return begun

    def drop(self) -> None:
        """End what was begun and is not needed."""
        if (begun := self._take()) is not None:
            begun.drop()

    def close(self) -> None:
        """End what was begun; nothing begins any more."""
        self._closed = True
        self.drop()

    def stop(self) -> None:
        """Give up calls in flight; nobody waits for an answer after Ctrl-C."""
        if self._budget is not None:
            self._budget.stop("interrupted", "The run was interrupted before this failure was done.")

    def _seams(self) -> dict[str, Any]:
        return {"redactor": self.redactor, "trace": self.trace, "before": self.wait_for_announcement}

    def critic(self) -> Any:
        if self.settings.critic is None:
            return None
        from pytest_selfheal.propose.model import Critic

        if self._critic is None:
            self._critic = Critic(self.settings, self.budget(), **self._seams())
        return self._critic

    def asker(self) -> Any:
        """Who proposes tests where the embedded engine finds none."""
        if self.settings.model == "builtin":
            return None
        from pytest_selfheal.testgen.model import Asker

        if self._announcement is None:
            self.announce(1)
        return Asker(self.settings, self.budget(), self.rootdir, **self._seams())

    @property
    def can_write(self) -> bool:
        """Whether anybody beside the embedded engine proposes in this run."""
        hook = self.config.hook.pytest_selfheal_proposers if self.config is not None else None
        return self.settings.model != "builtin" or bool(hook and hook.get_hookimpls())

    def proposers(self, workshop: Workshop, diagnosis: Diagnosis, stub: bool = False) -> list[Proposer]:
        """Who is asked, in order; a ``stub`` is not for the embedded engine, which changes code and does not write it."""
        settings, config = self.settings, self.config
        found: list[Proposer] = []
        if config is not None:
            for more in config.hook.pytest_selfheal_proposers(settings=settings):
                found += more or ()
        if settings.model != "builtin":
            from pytest_selfheal.propose.model import ModelProposer

            found.append(ModelProposer(workshop, settings, self.budget(), **self._seams()))
        if settings.strategy == "auto" and not stub:
            from pytest_selfheal.propose.search.proposer import SearchProposer

            found.insert(0, self._take() or SearchProposer(workshop, settings))
        self.drop()
        return found
