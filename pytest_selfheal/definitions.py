"""Functions and classes of a source text, found with libcst: whole, with their comments and decorators, by qualified name.

libcst is asked because a definition is more than its syntax tree: the comment above it and the blank lines in it belong to
what a person, or a model, should read, and to what a replacement should leave alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst

LONGEST = 200_000
"""Characters; the positions of a longer file take seconds."""


class NotParsed(Exception):
    """No Python that libcst reads, or too long."""


@dataclass(frozen=True)
class Definition:
    """One function or class. Lines are 1-based and inclusive."""

    qualname: str
    """``A.b``, ``f.g`` for a function in a function."""
    is_class: bool
    top: int
    """With the comments directly above."""
    first: int
    """With the decorators."""
    line: int
    """Of ``def`` or ``class``."""
    last: int


@functools.lru_cache(maxsize=32)
def definitions(text: str) -> tuple[Definition, ...]:
    """All of them in source order, outer before inner. Raises :class:`NotParsed`."""
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    if len(text) > LONGEST:
        raise NotParsed(f"longer than {LONGEST} characters")
    try:
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError, ValueError) as error:
        raise NotParsed(str(error)) from error
    found: list[Definition] = []
    stack: list[tuple[libcst.CSTNode, str]] = [(wrapper.module, "")]
    while stack:
        node, prefix = stack.pop()
        for child in node.children:
            if isinstance(child, libcst.FunctionDef | libcst.ClassDef):
                name = prefix + child.name.value
                found.append(_definition(child, name, places))
                stack.append((child, f"{name}."))
            elif not isinstance(child, libcst.BaseExpression):
                stack.append((child, prefix))
    return tuple(sorted(found, key=lambda one: (one.first, -one.last)))


def _definition(node: libcst.FunctionDef | libcst.ClassDef, qualname: str, places: Any) -> Definition:
    import libcst

    place = places[node]
    first = min([place.start.line, *(places[decorator].start.line for decorator in node.decorators)])
    comments = 0
    for blank in reversed(node.leading_lines):
        if blank.comment is None:
            break
        comments += 1
    last = max(place.end.line, place.start.line)
    return Definition(qualname, isinstance(node, libcst.ClassDef), first - comments, first, place.start.line, last)


def function_at(found: Sequence[Definition], line: int) -> Definition | None:
    """The innermost function around a line."""
    around = [one for one in found if not one.is_class and one.first <= line <= one.last]
    return min(around, key=lambda one: one.last - one.first, default=None)
