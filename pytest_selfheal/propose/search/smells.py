"""What a reader would stumble over in a patch that passes: signs that it fits the tests rather than the intention.

Patches that switch something off pass more often than they are right (Qi, Long, Achour, Rinard: "An Analysis of Patch
Plausibility and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA 2015). A value that nothing reads any more and
an operand that repeats its neighbour are how this looks in a single edit.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_selfheal import parsing
from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply
from pytest_selfheal.propose.search.source import Source, unread

UNREAD = 0.25
"""A variable that was read before is not read any more, or a value is overwritten before anything reads it."""
TWIN = 0.2
"""``a + a`` where the operands were different."""
SAME_SIDES = 0.1
"""``a == a``, ``a and a``: nothing is decided any more."""

LONG = 100_000
"""Characters of a file beyond which only changes inside one function are looked at."""


def doubt_of(source: Source, candidate: Candidate) -> float:
    """:func:`doubt` of a candidate, looked for in the function that it changes where it changes just one."""
    before, after = _around(source, candidate)
    return doubt(before, after) if len(before) <= LONG else 1.0


def reads_of(source: Source, candidate: Candidate) -> Counter[str]:
    """How often each name is read with the candidate in place, in the function that it changes where it is just one."""
    _, after = _around(source, candidate)
    try:
        tree = parsing.parse(after if len(after) <= LONG else "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter()
    return Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def rewrites(source: Source, candidate: Candidate) -> bool:
    """Whether an expression was replaced by another one: other functions are called, and something is read no longer.

    Exchanging a variable, an operator or a function alone is a slip mended; all at once is a new formula that happens to
    give what the tests ask for.
    """
    before, after = _around(source, candidate)
    try:
        old, new = parsing.parse(before), parsing.parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    old_calls, new_calls = _called(old), _called(new)
    return bool(_read(old) - _read(new)) and bool(old_calls - new_calls) and bool(new_calls - old_calls)


def _called(tree: ast.Module) -> Counter[str]:
    return Counter(ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _read(tree: ast.Module) -> Counter[str]:
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in functions
    )


def _around(source: Source, candidate: Candidate) -> tuple[str, str]:
    """The text that a candidate changes, before and after: the function where its edits lie in one, else the file."""
    node = source.functions.get(candidate.function.split(".<locals>.")[0])
    edits: Sequence[Edit] = candidate.edits
    text = source.text
    if node is not None:
        start, end = source.span(node)
        if all(start <= edit.start and edit.end <= end for edit in edits):
            indent = source.indent_of(node)
            head = f"if 1:\n{indent}" if indent else ""
            edits = [Edit(e.start - start + len(head), e.end - start + len(head), e.text) for e in edits]
            text = head + text[start:end]
    return text, apply(text, edits)


def doubt(before: str, after: str) -> float:
    """The share of a patch's weight that its smells leave it, 1.0 when there are none; both are source text.

    Only what the patch brings in counts. Code that does not parse has no smells.
    """
    try:
        old, new = parsing.parse(before), parsing.parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1.0
    lost = _unread(new) - _unread(old) or Counter(_overwritten(new)) - Counter(_overwritten(old))
    left = UNREAD if lost else 1.0
    for kind, share in (("arithmetic", TWIN), ("decision", SAME_SIDES)):
        if Counter(_twins(new, kind)) - Counter(_twins(old, kind)):
            left *= share
    return left


def _unread(tree: ast.Module) -> set[tuple[str, str]]:
    """(function, name) of the parameters and local variables that a function never reads."""
    return {
        (getattr(node, "name", "<lambda>"), name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for name in unread(node)
    }


def _overwritten(tree: ast.Module) -> Iterator[str]:
    """The variables that get another value in the same block before anything reads the first one."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for i, statement in enumerate(block):
                if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
                    continue
                target = statement.targets[0].id
                uses = [list(_uses(later, target)) for later in block[i + 1 :]]
                first = next((k for k, found in enumerate(uses) if found), None)
                if first is None or not isinstance(uses[first][0].ctx, ast.Store):
                    continue
                simple = isinstance(block[i + 1 + first], ast.Assign)
                if simple or not any(isinstance(n.ctx, ast.Load) for found in uses[first + 1 :] for n in found):
                    yield target


def _uses(statement: ast.stmt, name: str) -> Iterator[ast.Name]:
    """Where a statement reads or sets a variable, in the order in which that happens."""
    if isinstance(statement, ast.Assign):
        parts: list[ast.AST] = [statement.value, *statement.targets]
        yield from (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == name)
        return
    if not hasattr(statement, "body"):
        yield from (n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name)
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _uses(child, name)
        else:
            inner = [n for n in ast.walk(child) if isinstance(n, ast.stmt)]  # the bodies of handlers and cases
            yield from (n for n in ast.walk(child) if isinstance(n, ast.Name) and n.id == name and not inner)
            for deeper in inner if isinstance(child, (ast.ExceptHandler, ast.match_case)) else ():
                yield from _uses(deeper, name)


def _twins(tree: ast.Module, kind: str) -> Iterator[str]:
    """The operations with two equal operands, as text."""
    for node in ast.walk(tree):
        if kind == "arithmetic":
            # x * x is how a square is written
            if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mult) and _same(node.left, node.right):
                yield ast.dump(node)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_same(a, b) for a, b in itertools.pairwise(sides)):
                yield ast.dump(node)
        elif isinstance(node, ast.BoolOp):
            texts = [ast.dump(value) for value in node.values]
            if len(set(texts)) < len(texts):
                yield ast.dump(node)


def _same(first: ast.expr, second: ast.expr) -> bool:
    return not isinstance(first, ast.Constant) and ast.dump(first) == ast.dump(second)
