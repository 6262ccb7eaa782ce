"""What this process can read while the first child runs, so that the stages after it find it read.

By the failures as the user's run has shown them: in the copy they are the same, or nobody works on them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from pytest_selfheal.cluster import cluster
from pytest_selfheal.diagnose import diagnose
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.triage import Triage
from pytest_selfheal.types import Failure

logger = logging.getLogger(__name__)

MOST = 8
"""Causes whose sources are looked up beforehand; they mostly lie in the same files."""


class Preparation:
    """Reads sources, the import map and the stubs in a thread of its own."""

    def __init__(
        self, workshop: Workshop, affected: AffectedTests, triage: Triage, failures: Sequence[Failure]
    ) -> None:
        self._given = workshop, affected, triage, failures
        self._sources = threading.Event()
        self._thread = threading.Thread(target=self._work, name="selfheal-preparation", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the sources are read: two readers of the same would only hinder one another."""
        self._sources.wait()

    def _work(self) -> None:
        from pytest_selfheal.sources import with_sources

        workshop, affected, triage, failures = self._given
        try:
            for group in cluster(failures)[:MOST]:
                diagnosis = diagnose(
                    0,
                    group,
                    root=str(workshop.pristine.top),
                    rootdir=str(workshop.pristine.rootdir),
                    prefix=workshop.project.prefix,
                    is_test_file=workshop.project.is_test_file,
                )
                with_sources(diagnosis)
                triage.stub(diagnosis, workshop)
            self._sources.set()
            affected.read()
        except Exception as error:  # whoever needs it reads it again, and shows what is wrong
            logger.debug("nothing is prepared: %s", error)
        finally:
            self._sources.set()
