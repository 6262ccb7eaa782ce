"""Bytes of a Python file ↔ text, so that what an edit does not touch stays as it was.

Encoding (PEP 263), byte order mark, line ends and a missing final newline survive.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize


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
