"""A source file as the model sees it: text with plain newlines, functions by qualified name; and back to the very bytes."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_selfheal import parsing
from pytest_selfheal.definitions import NotParsed, definitions

LARGEST = 1_000_000
"""Bytes; larger files are data, not something to show or to edit."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


class Unreadable(Exception):
    """Not text in the encoding that it declares, or too large."""


@dataclass(frozen=True)
class Named:
    """A function or class and the lines it covers (1-based, inclusive, decorators included)."""

    qualname: str
    node: Definition
    first: int
    last: int
    top: int = 0
    """The first line with the comments directly above; ``first`` where nothing is known of them."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


@dataclass(frozen=True)
class SourceFile:
    path: str
    """Relative to the top, POSIX."""
    raw: bytes

    @classmethod
    def read(cls, root: Path, path: str) -> SourceFile:
        """Raises :class:`OSError` or :class:`Unreadable`."""
        full = root / path
        if full.stat().st_size > LARGEST:
            raise Unreadable(f"{path} is larger than {LARGEST} bytes")
        found = cls(path, full.read_bytes())
        _ = found.text
        return found

    @classmethod
    def of(cls, path: str, text: str) -> SourceFile:
        """A text that is not on disk, with plain newlines; only its text and what follows from that may be used."""
        found = cls(path, b"")
        found.__dict__["text"] = text  # what cached_property would have stored
        return found

    @cached_property
    def encoding(self) -> str:
        plain = self.raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        try:
            return tokenize.detect_encoding(io.BytesIO(plain).readline)[0]
        except (SyntaxError, LookupError) as error:
            raise Unreadable(f"{self.path}: {error}") from error

    @cached_property
    def decoded(self) -> str:
        try:
            return self.raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            raise Unreadable(f"{self.path} is not {self.encoding} text") from error

    @cached_property
    def text(self) -> str:
        """With ``\\n`` for every line end."""
        return self.decoded.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """Without line ends."""
        return self.text.split("\n")

    @cached_property
    def tree(self) -> ast.Module | None:
        """``None`` when it does not parse."""
        return parse(self.text)

    @cached_property
    def definitions(self) -> tuple[Named, ...]:
        """Found with libcst, which knows the comments above them; with ast where that cannot read what ast can."""
        if self.tree is None:
            return ()
        plain = tuple(named(self.tree))
        try:
            found = {(one.line, one.is_class, one.qualname): one for one in definitions(self.text)}
        except NotParsed:
            return plain
        known = (found.get((one.node.lineno, one.is_class, one.qualname)) for one in plain)
        return tuple(replace(one, top=cst.top) if cst else one for one, cst in zip(plain, known, strict=True))

    def functions(self) -> Iterator[Named]:
        return (definition for definition in self.definitions if not definition.is_class)

    def find(self, qualname: str) -> list[Named]:
        """Definitions of that very qualified name (several for a property and its setter)."""
        wanted = qualname.replace(".<locals>.", ".")
        return [one for one in self.definitions if one.qualname == wanted]

    def at(self, line: int) -> Named | None:
        """The innermost function around a line."""
        around = [one for one in self.functions() if one.first <= line <= one.last]
        return min(around, key=lambda one: one.last - one.first, default=None)

    def outer(self, line: int) -> Named | None:
        """The outermost function around a line: a nested function is shown with what it closes over."""
        around = [one for one in self.functions() if one.first <= line <= one.last]
        return max(around, key=lambda one: one.last - one.first, default=None)

    def source_of(self, one: Named) -> str:
        """Decorators included, comments above not."""
        return "\n".join(self.lines[one.first - 1 : one.last])

    def shown(self, one: Named) -> str:
        """As a reader should see it: with the comments above."""
        return "\n".join(self.lines[(one.top or one.first) - 1 : one.last])

    def encode(self, text: str) -> bytes:
        """The bytes of a changed text: encoding, BOM, line ends and a missing final newline stay as they were.

        Raises :class:`Unreadable` for characters that the file's encoding does not have.
        """
        if not self.text.endswith("\n") and self.text:
            text = text.rstrip("\n")
        try:
            return _with_line_ends(self.decoded, self.text, text).encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.start + 1]
            raise Unreadable(f"{self.path} is {error.encoding} and has no character {bad!r}") from error


def parse(text: str) -> ast.Module | None:
    try:
        return parsing.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def named(tree: ast.Module) -> Iterator[Named]:
    """Every function and class, in source order, with qualified names that leave ``<locals>`` out."""
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    found: list[Named] = []
    while stack:
        node, prefix = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                found.append(Named(prefix + child.name, child, first, child.end_lineno or child.lineno))
                stack.append((child, f"{prefix}{child.name}."))
            elif not isinstance(child, ast.expr):
                stack.append((child, prefix))
    return iter(sorted(found, key=lambda one: (one.first, -one.last)))


def _with_line_ends(original: str, plain: str, changed: str) -> str:
    if original == plain:
        return changed
    ends = _LINE.findall(original)
    usual = Counter(line[len(line.rstrip("\r\n")) :] for line in ends if line[-1] in "\r\n").most_common(1)[0][0]
    before, after = _LINE.findall(plain), _LINE.findall(changed)
    result: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, low, high, start, stop in matcher.get_opcodes():
        if kind == "equal":
            result += ends[low:high]
        else:
            result += [line[:-1] + usual if line.endswith("\n") else line for line in after[start:stop]]
    return "".join(result)
