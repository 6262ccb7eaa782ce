"""What a person sees while the benchmark runs: one live line on a terminal, sparse plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any

from pytest_selfheal.bench import figures
from pytest_selfheal.bench.line import Line, add_prices

PLAIN_SECONDS = 30.0


class Progress:
    """Counts finished tasks and tells of them through pytest's terminal reporter."""

    def __init__(self, reporter: Any, verbosity: int) -> None:
        self.reporter = reporter
        self.total = 0
        """Known once the first task has ended: under xdist only the workers know what was selected."""
        self.done = self.healed = self.solved = 0
        self.prices: list[float | None] = []
        self.started = self.told = time.monotonic()
        # With -v pytest names each item on a line of its own; a live line would fight with it.
        self.live = reporter is not None and bool(reporter.isatty) and verbosity <= 0
        self.plain = reporter is not None and not self.live and verbosity >= 0
        if self.counts:
            reporter.showfspath = False

    @property
    def counts(self) -> bool:
        """Whether it stands for pytest's own letters, which would break its lines up."""
        return self.live or self.plain

    def add(self, line: Line) -> None:
        self.done += 1
        self.healed += line.claimed
        self.solved += line.is_complete
        self.prices += line.cost.values()
        now = time.monotonic()
        if self.live:
            self.reporter.rewrite(self.text(now), erase=True)
        elif self.plain and (now - self.told >= PLAIN_SECONDS or self.done == self.total):
            self.told = now
            self.reporter.write_line(self.text(now))

    def text(self, now: float) -> str:
        spent, known = add_prices(self.prices)
        parts = [f"benchmark: {self.done}/{self.total} done", f"{self.healed} healed", f"{self.solved} right"]
        if spent or not known:
            parts.append(f"spent {figures.money(spent if known else None, spent)}")
        remaining = self.total - self.done
        if remaining > 0:
            seconds = (now - self.started) / self.done * remaining
            parts.append(f"about {clock(seconds)} left")
        return ", ".join(parts)

    def end(self) -> None:
        if self.live:
            self.reporter.ensure_newline()


def clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"
