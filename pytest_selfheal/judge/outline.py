"""A source file as blocks (outermost functions and methods) and the code that runs at import, told apart by digests.

Digests are taken from the syntax tree, so that comments, formatting and shifted lines change none of them.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_selfheal import parsing

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Block:
    """The body of one outermost function or method."""

    name: str
    first: int
    last: int
    """1-based lines of the body; the ``def`` line and decorators run at import."""
    digest: str
    remembers: bool
    """Decorated as a cache: that it ran in one test may matter in the next."""
    shape: str
    """What any single line of it decides for all others: whether it is a generator, and which names are its own."""


@dataclass(frozen=True)
class Outline:
    blocks: tuple[Block, ...]
    digest: str
    """Of all that runs at import."""

    def block_at(self, line: int) -> Block | None:
        return next((block for block in self.blocks if block.first <= line <= block.last), None)


@dataclass(frozen=True)
class Change:
    """What differs between two versions of a file."""

    at_import: bool
    """Something that runs when the module is imported."""
    blocks: frozenset[str]
    """Names of functions whose body differs."""
    lines: frozenset[int] | None
    """Lines of the old version of which at least one runs wherever the change matters; ``None``: not known that closely."""
    digest: str
    """Of the old version."""


@functools.lru_cache(maxsize=8)
def outline(source: bytes) -> Outline | None:
    """``None`` for a source that does not parse."""
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    blocks = []
    seen: dict[str, int] = {}
    for name, node in _outermost(tree, ""):
        seen[name] = seen.get(name, 0) + 1
        blocks.append(
            Block(
                name if seen[name] == 1 else f"{name}#{seen[name]}",
                node.body[0].lineno,
                node.end_lineno or node.lineno,
                _digest(ast.Module(node.body, [])),
                any("cache" in ast.dump(decorator) for decorator in node.decorator_list),
                _shape(node),
            )
        )
        node.body = [ast.Pass()]
    return Outline(tuple(blocks), _digest(tree))


@functools.lru_cache(maxsize=8)  # of one patch it is asked several times
def changed(before: bytes, after: bytes) -> Change:
    """What a change of one file touches. Everything, where one of the versions does not parse."""
    old, new = outline(before), outline(after)
    if old is None or new is None:
        return Change(True, frozenset(), None, digest_of(before))
    olds, news = ({block.name: block.digest for block in each.blocks} for each in (old, new))
    blocks = frozenset(name for name in olds.keys() | news.keys() if olds.get(name) != news.get(name))
    at_import = old.digest != new.digest or any(
        block.name in blocks and (block.remembers or _on_def_line(before, block)) for block in old.blocks
    )
    shapes = [{block.name: block.shape for block in each.blocks if block.name in blocks} for each in (old, new)]
    lines = _replaced_lines(before, after) if shapes[0] == shapes[1] else None
    return Change(at_import, blocks, lines, digest_of(before))


def digest_of(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:12]


def _on_def_line(source: bytes, block: Block) -> bool:
    """``def f(): return 1``: coverage cannot tell the body from the definition."""
    line = source.splitlines()[block.first - 1].lstrip()
    return line.startswith((b"def ", b"async def "))


def _shape(function: ast.AST) -> str:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            found.add("yield")
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(f"={node.id}")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(f"={alias.asname or alias.name.partition('.')[0]}" for alias in node.names)
        elif isinstance(node, (*_Function, ast.ClassDef)) and node is not function:
            found.add(f"={node.name}")
        elif isinstance(node, (ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found.add(f"{type(node).__name__} {getattr(node, 'names', None) or getattr(node, 'name', None)}")
    return " ".join(sorted(found))


def _outermost(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _outermost(child, f"{prefix}{child.name}.")
        else:
            yield from _outermost(child, prefix)


def _digest(tree: ast.AST) -> str:
    return hashlib.sha256(ast.dump(tree).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _replaced_lines(before: bytes, after: bytes) -> frozenset[int] | None:
    """Old lines of statements that were replaced one for one; ``None`` when lines came or went."""
    spans = list(_statement_spans(parsing.parse(before)))
    found: set[int] = set()
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            continue
        if tag != "replace" or last - first != new_last - new_first:
            return None
        for line in range(first + 1, last + 1):
            covering = [span for span in spans if span[0] <= line <= span[1]]
            if not covering:
                return None
            start, end = min(covering, key=lambda span: span[1] - span[0])
            found.update(range(start, end + 1))
    return frozenset(found)


def _statement_spans(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last line of each simple statement, and of the header of each compound one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        if not body:
            yield node.lineno, node.end_lineno or node.lineno
        elif isinstance(body[0], ast.stmt) and body[0].lineno > node.lineno:
            yield node.lineno, body[0].lineno - 1
        else:
            yield node.lineno, node.lineno
