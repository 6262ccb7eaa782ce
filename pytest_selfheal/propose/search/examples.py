"""Examples in docstrings as extra tests: ``>>> f(1)`` with its output, and ``f(1) == 2`` or ``f(1) -> 2`` in running text."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

MAX_EXAMPLES = 30
_ARROW = r"\s*(?:==|=>|->|➞|→|=|returns|should return|should be|gives|#=>|# ?->)\s*"


@dataclass(frozen=True)
class Example:
    """An expression and the value that the docstring promises for it."""

    expression: str
    expected: Any
    namespace: dict[str, Any]


def of_function(function: FunctionType) -> Iterator[Example]:
    """The examples in a function's docstring that can be checked: those whose expected value is a literal."""
    text = function.__doc__
    if not text:
        return
    for expression, wanted in [*_interactive(text), *_running_text(text, function.__name__)][:MAX_EXAMPLES]:
        try:
            expected = ast.literal_eval(wanted)
            ast.parse(expression, mode="eval")
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        yield Example(expression, expected, function.__globals__)


def _interactive(text: str) -> list[tuple[str, str]]:
    try:
        return [
            (e.source.strip(), e.want.strip()) for e in doctest.DocTestParser().get_examples(text) if e.want.strip()
        ]
    except ValueError:
        return []


def _running_text(text: str, name: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(rf"(?<!\.)\b{re.escape(name)}\(", text):
        if re.search(r">>>\s*[^\n]*$", text[: match.start()]):
            continue
        end = _closing(text, match.end() - 1)
        if end < 0:
            continue
        found = re.match(_ARROW + r"([^\n]+)", text[end:])
        if found:
            wanted = _literal_prefix(found.group(1).strip())
            if wanted:
                yield text[match.start() : end], wanted


def _literal_prefix(text: str) -> str:
    """The longest beginning of a line that is a literal and ends where words could go on; empty when there is none."""
    ends = [len(text), *(match.start() for match in re.finditer(r"[\s,;.#]", text[:200]))]
    return next(
        (text[:end] for end in sorted(ends, reverse=True) if end and text[end - 1] != "," and _is_literal(text[:end])),
        "",
    )


def _closing(text: str, start: int) -> int:
    """Offset behind the bracket that closes the one at ``start``, -1 when none does on the next few lines."""
    depth, quote = 0, ""
    for i in range(start, min(len(text), start + 600)):
        c = text[i]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if not depth:
                return i + 1
    return -1


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False
    return True


def passes(example: Example) -> bool:
    """Whether the code as it is now keeps the promise."""
    value = eval(example.expression, dict(example.namespace))
    if isinstance(value, float) and isinstance(example.expected, (int, float)):
        return abs(value - example.expected) <= 1e-6 * max(1.0, abs(example.expected))
    return bool(value == example.expected) and isinstance(value, bool) == isinstance(example.expected, bool)
