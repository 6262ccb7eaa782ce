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
from pathlib import Path

from pytest_selfheal.propose.search.candidate import Candidate, apply
from pytest_selfheal.propose.search.source import Source


def decode(raw: bytes) -> str:
    """The text with its own line ends, without a byte order mark. Raises :class:`SyntaxError` or :class:`ValueError`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return raw.decode(encoding)


def encode(text: str, like: bytes) -> bytes:
    """Text back to bytes in the encoding of ``like``; new lines end as most lines of ``like`` do.

    Raises :class:`UnicodeEncodeError` when the encoding has no place for a character.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(like).readline)
    windows = like.count(b"\r\n")
    if windows and windows >= like.count(b"\n") - windows:
        text = re.sub(r"(?<!\r)\n", "\r\n", text)
    data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding)
    return codecs.BOM_UTF8 + data if like.startswith(codecs.BOM_UTF8) else data


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
        return encode(apply(decode(raw), candidate.edits), raw)
