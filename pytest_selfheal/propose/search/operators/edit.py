"""Building blocks of operators: replacing nodes and tokens by text without breaking what stands around them."""

from __future__ import annotations

import ast
import functools
import re

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.precedence import ATOM, precedence
from pytest_selfheal.propose.search.source import Source


def needed(source: Source, node: ast.expr) -> int:
    """How tightly an expression must bind to stand in the place of ``node`` without parentheses."""
    up = source.parent(node)
    if isinstance(up, ast.BinOp):
        own = precedence(up)
        if isinstance(up.op, ast.Pow):
            return own + 1 if up.left is node else 12
        return own if up.left is node else own + 1
    if isinstance(up, ast.UnaryOp):
        return precedence(up)
    if isinstance(up, ast.BoolOp):
        return precedence(up) + (0 if up.values[0] is node else 1)
    if isinstance(up, ast.Compare):
        return 6
    if isinstance(up, ast.Attribute) or (isinstance(up, ast.Call) and up.func is node):
        return ATOM
    if isinstance(up, ast.Subscript):
        return ATOM if up.value is node else 0
    if isinstance(up, ast.IfExp):
        return 1 if up.orelse is node else 2
    if isinstance(up, ast.comprehension):
        return 0 if up.target is node else 2
    if isinstance(up, ast.Await):
        return ATOM
    if isinstance(up, (ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.Lambda)):
        return 1
    if isinstance(up, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.FormattedValue, ast.Slice)):
        return 1
    return 0


def bare(source: Source, node: ast.expr) -> bool:
    """Whether no parentheses of its own stand around the node."""
    start, end = source.span(node)
    before = source.text[:start].rstrip()[-1:] if start < 400 else source.text[start - 400 : start].rstrip()[-1:]
    after = source.text[end : end + 400].lstrip()[:1]
    return not (before == "(" and after == ")")


@functools.lru_cache(maxsize=10_000)  # many operators put the same names and calls into many places
def rank(text: str) -> int:
    """Precedence of an expression given as text; -1 when it is none."""
    if text.isidentifier():
        return ATOM
    try:
        return precedence(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return -1


def fitted(source: Source, node: ast.expr, text: str, level: int | None = None) -> str:
    """``text`` ready to stand in the place of ``node``: in parentheses when it binds too loosely there."""
    if isinstance(node, ast.GeneratorExp) and _shares_brackets(source, node):
        return f"({text})"
    own = rank(text) if level is None else level
    if own >= needed(source, node) or (own >= 0 and not bare(source, node)):
        number = own == ATOM and text[:1].isdigit() and isinstance(source.parent(node), ast.Attribute)
        return f"({text})" if number else text
    return f"({text})"


def _shares_brackets(source: Source, node: ast.GeneratorExp) -> bool:
    """Whether the brackets of a call are also those of its only argument: ``sum(x for x in xs)``."""
    up = source.parent(node)
    return isinstance(up, ast.Call) and len(up.args) == 1 and source.span(up)[1] == source.span(node)[1]


def swap(source: Source, node: ast.expr, text: str, key: str, factor: float = 1.0, level: int | None = None) -> Draft:
    """Replace one expression."""
    start, end = source.span(node)
    old = source.text[start:end]
    return Draft(
        (Edit(start, end, fitted(source, node, text, level)),), key, f"replace {short(old)} with {short(text)}", factor
    )


def target_of(source: Source, node: ast.AST) -> str:
    """The variable that gets the expression's value; empty where it goes elsewhere."""
    up = source.parent(node)
    targets = up.targets if isinstance(up, ast.Assign) else [getattr(up, "target", None)]
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


def part(source: Source, node: ast.expr, inside: ast.expr) -> str:
    """Text of a sub-expression; in parentheses when it spans lines that only stand because of its surroundings."""
    text = source.segment(node)
    return f"({text})" if "\n" in text and precedence(node) < ATOM else text


def token(source: Source, start: int, end: int, pattern: str) -> tuple[int, int] | None:
    """Span of the first match of a regular expression between two offsets, comments and strings left out."""
    match = re.compile(pattern).search(source.masked, start, end)
    return match.span() if match else None


def short(text: str, limit: int = 48) -> str:
    """One line of code for a description."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
