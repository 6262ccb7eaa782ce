"""Verify what will probably be proposed while its proposer still looks for something better."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pytest_selfheal.types import Patch, Verdict


class Ahead:
    """At most one verification at a time, of the patch that was last said to be likely."""

    def __init__(self, verify: Callable[[Patch, threading.Event], Verdict | None]) -> None:
        """``verify`` ends soon after the event is set; it returns ``None`` where nothing may be run."""
        self._verify = verify
        self._patch: Patch | None = None
        self._verdict: Verdict | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, patch: Patch) -> None:
        """Begin to verify ``patch``; a verification of another one ends."""
        if self._patch is not None and self._patch.changes == patch.changes:
            return
        self.drop()
        self._patch, self._stop = patch, threading.Event()
        self._thread = threading.Thread(target=self._work, args=(patch, self._stop), name="selfheal-ahead", daemon=True)
        self._thread.start()

    def _work(self, patch: Patch, stop: threading.Event) -> None:
        try:
            self._verdict = self._verify(patch, stop)
        except Exception:  # whoever needs the verdict verifies again, and shows what is wrong
            self._verdict = None

    def take(self, patch: Patch) -> Verdict | None:
        """The verdict on just this patch, once it is there; ``None`` when another one was looked at, or none."""
        if self._patch is None or self._patch.changes != patch.changes:
            self.drop()
            return None
        if self._thread is not None:
            self._thread.join()
        verdict, self._patch, self._thread, self._verdict = self._verdict, None, None, None
        return verdict

    def drop(self) -> None:
        """End what is being verified."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._patch, self._thread, self._verdict = None, None, None
