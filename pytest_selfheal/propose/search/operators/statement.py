"""Statements deleted, exchanged, moved, put deeper or shallower; blocks opened up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import insert, lines, reindent, text_of, unit
from pytest_selfheal.propose.search.operators.edit import short
from pytest_selfheal.propose.search.source import Region

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.statements:
        if isinstance(region.node, ast.Module) and isinstance(node, _DEFINITIONS):
            continue
        span = lines(source, node)
        if span is None:
            continue
        block = source.block(node)
        what = short(source.segment(node).partition("\n")[0])
        kind = type(node).__name__
        if len(block) > 1:
            # What stands behind a jump was written to be run.
            cuts = isinstance(node, _JUMPS) and block[-1] is not node
            factor = 4.0 if cuts else 1.0
            yield Draft((Edit(*span, ""),), f"statement/delete/{kind}", f"delete {what}", factor, at=span[0])
        elif not isinstance(node, ast.Pass):
            edit = Edit(span[0], span[1], f"{source.indent_of(node)}pass{source.newline}")
            yield Draft((edit,), "statement/delete/pass", f"delete {what}", 0.5)
        yield from _exchange(region, node, block, what)
        yield from _levels(region, node, block, what)
        yield from _opened(region, node)
    yield from _moved(region)
    yield from _runs(region)


def _runs(region: Region) -> Iterator[Draft]:
    """Two or three simple statements in a row deleted: something was left behind."""
    source = region.source
    for first in region.statements:
        block = source.block(first)
        index = block.index(first) if first in block else len(block)
        for count in (2, 3):
            run = block[index : index + count]
            spans = [lines(source, s) for s in run]
            if len(run) < count or len(block) <= count or not all(isinstance(s, _SIMPLE) for s in run):
                break
            start, end = spans[0], spans[-1]
            if start is not None and end is not None:
                what = f"delete {short(source.segment(first))} and what follows"
                yield Draft((Edit(start[0], end[1], ""),), "statement/delete/run", what, 1.0 if count == 2 else 0.5)


def _exchange(region: Region, node: ast.stmt, block: list[ast.stmt], what: str) -> Iterator[Draft]:
    source = region.source
    index = block.index(node) if node in block else len(block)
    if index + 1 < len(block):
        one, two = lines(source, node), lines(source, block[index + 1])
        first, second = text_of(source, node), text_of(source, block[index + 1])
        if one and two and first and second:
            between = source.text[one[1] : two[0]]
            edit = Edit(one[0], two[1], second + between + first)
            yield Draft((edit,), "statement/exchange", f"move {what} after the next statement")


def _levels(region: Region, node: ast.stmt, block: list[ast.stmt], what: str) -> Iterator[Draft]:
    """The last statement of a block after the block; the statement after a block into it."""
    source = region.source
    text, span = text_of(source, node), lines(source, node)
    if text is None or span is None:
        return
    up = source.parent(node)
    if block[-1] is node and isinstance(up, (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.ExceptHandler)):
        outer = up if not isinstance(up, ast.ExceptHandler) else source.parent(up)
        if isinstance(outer, ast.stmt) and block is not region.node.body:
            ends = lines(source, outer)
            if ends is not None and len(block) > 1:
                moved = reindent(text, source.indent_of(node), source.indent_of(outer))
                if ends[1] == span[1]:
                    yield Draft((Edit(*span, moved),), "statement/dedent", f"move {what} out of the block")
                else:
                    edits = (Edit(*span, ""), Edit(ends[1], ends[1], moved))
                    yield Draft(edits, "statement/dedent/over", f"move {what} out of the block")
    index = block.index(node) if node in block else 0
    if index > 0:
        before = block[index - 1]
        for body in _bodies(before):
            inner = source.indent_of(body[-1])
            ends = lines(source, body[-1])
            if ends is None or not inner.startswith(source.indent_of(node)):
                continue
            deeper = reindent(text, source.indent_of(node), inner)
            if source.text[ends[1] : span[0]].strip() == "":
                yield Draft((Edit(ends[1], span[1], deeper),), "statement/indent", f"move {what} into the block before")
            else:
                yield Draft(
                    (Edit(ends[1], ends[1], deeper), Edit(*span, "")),
                    "statement/indent/over",
                    f"move {what} into the block before",
                )


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Blocks of a compound statement, nested last blocks included."""
    if isinstance(node, _DEFINITIONS):
        return
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body:
            yield body
            yield from _bodies(body[-1])


def _opened(region: Region, node: ast.stmt) -> Iterator[Draft]:
    """``if``, ``with`` or a loop taken off its body; ``else`` taken off; an ``else`` put before what follows."""
    source = region.source
    span = lines(source, node)
    if span is None or not isinstance(node, (ast.If, ast.With, ast.For, ast.While, ast.Try)):
        return
    indent = source.indent_of(node)
    body = [text_of(source, s) for s in node.body]
    if all(t is not None for t in body):
        flat = reindent("".join(t or "" for t in body), source.indent_of(node.body[0]), indent)
        is_elif = source.text[source.span(node)[0] :].startswith("elif")
        orelse = getattr(node, "orelse", [])
        if not is_elif:
            yield Draft(
                (Edit(*span, flat),), f"statement/open/{type(node).__name__}", "run the block always", at=span[0]
            )
        if orelse and not is_elif and isinstance(node, ast.If):
            rest = [text_of(source, s) for s in orelse]
            if all(t is not None for t in rest) and source.indent_of(orelse[0]) != indent:
                other = reindent("".join(t or "" for t in rest), source.indent_of(orelse[0]), indent)
                yield Draft((Edit(*span, other),), "statement/open/else", "run the other block always", at=span[0])
                start = lines(source, node.body[-1])
                if start:
                    yield Draft((Edit(start[1], span[1], other),), "statement/unelse", "run the else block always")
                    yield Draft((Edit(start[1], span[1], ""),), "statement/delete/else", "drop the else block")
    if isinstance(node, (ast.If, ast.For, ast.While)) and not node.orelse:
        block = source.block(node)
        index = block.index(node) if node in block else len(block)
        following = block[index + 1 :]
        texts = [text_of(source, s) for s in following]
        if following and all(t is not None for t in texts):
            last = lines(source, following[-1])
            first = lines(source, following[0])
            if first and last:
                step = unit(source)
                for count in {1, len(following)}:
                    end = lines(source, following[count - 1])
                    if end:
                        deeper = reindent("".join(t or "" for t in texts[:count]), indent, indent + step)
                        text = f"{indent}else:{source.newline}{deeper}"
                        edit = Edit(first[0], end[1], text)
                        yield Draft((edit,), "statement/else", "run what follows only otherwise")


def _moved(region: Region) -> Iterator[Draft]:
    """A simple statement to the place before another one of the function (at that place's level)."""
    source = region.source
    simple = [
        s for s in region.statements if isinstance(s, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert))
    ]
    for node in simple:
        span, text = lines(source, node), text_of(source, node)
        if span is None or text is None or len(source.block(node)) < 2 or "\n" in source.segment(node):
            continue
        block = source.block(node)
        index = block.index(node)
        near = block[index + 1] if index + 1 < len(block) else None
        for other in region.statements:
            if other is node or other is near or isinstance(other, _DEFINITIONS):
                continue
            place = insert(source, other, source.segment(node))
            if place is not None:
                distance = abs(other.lineno - node.lineno)
                edits = (Edit(*span, ""), place)
                yield Draft(
                    edits, "statement/move", f"move {short(source.segment(node))}", 1.0 if distance < 6 else 0.5
                )
            if source.block(other)[-1] is other:
                place = insert(source, other, source.segment(node), after=True)
                if place is not None and not isinstance(other, (ast.Return, ast.Raise)):
                    yield Draft(
                        (Edit(*span, ""), place), "statement/move/end", f"move {short(source.segment(node))}", 0.5
                    )
