"""One Python file as text and tree, with exact character spans: what operators read and edit."""

from __future__ import annotations

import ast
import bisect
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import CodeType
from typing import TypeAlias, TypeVar

from pytest_selfheal.propose.search.candidate import Candidate, apply

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)


def unread(function: FunctionNode | ast.Lambda) -> set[str]:
    """Parameters and local variables that nothing in a function reads; names with ``_`` in front say that they are not."""
    arguments = function.args
    bound = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    bound |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
    read = {"self", "cls"}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
    return {name for name in bound - read if not name.startswith("_")}


class Region:
    """The part of a source that one round of operators works on: a function with its body, or the module level."""

    def __init__(
        self,
        source: Source,
        qualname: str,
        node: FunctionNode | ast.Module,
        focus: frozenset[int] = frozenset(),
    ) -> None:
        self.source = source
        self.qualname = qualname
        self.node = node
        self.focus = focus
        """Suspicious lines: what stands on them comes first, so that a cap cuts off the rest."""

    def _ordered(self, nodes: Iterable[_Node]) -> tuple[_Node, ...]:
        if not self.focus:
            return tuple(nodes)
        return tuple(sorted(nodes, key=lambda n: getattr(n, "lineno", 0) not in self.focus))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the region in source order; at module level without the bodies of functions."""
        return tuple(self._walk(self.node))

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.JoinedStr) and not self.source.sees_into(child):
                yield child
                continue
            yield child
            if isinstance(self.node, ast.Module) and isinstance(child, _FUNCTIONS):
                yield from (n for d in child.args.defaults for n in (d, *self._walk(d)))
                continue
            yield from self._walk(child)

    def of(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return iter(self._ordered(node for node in self.nodes if isinstance(node, kinds)))

    @cached_property
    def expressions(self) -> tuple[ast.expr, ...]:
        """Expressions that are read (no targets, annotations or docstrings)."""
        return self._ordered(
            node
            for node in self.nodes
            if isinstance(node, ast.expr)
            and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            and not isinstance(node, (ast.Slice, ast.Starred, ast.FormattedValue))
            and not self.source.is_docstring(node)
            and not self.source.in_annotation(node)
            and not isinstance(self.source.parent(node), ast.JoinedStr)
        )

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        return self._ordered(
            node for node in self.nodes if isinstance(node, ast.stmt) and not self.source.is_docstring_statement(node)
        )

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        if isinstance(self.node, ast.Module):
            return ()
        args = self.node.args
        found = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        found += [a.arg for a in (args.vararg, args.kwarg) if a]
        return tuple(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Variables in scope: parameters first, then what the region binds, in order of appearance."""
        found = dict.fromkeys(self.parameters)
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.id)
            elif isinstance(node, ast.arg):
                found.setdefault(node.arg)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                found.setdefault(node.name)
        return tuple(found)

    @cached_property
    def unread(self) -> re.Pattern[str] | None:
        """Matches parameters and local variables that are never read in a function; ``None`` where all are."""
        if isinstance(self.node, ast.Module):
            return None
        left = sorted(unread(self.node))
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, left))})\b") if left else None

    @cached_property
    def span(self) -> tuple[int, int]:
        return (0, len(self.source.text)) if isinstance(self.node, ast.Module) else self.source.span(self.node)


class Source:
    """A parsed file. Raises :class:`SyntaxError` when it does not parse (``direct`` works on the text then)."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(text)
        self.nodes = tuple(ast.walk(self.tree))
        """All of them, as :func:`ast.walk` finds them, which takes ten times as long."""
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in self.nodes:
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        # ast counts only these as ends of lines; str.splitlines() knows many more.
        self._starts = [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", text))]
        self._ascii = text.isascii()
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        self._visible: dict[ast.AST, bool] = {}
        self.functions: dict[str, FunctionNode] = {}
        self._qualnames: dict[ast.AST, str] = {}
        self._name_scopes(self.tree, "")

    def _name_scopes(self, node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _SCOPES):
                name = f"{prefix}{child.name}"
                self._qualnames[child] = name
                if isinstance(child, _FUNCTIONS):
                    self.functions.setdefault(name, child)
                    self._name_scopes(child, f"{name}.<locals>.")
                else:
                    self._name_scopes(child, f"{name}.")
            else:
                self._name_scopes(child, prefix)

    # Spans

    def offset(self, line: int, column: int) -> int:
        """Characters before this place of ``ast``: 1-based line, column in UTF-8 bytes."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Character offsets of a node (without parentheses around it; a function's begins at ``def``)."""
        found = self._spans.get(node)
        if found is None:
            n: ast.expr = node  # type: ignore[assignment]
            found = (
                self.offset(n.lineno, n.col_offset),
                self.offset(n.end_lineno or 0, n.end_col_offset or 0),
            )
            self._spans[node] = found
        return found

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """1-based line of a character offset."""
        return bisect.bisect_right(self._starts, offset)

    def line_span(self, first: int, last: int) -> tuple[int, int]:
        """Offsets of whole lines (1-based, inclusive), the last line's end included."""
        end = self._starts[last] if last < len(self._starts) else len(self.text)
        return self._starts[first - 1], end

    def indent_of(self, node: ast.AST) -> str:
        """White space before the line on which a node begins."""
        start = self._starts[node.lineno - 1]  # type: ignore[attr-defined]
        match = re.compile(r"[ \t\f]*").match(self.text, start)
        return match.group() if match else ""

    @cached_property
    def newline(self) -> str:
        match = re.search(r"\r\n|\r|\n", self.text)
        return match.group() if match else "\n"

    @cached_property
    def masked(self) -> str:
        """The text with comments and the insides of strings blanked out, offsets unchanged: for finding tokens."""
        chars = list(self.text)
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING):
                    start = self._starts[token.start[0] - 1] + token.start[1]
                    end = self._starts[token.end[0] - 1] + token.end[1]
                    chars[start:end] = " " * (end - start)
        except (
            tokenize.TokenError,
            SyntaxError,
            IndexError,
        ):  # what ast parses but tokenize does not
            return self.text
        return "".join(chars)

    # Structure

    @cached_property
    def keywords(self) -> dict[str, dict[str, None]]:
        """Callee, as it is written → the short keyword arguments that calls of it pass."""
        found: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                text = self.segment(keyword)
                if keyword.arg and "\n" not in text and len(text) < 50:
                    found.setdefault(self.segment(node.func), {})[text] = None  # type: ignore[attr-defined]
        return found

    @cached_property
    def decorators(self) -> tuple[tuple[FunctionNode, str], ...]:
        """Each function's decorators, as they are written."""
        functions = (node for node in self.nodes if isinstance(node, _FUNCTIONS))
        return tuple((node, self.segment(d)) for node in functions for d in node.decorator_list)

    @cached_property
    def attributes(self) -> dict[str, None]:
        """Texts of all attribute expressions."""
        return dict.fromkeys(self.segment(node) for node in self.nodes if isinstance(node, ast.Attribute))

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        up = self.parents.get(node)
        while up is not None:
            yield up
            up = self.parents.get(up)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds a node (itself when it is one)."""
        if isinstance(node, ast.stmt):
            return node
        return next((up for up in self.ancestors(node) if isinstance(up, ast.stmt)), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        up = self.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            found = getattr(up, name, None)
            if isinstance(found, list) and statement in found:
                return found
        return [statement]

    def is_docstring_statement(self, node: ast.AST) -> bool:
        if not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            return False
        up = self.parents.get(node)
        return isinstance(up, (*_SCOPES, ast.Module)) and up.body[0] is node

    def is_docstring(self, node: ast.AST) -> bool:
        up = self.parents.get(node)
        return isinstance(node, ast.Constant) and up is not None and self.is_docstring_statement(up)

    def in_annotation(self, node: ast.AST) -> bool:
        child = node
        for up in self.ancestors(node):
            if isinstance(up, ast.arg):
                return True
            if isinstance(up, (ast.AnnAssign, *_FUNCTIONS)) and child in (
                getattr(up, "annotation", None),
                getattr(up, "returns", None),
            ):
                return True
            if isinstance(up, ast.stmt):
                return False
            child = up
        return False

    def sees_into(self, node: ast.JoinedStr) -> bool:
        """Whether positions inside this f-string can be trusted; before Python 3.12 many are wrong."""
        if sys.version_info >= (3, 12):
            return True
        found = self._visible.get(node)
        if found is None:
            found = all(self._faithful(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
            self._visible[node] = found
        return found

    @cached_property
    def _fstrings(self) -> list[tuple[int, int]]:
        return [self.span(n) for n in self.nodes if isinstance(n, ast.JoinedStr)]

    def breaks_string(self, start: int, end: int, text: str) -> bool:
        """Whether ``text`` between these offsets would end an f-string around it early (before Python 3.12)."""
        if sys.version_info >= (3, 12) or not self._fstrings or not any(c in text for c in "'\"\\#\n"):
            return False
        return any(a < start and end < b for a, b in self._fstrings)

    def _faithful(self, node: ast.expr) -> bool:
        try:
            start, end = self.span(node)
            outer = self.span(next(up for up in self.ancestors(node) if isinstance(up, ast.JoinedStr)))
            if not outer[0] < start < end < outer[1]:
                return False
            return ast.dump(ast.parse(self.text[start:end].strip(), mode="eval").body) == ast.dump(node)
        except (SyntaxError, IndexError, ValueError, AttributeError, StopIteration):
            return False

    def enclosing(self, offset: int) -> tuple[str, bool]:
        """Qualified name of the innermost function around an offset, and whether the offset is in its body."""
        name, inside, best = "<module>", False, -1
        for qualname, node in self.functions.items():
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            start = self._starts[first - 1]
            if start <= offset <= self.span(node)[1] and start > best:
                body = self.span(node.body[0])[0]
                name, inside, best = (
                    qualname,
                    offset >= body or self._before_body(node, offset),
                    start,
                )
        return name, inside

    def _before_body(self, node: FunctionNode, offset: int) -> bool:
        """Whether an insertion on the first body line's indentation counts as inside: it does once past the header."""
        start = self.span(node.body[0])[0]
        return offset >= self._starts[self.line_of(start) - 1] and self.line_of(offset) > node.lineno

    def inserted(self, offset: int, text: str) -> tuple[str, bool]:
        """Like :meth:`enclosing` for lines put in at a line's start: they may belong to the function that ends there."""
        if not offset or self.text[offset - 1] not in "\r\n" or not text.strip():
            return self.enclosing(offset)
        indent = len(text) - len(text.lstrip())
        line = self.line_of(offset - 1)
        ended = [
            (node.lineno, name)
            for name, node in self.functions.items()
            if node.end_lineno == line and len(self.indent_of(node)) < indent
        ]
        return (max(ended)[1], True) if ended else self.enclosing(offset)

    def region(self, qualname: str) -> Region | None:
        """The function of that name, by its last part when the qualified name is not known; ``<module>`` is the module level."""
        if qualname == "<module>":
            return Region(self, qualname, self.tree)
        node = self.functions.get(qualname)
        if node is None:
            last = qualname.rpartition(".")[2]
            matches = [name for name in self.functions if name.rpartition(".")[2] == last]
            if not matches:
                return None
            qualname, node = matches[0], self.functions[matches[0]]
        return Region(self, qualname, node)

    def function_at(self, line: int) -> str:
        """Qualified name of the innermost function on a line, ``<module>`` when there is none."""
        name, best = "<module>", 0
        for qualname, node in self.functions.items():
            if node.lineno <= line <= (node.end_lineno or 0) and node.lineno > best:
                name, best = qualname, node.lineno
        return name

    @cached_property
    def _flags(self) -> int:
        names = [
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        ]
        import __future__

        return sum(getattr(__future__, name).compiler_flag for name in names)

    def _unit(self, qualname: str) -> tuple[int, int, str]:
        """Span of the outermost function around ``qualname`` and the ``class …:`` lines that must stand before it."""
        outer = qualname.split(".<locals>.")[0]
        node = self.functions[outer]
        start = self._starts[node.lineno - 1]
        classes = [up for up in self.ancestors(node) if isinstance(up, ast.ClassDef)]
        header = "".join(f"{self.indent_of(up)}class {up.name}:\n" for up in reversed(classes))
        blocks = [up for up in self.ancestors(node) if isinstance(up, ast.stmt) and not isinstance(up, ast.ClassDef)]
        if blocks:  # a function under `if` or `try`: any block will do
            header = ""
            for up in reversed([*classes, *blocks]):
                header += f"{self.indent_of(up)}{'class ' + up.name if isinstance(up, ast.ClassDef) else 'if 1'}:\n"
        return start, self.span(node)[1], header

    def compile(self, candidate: Candidate) -> dict[str, CodeType]:
        """Code objects of the edited function and of what is nested in it, by qualified name, with right line numbers.

        Only the function's own text is compiled, so that big modules cost no more than small ones.
        For ``body_only`` candidates; raises :class:`SyntaxError` (or :class:`ValueError`) when the result is no Python.
        """
        start, end, header = self._unit(candidate.function)
        text = apply(self.text, candidate.edits)
        end += len(text) - len(self.text)
        lines = self.line_of(start) - 1 - header.count("\n")
        unit = "\n" * lines + header + text[start:end] + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `x is 1` and its like: the candidate's business, not the user's
            code = compile(unit, self.path, "exec", flags=self._flags, dont_inherit=True)
        found: dict[str, CodeType] = {}
        outer = candidate.function.split(".<locals>.")[0]
        target: CodeType | None = code
        for part in outer.split("."):
            target = next(
                (c for c in (target.co_consts if target else ()) if isinstance(c, CodeType) and c.co_name == part),
                None,
            )
        if target is None:
            raise SyntaxError(f"{outer} is gone")
        _collect(target, outer, found)
        return found


def _collect(code: CodeType, qualname: str, found: dict[str, CodeType]) -> None:
    found[qualname] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _collect(constant, f"{qualname}.<locals>.{constant.co_name}", found)
