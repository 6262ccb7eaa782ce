"""While healing: one live line per cause on a terminal, a sparse plain line per finished cause anywhere else.

``Progress`` may be called from any thread and never raises; without a terminal reporter it does nothing.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

from pytest_selfheal.record.message import money
from pytest_selfheal.record.screen import Screen
from pytest_selfheal.types import Outcome

_REDRAW = 0.1
_TICK = 1.0
"""Seconds between redraws with and without news."""
_HEARTBEAT = 60.0
"""Seconds without a finished cause after which a plain log gets a sign of life."""


class _Cause:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.since = time.monotonic()
        self.stage = ""
        self.detail = ""


class Progress:
    """``begin`` a cause, ``stage`` it as often as there is news, ``end`` it with its outcome.

    Use as a context manager, so that the live lines are gone before anything else prints.
    """

    def __init__(self, screen: Screen | None, *, quiet: bool = False) -> None:
        self._screen = screen
        self._live = screen is not None and screen.live and not quiet
        self._quiet = quiet
        self._causes: dict[str, _Cause] = {}
        self._drawn = 0
        self._last_draw = 0.0
        self._last_line = time.monotonic()
        self._finished = self._total = 0
        self._mutex = threading.RLock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    @classmethod
    def of_config(cls, config: Any) -> Progress:
        """For a pytest run: its terminal reporter's writer, its verbosity; silent with ``-p no:terminal``."""
        reporter = config.pluginmanager.get_plugin("terminalreporter") if config is not None else None
        if reporter is None:
            return cls(None)
        return cls(Screen(reporter._tw), quiet=config.get_verbosity() < 0)

    def __enter__(self) -> Progress:
        if self._screen is not None and not self._quiet:
            self._ticker = threading.Thread(target=self._tick, name="selfheal-progress", daemon=True)
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join(timeout=2)
        with self._mutex:
            self._erase()

    def start(self, total: int, words: str = "") -> None:
        """Say how many causes there are; ``words`` is a sentence for everybody."""
        self._total = total
        self.note(words or f"self-heal: {total} {'cause' if total == 1 else 'causes'} to heal")

    def note(self, words: str) -> None:
        """A line that stays."""
        if self._screen is None:
            return
        with self._mutex:
            self._erase()
            self._screen.line(words)
            self._last_line = time.monotonic()
            self._draw()

    def begin(self, id: str, nodeid: str) -> None:
        """Work on a cause starts."""
        with self._mutex:
            self._causes[id] = _Cause(nodeid)
            self._news()

    def stage(
        self,
        id: str,
        stage: str,
        *,
        round: int | None = None,
        candidates: int | None = None,
        model: str | None = None,
        cost_usd: float | None = None,
    ) -> None:
        """News of a cause: what is being done (``reproduce``, ``search``, ``verify``, …), and how far it got."""
        facts = [f"round {round}" if round else "", model or "", f"{candidates:,} candidates" if candidates else ""]
        facts.append(money(cost_usd) if cost_usd else "")
        with self._mutex:
            cause = self._causes.get(id)
            if cause is not None:
                cause.stage, cause.detail = stage, ", ".join(fact for fact in facts if fact)
                self._news()

    def end(self, outcome: Outcome) -> None:
        """Work on a cause is over."""
        id = outcome.diagnosis.id
        with self._mutex:
            cause = self._causes.pop(id, None)
            self._finished += 1
            if self._screen is None or self._quiet:
                return
            self._erase()
            result = "healed" if outcome.status == "healed" else f"not healed ({outcome.reason})"
            nodeid = cause.nodeid if cause else outcome.diagnosis.failure.nodeid
            count = f"[{self._finished}/{self._total}] " if self._total else ""
            text = f"{count}{id} {result} in {outcome.seconds:.1f} s  {nodeid}"
            self._screen.line(text, **({"green": True} if outcome.status == "healed" else {"yellow": True}))
            self._last_line = time.monotonic()
            self._draw()

    # ------------------------------------------------------------------ drawing; the mutex is held

    def _news(self) -> None:
        if self._live and time.monotonic() - self._last_draw >= _REDRAW:
            self._erase()
            self._draw()

    def _tick(self) -> None:
        while not self._stop.wait(_TICK):
            with self._mutex:
                if self._live:
                    self._erase()
                    self._draw()
                elif self._causes and time.monotonic() - self._last_line >= _HEARTBEAT and self._screen is not None:
                    working = ", ".join(f"{id} {cause.stage}".strip() for id, cause in list(self._causes.items())[:4])
                    self._screen.line(f"self-heal: {self._finished} of {self._total} done, working on {working}")
                    self._last_line = time.monotonic()

    def _erase(self) -> None:
        if self._drawn and self._screen is not None:
            self._screen.write(f"\r\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self) -> None:
        if not self._live or self._screen is None or self._stop.is_set():
            return
        width = self._screen.width
        for id, cause in list(self._causes.items())[:8]:
            seconds = time.monotonic() - cause.since
            right = f"  {cause.stage}{', ' + cause.detail if cause.detail else ''}  {seconds:.0f} s"
            room = max(10, width - 2 - len(id) - 1 - len(right))
            name = cause.nodeid if len(cause.nodeid) <= room else "…" + cause.nodeid[1 - room :]
            # One row each: a line that wraps could not be erased.
            self._screen.line(f"{id} {name}{right}"[: width - 1])
            self._drawn += 1
        self._last_draw = time.monotonic()
