"""Whole statements as lines of text: where they begin and end, deeper or shallower, put before or after others."""

from __future__ import annotations

import ast

from pytest_selfheal.propose.search.candidate import Edit
from pytest_selfheal.propose.search.source import Source


def lines(source: Source, statement: ast.stmt) -> tuple[int, int] | None:
    """Offsets of the statement's whole lines with the last newline; ``None`` when it shares a line with something else."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(d.lineno for d in decorators)])
    last = statement.end_lineno or statement.lineno
    start, end = source.line_span(first, last)
    own = source.span(statement)
    head = source.text[start : own[0]] if not decorators else source.text[start:].split("@", 1)[0]
    tail = source.text[own[1] : end].strip()
    if head.strip() or (tail and not tail.startswith("#")):
        return None
    return start, end


def text_of(source: Source, statement: ast.stmt) -> str | None:
    """The statement's lines, newline included even at the end of the file."""
    span = lines(source, statement)
    if span is None:
        return None
    text = source.text[span[0] : span[1]]
    return text if text.endswith(("\n", "\r")) else text + source.newline


def reindent(text: str, old: str, new: str) -> str:
    """Lines moved from one indentation to another. Lines of multi-line strings move along; callers avoid those."""
    return "".join(new + line[len(old) :] if line.startswith(old) else line for line in text.splitlines(keepends=True))


def unit(source: Source) -> str:
    """One step of indentation as this file writes it."""
    for node in source.nodes:
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body and body[0].lineno > node.lineno:
            outer, inner = source.indent_of(node), source.indent_of(body[0])
            if inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
    return "    "


def insert(source: Source, statement: ast.stmt, code: str, after: bool = False) -> Edit | None:
    """``code`` (lines without indentation) on lines of its own before or after a statement."""
    span = lines(source, statement)
    if span is None:
        return None
    indent = source.indent_of(statement)
    body = "".join(indent + line + source.newline for line in code.split("\n"))
    place = span[1] if after else span[0]
    if after and not source.text[:place].endswith(("\n", "\r")):
        body = source.newline + body.rstrip("\r\n")
    return Edit(place, place, body)
