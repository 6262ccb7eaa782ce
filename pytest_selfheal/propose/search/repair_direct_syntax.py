"""Files that do not parse: tokens put in, taken out or respelled near the error, judged by the parser.

The parser's position is where it lost its way, which is at or after the fault: the line itself, the line before, and the
line of a bracket that was never closed. An edit counts when the file parses; one that moves the error well down the file is kept for a
second edit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply, compose
from pytest_selfheal.propose.search.repair_direct_syntax_edits import (
    ParseError,
    edits_near,
)

_SECONDS = 6.0
"""CPU time for one file."""


def _parse(text: str) -> ParseError | None:
    """What is wrong with the text, ``None`` when it compiles."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message=".*perhaps you missed a comma", category=SyntaxWarning)
            compile(text, "<repair>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return ParseError(
            error.lineno or 1,
            max((error.offset or 1) - 1, 0),
            error.msg or "",
            error.end_lineno or error.lineno or 1,
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return ParseError(1, 0, str(error), 1)
    return None


def repairs(path: str, text: str) -> Iterator[Candidate]:
    """Edits after which the file parses, likely ones first; single edits before pairs."""
    error = _parse(text)
    if error is None:
        return
    began = time.process_time()
    seen: set[str] = set()
    further: list[tuple[float, tuple[Edit, ...], str, ParseError, str]] = []
    for weight, edits, what in _ranked(text, error):
        if time.process_time() - began > _SECONDS:
            break
        after = apply(text, edits)
        if after in seen:
            continue
        seen.add(after)
        left = _parse(after)
        if left is None:
            yield _candidate(path, text, edits, what, weight)
        elif left.line > error.line + 1 or (left.line > error.line and "indent" in left.message):
            further.append((weight, edits, what, left, after))
    further.sort(key=lambda item: (-item[3].line, -item[0]))
    for weight, edits, what, left, after in further[:12]:
        for second_weight, second, second_what in _ranked(after, left):
            if time.process_time() - began > 2 * _SECONDS:
                return
            final = apply(after, second)
            if final not in seen and _parse(final) is None:
                seen.add(final)
                both = compose(text, edits, second)
                yield _candidate(path, text, both, f"{what}; {second_what}", weight * second_weight)


def _candidate(path: str, text: str, edits: tuple[Edit, ...], what: str, weight: float) -> Candidate:
    line = text.count("\n", 0, min(e.start for e in edits)) + 1
    return Candidate(
        path,
        tuple(sorted(edits)),
        "direct/syntax",
        weight,
        line,
        "<module>",
        what,
        False,
    )


def _ranked(text: str, error: ParseError) -> list[tuple[float, tuple[Edit, ...], str]]:
    return sorted(edits_near(text, error), key=lambda item: -item[0])
