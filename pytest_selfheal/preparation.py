"""What this process can read while the first child runs, so that the stages after it find it read.

By the failures as the user's run has shown them: in the copy they are the same, or nobody works on them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from pytest_selfheal.rounds import Tools
from pytest_selfheal.triage import Triage
from pytest_selfheal.types import Diagnosis, Patch

logger = logging.getLogger(__name__)

MOST = 8
"""Causes whose sources are looked up beforehand; they mostly lie in the same files."""


class Preparation:
    """Reads sources, the import map and the stubs in a thread of its own; of patches that are known, what they touch."""

    def __init__(
        self,
        tools: Tools,
        triage: Triage,
        diagnoses: Callable[[], Sequence[Diagnosis]],
        known: Callable[[Diagnosis], Patch | None],
        begin: Callable[[Diagnosis], None],
    ) -> None:
        """``known``: the patch that an earlier run has found for a cause; ``begin``: starts a search for the only one."""
        self._given = tools, triage, diagnoses, known, begin
        self._sources = threading.Event()
        self._thread = threading.Thread(target=self._work, name="selfheal-preparation", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the sources are read: two readers of the same would only hinder one another."""
        self._sources.wait()

    def _work(self) -> None:
        from pytest_selfheal.sources import with_sources

        tools, triage, diagnoses, known, begin = self._given
        try:
            causes = diagnoses()
            for diagnosis in causes[:MOST]:
                whole = with_sources(diagnosis)
                patch = known(diagnosis)
                if patch is None and len(causes) == 1:
                    begin(whole)
                triage.before(diagnosis, tools.workshop)
                if patch is None:
                    triage.stub(diagnosis, tools.workshop)
                elif tools.reviews.of(patch, diagnosis).reason is None:
                    tools.affected.of(patch.paths, diagnosis.nodeids, patch.changes)
            self._sources.set()
            tools.affected.read()
        except Exception as error:  # whoever needs it reads it again, and shows what is wrong
            logger.debug("nothing is prepared: %s", error)
        finally:
            self._sources.set()
