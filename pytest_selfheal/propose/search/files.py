"""The project's files as the search reads and rewrites them: what an edit does not touch stays as it was, to the byte.

Encoding (PEP 263), byte order mark, line ends and a missing final newline survive.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import tokenize
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.propose.search.candidate import Candidate, apply
from pytest_selfheal.propose.search.source import Source


def decode(raw: bytes) -> str:
    """The text with its own line ends, without a byte order mark. Raises :class:`SyntaxError` or :class:`ValueError`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return raw.decode(encoding)


def encode(text: str, like: bytes) -> bytes:
    """Text back to bytes in the encoding of ``like``, with its byte order mark.

    Raises :class:`UnicodeEncodeError` when the encoding has no place for a character.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(like).readline)
    data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding)
    return codecs.BOM_UTF8 + data if like.startswith(codecs.BOM_UTF8) else data


def line_end(raw: bytes) -> str:
    """What most lines end with."""
    windows = raw.count(b"\r\n")
    counts = {"\n": raw.count(b"\n") - windows, "\r\n": windows, "\r": raw.count(b"\r") - windows}
    return max(counts, key=lambda end: counts[end])


class Files:
    """The files below ``top`` that may be edited, read on demand."""

    def __init__(self, top: str, editable: Iterable[str]) -> None:
        self.top = os.path.realpath(top)
        self.by_path = {self.absolute(path): path for path in editable}
        """Real path → path relative to top."""
        self.broken: dict[str, str] = {}
        """Text of those that do not parse, by relative path."""
        self._raw: dict[str, bytes] = {}
        self._known: dict[str, bool] = {}

    def absolute(self, path: str) -> str:
        return os.path.join(self.top, path)  # noqa: PTH118

    def has(self, filename: str) -> bool:
        """Whether code with this ``co_filename`` (or ``__file__``) may be repaired."""
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = os.path.realpath(filename) in self.by_path
        return known

    def source(self, path: str) -> Source | None:
        """The parsed file; ``None`` when it cannot be read or does not parse (see :attr:`broken`)."""
        try:
            raw = Path(self.top, path).read_bytes()
            text = decode(raw)
        except (OSError, ValueError, LookupError, SyntaxError):
            return None
        self._raw[path] = raw
        try:
            return Source(path, text)
        except (SyntaxError, ValueError, RecursionError):
            self.broken[path] = text
            return None

    def after(self, candidate: Candidate) -> bytes:
        """The file's bytes with the candidate's edits. Raises :class:`UnicodeEncodeError`, see :func:`encode`."""
        raw = self._raw[candidate.path]
        newline = line_end(raw)
        edits = [replace(edit, text=re.sub(r"\r\n|\n", newline, edit.text)) for edit in candidate.edits]
        return encode(apply(decode(raw), edits), raw)
