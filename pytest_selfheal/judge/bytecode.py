"""Bytecode that the first child of a run compiles serves the later ones: a large project is compiled once, not in each.

Children write no bytecode, since a stale file would run the code before a patch. The one that first sees the failures in
the unpatched copy is an exception: what it writes is checked against the *hash* of its source whenever it is loaded (PEP
552), not against size and time, so that it can never stand for a changed file. The copies made for patches inherit it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

HEADER = 16
"""Bytes before the code: magic number, flags, then time and size of the source or its hash (PEP 552)."""
CHECKED_HASH = 0b11


def keep(top: str) -> None:
    """In a child: from now on, write the bytecode of the modules below ``top``, and of no others."""
    if sys.pycache_prefix is not None:
        return  # bytecode lies elsewhere, where other copies do not find it
    folder = top.rstrip(os.sep) + os.sep
    write = SourceFileLoader.set_data

    def set_data(self: SourceFileLoader, path: Any, data: Any, **mode: Any) -> None:
        if os.fspath(path).startswith(folder):
            # What is not kept is compiled again.
            with contextlib.suppress(OSError, ValueError, NotImplementedError):
                write(self, path, hashed(data, Path(importlib.util.source_from_cache(path))), **mode)

    SourceFileLoader.set_data = set_data  # type: ignore[method-assign]
    sys.dont_write_bytecode = False


def hashed(data: bytes, source: Path) -> bytes:
    """The same bytecode, valid by its source's hash. Raises :class:`ValueError` when it is not of the source as it is now."""
    found = source.stat()
    size, time = (value & 0xFFFFFFFF for value in (found.st_size, int(found.st_mtime)))
    if data[4:HEADER] != b"".join(number.to_bytes(4, "little") for number in (0, time, size)):
        raise ValueError(f"{source} changed after it was compiled")
    hash_of_source = importlib.util.source_hash(source.read_bytes())
    return bytes(data[:4]) + CHECKED_HASH.to_bytes(4, "little") + hash_of_source + bytes(data[HEADER:])


def forget_rewritten(top: Path) -> None:
    """Remove test modules as pytest has rewritten them: their code names the folder in which they were compiled."""
    for file in top.rglob("__pycache__/*-pytest-*.py[co]"):
        file.unlink(missing_ok=True)
