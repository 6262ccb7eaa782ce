"""``ast.parse`` for code that runs in threads."""

from __future__ import annotations

import ast
import threading
from typing import Any, Literal, overload

_LOCK = threading.Lock()


@overload
def parse(source: str | bytes, filename: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parse(source: str | bytes, filename: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str | bytes, filename: str = "<unknown>", mode: Any = "exec") -> Any:
    """:func:`ast.parse`, one thread at a time.

    CPython 3.11 counts the depth of the tree that it builds once for all threads; a callback of the garbage collector
    (hypothesis has one) lets another thread in between, and both raise :class:`SystemError`. Raises what
    :func:`ast.parse` raises for source that it cannot read.
    """
    with _LOCK:
        return ast.parse(source, filename, mode)
