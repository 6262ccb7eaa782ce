"""The source around the suspects of a diagnosis: qualified names, and the likeliest functions whole."""

from __future__ import annotations

import io
import tokenize
from dataclasses import replace
from pathlib import Path

from pytest_selfheal.definitions import Definition, NotParsed, definitions, function_at
from pytest_selfheal.types import Diagnosis, Excerpt, Suspect

LOOKED_AT = 8
"""Suspects whose functions are found."""
SHOWN = 3
"""Functions that are kept whole."""
MOST_LINES = 80


def with_sources(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with its suspects by qualified name and the source of the first ones; unreadable files are left out."""
    suspects = list(diagnosis.suspects)
    files: dict[str, tuple[str, tuple[Definition, ...]] | None] = {}
    found: dict[tuple[str, str], Excerpt] = {}
    for n, suspect in enumerate(suspects[:LOOKED_AT]):
        if suspect.path not in files:
            files[suspect.path] = _read(Path(diagnosis.root) / suspect.path)
        file = files[suspect.path]
        around = function_at(file[1], suspect.line) if file is not None else None
        if file is None or around is None:
            continue
        suspects[n] = replace(suspect, function=around.qualname)
        if len(found) < SHOWN or (suspect.path, around.qualname) in found:
            found.setdefault((suspect.path, around.qualname), _excerpt(file[0], suspect, around))
    return replace(diagnosis, suspects=tuple(suspects), sources=tuple(found.values()))


def _read(path: Path) -> tuple[str, tuple[Definition, ...]] | None:
    try:
        raw = path.read_bytes()
        encoding = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
        text = io.TextIOWrapper(io.BytesIO(raw), encoding).read()  # with plain line ends
        return text, definitions(text)
    except (OSError, SyntaxError, LookupError, UnicodeError, NotParsed):
        return None


def _excerpt(text: str, suspect: Suspect, around: Definition) -> Excerpt:
    lines = text.split("\n")
    top, last = around.top, around.last
    if last - top >= MOST_LINES:
        top = max(top, suspect.line - MOST_LINES // 2)
        last = min(last, top + MOST_LINES - 1)
    return Excerpt(suspect.path, around.qualname, top, "\n".join(lines[top - 1 : last]), suspect.line)
