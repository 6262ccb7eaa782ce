"""Call a function on pickled arguments and describe what it did: result or exception, and what became of its arguments."""

from __future__ import annotations

import base64
import contextlib
import pickle
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

from pytest_selfheal.bench.inside.canonical import TooBig, canonical

CALL_SECONDS = 1.0


class OutOfTime(BaseException):
    """The call took longer than :data:`CALL_SECONDS` of CPU time."""


def _ring(*_: Any) -> None:
    raise OutOfTime


@contextlib.contextmanager
def timer() -> Iterator[None]:
    """CPU time, not wall time: a loaded machine must not change results."""
    if not hasattr(signal, "setitimer"):  # pragma: no cover - Windows
        yield
        return
    signal.signal(signal.SIGPROF, _ring)
    # Again and again, for code that swallows the first.
    signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def freeze(arguments: tuple[Any, dict[str, Any]]) -> str:
    return base64.b64encode(pickle.dumps(arguments, 4)).decode("ascii")


def thaw(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    positional, named = pickle.loads(base64.b64decode(text))
    return positional, named


def observe(function: Callable[..., Any], frozen: str) -> list[Any]:
    """``["value", result, arguments after]``, ``["raised", type name, arguments after]``, or ``["timeout"]``,
    ``["unclear"]`` when nothing can be said."""
    try:
        positional, named = thaw(frozen)
    except Exception:
        return ["unclear"]
    random.seed(0)
    try:
        with timer():
            try:
                said = ["value", canonical(function(*positional, **named))]
            except TooBig:
                return ["unclear"]
            except Exception as error:
                said = ["raised", type(error).__name__]
            return [*said, canonical([list(positional), named])]
    except OutOfTime:
        return ["timeout"]
    except (TooBig, RecursionError, MemoryError):
        return ["unclear"]
    except SystemExit:
        return ["raised", "SystemExit", None]
