"""What a run is embedded in: pytest's hooks, progress for people, signals."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from pytest_selfheal.types import Attempt, Diagnosis, Outcome, Patch


class PytestHooks:
    """pytest's hooks as the rounds call them; silent without a pytest run."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def guard(self, patch: Patch, diagnosis: Diagnosis) -> str | None:
        if self.config is None:
            return None
        answer = self.config.hook.pytest_selfheal_guard(patch=patch, failure=diagnosis.failure)
        return str(answer) if answer else None

    def attempt(self, diagnosis: Diagnosis, attempt: Attempt) -> None:
        if self.config is not None:
            self.config.hook.pytest_selfheal_attempt(failure=diagnosis.failure, attempt=attempt)


class Silent:
    """Progress for nobody."""

    def start(self, total: int) -> None: ...
    def note(self, words: str, important: bool = False) -> None: ...
    def update(self, diagnosis: Diagnosis, stage: str) -> None: ...
    def stage(self, id: str, stage: str) -> None: ...
    def done(self, outcome: Outcome) -> None: ...
    def close(self) -> None: ...


def progress_of(config: Any) -> Any:
    """Live lines for a pytest run with a terminal, silence elsewhere."""
    if config is None or not config.pluginmanager.hasplugin("terminalreporter"):
        return Silent()
    from pytest_selfheal.record.progress import Progress

    return Progress(config)


@contextlib.contextmanager
def parsing_is_quiet() -> Iterator[None]:
    """What the compiler warns of in the code that is read (``"\\d"``, ``x is 1``) is not said, and is no error under
    ``-W error``: it is the business of the project's own runs."""
    with warnings.catch_warnings():
        for category in (SyntaxWarning, DeprecationWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", category)
        yield


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP end the run as Ctrl-C does: tidily."""

    def handler(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                    previous[number] = signal.signal(number, handler)
        yield
    finally:
        for number, old in previous.items():
            signal.signal(number, old)
