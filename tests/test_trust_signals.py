"""Signals that end a program end healing as Ctrl-C does, and what the run had set up is undone."""

from __future__ import annotations

import os
import signal

import pytest

from pytest_selfheal.surroundings import signals_interrupt

NAMES = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_is_an_interruption(name: str):
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), signals_interrupt():
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_that_somebody_handles_stays_theirs(name: str):
    """``nohup`` ignores SIGHUP: such a run goes on."""
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with signals_interrupt():
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)
