"""While healing: one live line per cause on a terminal, a sparse plain line per finished cause anywhere else.

May be called from any thread; output that fails (closed stdout) is dropped.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from pytest_selfheal.record.message import money
from pytest_selfheal.record.screen import Screen
from pytest_selfheal.record.terminal import from_here
from pytest_selfheal.types import Diagnosis, Outcome

_REDRAW = 0.1
_TICK = 1.0
"""Seconds between redraws with and without news."""
_HEARTBEAT = 60.0
"""Seconds without a finished cause after which a plain log gets a sign of life."""
_ROWS = 8


class _Cause:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.since = time.monotonic()
        self.stage = ""


class Progress:
    """``update`` a cause when work on it starts, ``stage`` it as often as there is news, then it is ``done``.

    ``close`` takes the live lines away; it must come before anything else prints, and may be called twice.
    ``config`` is the pytest run's: its terminal reporter, colour and verbosity count.
    """

    def __init__(self, config: Any) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._screen = Screen(reporter._tw)
        self._quiet = config.get_verbosity() < 0
        self._root, self._cwd = Path(config.rootpath), Path(config.invocation_params.dir)
        self._live = self._screen.live and not self._quiet
        self._causes: dict[str, _Cause] = {}
        self._drawn = 0
        self._last_draw = 0.0
        self._last_line = time.monotonic()
        self._finished = self._total = 0
        self._mutex = threading.RLock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None
        self._begun = False

    def start(self, total: int) -> None:
        """So many causes there are; may be corrected later."""
        self._total = total
        if self._ticker is None and not self._quiet:
            self._break_line()
            self._ticker = threading.Thread(target=self._tick, name="selfheal-progress", daemon=True)
            self._ticker.start()

    def note(self, words: str, important: bool = False) -> None:
        """What the whole run is doing; a line that stays. ``important``: said under ``-q`` too."""
        if important or not self._quiet:
            self._say(f"self-heal: {words}")

    def update(self, diagnosis: Diagnosis, stage: str) -> None:
        """Work on a cause starts."""
        with self._mutex:
            self._causes.setdefault(diagnosis.id, _Cause(self._named(diagnosis))).stage = stage
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
        """News of a cause: what is being done, and how far it got."""
        facts = [
            stage,
            f"round {round}" if round else "",
            model or "",
            f"{candidates:,} candidates" if candidates else "",
        ]
        facts.append(money(cost_usd) if cost_usd else "")
        with self._mutex:
            cause = self._causes.get(id)
            if cause is not None:
                cause.stage = ", ".join(fact for fact in facts if fact)
                self._news()

    def done(self, outcome: Outcome) -> None:
        """Work on a cause is over."""
        with self._mutex:
            self._causes.pop(outcome.diagnosis.id, None)
            self._finished += 1
            self._total = max(self._total, self._finished)
        if self._quiet:
            return
        healed = outcome.status == "healed"
        result = "healed" if healed else f"not healed ({outcome.reason})"
        seconds = f" in {outcome.seconds:.1f} s" if outcome.seconds else ""
        text = f"[{self._finished}/{self._total}] {outcome.diagnosis.id} {result}{seconds}  {self._named(outcome.diagnosis)}"
        self._say(text, **({"green": True} if healed else {"yellow": True}))

    def _named(self, diagnosis: Diagnosis) -> str:
        return from_here(diagnosis.failure.nodeid, self._root, self._cwd)

    def close(self) -> None:
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join(timeout=2)
            self._ticker = None
        with self._mutex:
            self._erase()

    def _say(self, text: str, **markup: bool) -> None:
        with self._mutex:
            self._erase()
            self._break_line()
            self._screen.line(text, **markup)
            self._last_line = time.monotonic()
            self._draw()

    def _break_line(self) -> None:
        """Before our first words: pytest's own progress (``[100%]``) has left its line open."""
        if not self._begun:
            self._screen.write("\n")
            self._begun = True

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
                elif self._causes and time.monotonic() - self._last_line >= _HEARTBEAT:
                    working = ", ".join(f"{id} ({cause.stage})" for id, cause in list(self._causes.items())[:4])
                    self._screen.line(f"self-heal: {self._finished} of {self._total} done, working on {working}")
                    self._last_line = time.monotonic()

    def _erase(self) -> None:
        if self._drawn:
            self._screen.write(f"\r\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self) -> None:
        if not self._live or self._stop.is_set():
            return
        width = self._screen.width
        for id, cause in list(self._causes.items())[:_ROWS]:
            seconds = f"  {time.monotonic() - cause.since:.0f} s"
            stage = _fit(cause.stage, max(12, width // 2))
            room = max(8, width - len(id) - len(stage) - len(seconds) - 4)
            name = cause.nodeid if len(cause.nodeid) <= room else "…" + cause.nodeid[1 - room :]
            # One row each, whatever becomes of its characters here: a line that wraps could not be erased.
            self._screen.line(self._screen.cut(f"{id} {name}  {stage}{seconds}", width - 1))
            self._drawn += 1
        self._last_draw = time.monotonic()


def _fit(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: room - 1] + "…"
