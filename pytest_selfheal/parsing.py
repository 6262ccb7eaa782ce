"""``ast.parse`` for code that runs in threads."""

from __future__ import annotations

import ast
import contextlib
import threading
from typing import Any, Literal, overload

_LOCK = threading.Lock()
_TRIES = 5


@overload
def parse(source: str | bytes, filename: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parse(source: str | bytes, filename: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str | bytes, filename: str = "<unknown>", mode: Any = "exec") -> Any:
    """:func:`ast.parse`, one thread at a time.

    CPython 3.11 counts the depth of the tree that it builds once for all threads; a callback of the garbage collector
    (hypothesis has one) lets another thread in between, and both raise :class:`SystemError`. Others parse as well, a
    traceback that is being formatted say, and know nothing of this lock; so it is tried again. Raises what
    :func:`ast.parse` raises for source that it cannot read.
    """
    with _LOCK:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(SystemError):
                return ast.parse(source, filename, mode)
        return ast.parse(source, filename, mode)
