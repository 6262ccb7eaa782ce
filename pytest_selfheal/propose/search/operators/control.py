"""Flow: ``break`` ↔ ``continue``, ``if`` ↔ ``elif`` ↔ ``while``, missing ``return``, ``await``, ``yield``, branches exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import insert, lines, reindent, text_of
from pytest_selfheal.propose.search.operators.edit import fitted, swap
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    coroutine = isinstance(region.node, ast.AsyncFunctionDef)
    for node in region.statements:
        start, end = source.span(node)
        if isinstance(node, ast.Break):
            yield Draft((Edit(start, end, "continue"),), "control/continue", "continue instead of break")
            yield Draft((Edit(start, end, "pass"),), "control/pass", "no break")
        elif isinstance(node, (ast.Continue, ast.Pass)):
            yield Draft((Edit(start, end, "break"),), "control/break", "break")
            yield Draft((Edit(start, end, "continue"),), "control/continue", "continue")
            for name in ("True", "False", "None", *region.names[:8]):
                yield Draft((Edit(start, end, f"return {name}"),), "control/return", f"return {name}")
        elif isinstance(node, ast.If):
            yield from _if(region, node)
        elif isinstance(node, ast.While):
            yield from _progress(region, node)
            yield Draft((Edit(start, start + 5, "if"),), "control/once", "if instead of while")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield Draft((Edit(start, start + 6, "yield"),), "control/yield", "yield instead of return")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
            yield Draft(
                (Edit(start, start, ""), Edit(start, start + 5, "return")),
                "control/unyield",
                "return instead of yield",
            )
        yield from _inserted(region, node)
    if coroutine:
        for expression in region.expressions:
            if isinstance(expression, ast.Call) and not isinstance(source.parent(expression), ast.Await):
                text = f"await {source.segment(expression)}"
                yield swap(source, expression, text, "control/await", level=14)
    for expression in region.expressions:
        if isinstance(expression, ast.Await):
            yield swap(
                source, expression, fitted(source, expression, source.segment(expression.value)), "control/unawait"
            )
        elif isinstance(expression, ast.YieldFrom):
            edit = Edit(source.span(expression)[0], source.span(expression.value)[0], "yield ")
            yield Draft((edit,), "control/yield/one", "yield the value itself")
        elif isinstance(expression, ast.Yield) and expression.value is not None:
            place = source.span(expression.value)[0]
            yield Draft((Edit(place, place, "from "),), "control/yield/from", "yield from")


def _progress(region: Region, node: ast.While) -> Iterator[Draft]:
    """A step towards the end that the loop's body forgot."""
    source = region.source
    names = dict.fromkeys(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
    for name in [n for n in names if n in region.names]:
        steps = ("-= 1", "+= 1", "//= 10", "//= 2", "= {0}[1:]", "= {0}[:-1]", "+= 2")
        for step in steps:
            code = f"{name} {step.format(name)}"
            for place, after in ((node.body[-1], True), (node.body[0], False)):
                edit = insert(source, place, code, after=after)
                if edit is not None:
                    yield Draft((edit,), "control/progress", f"insert {code}", at=source.span(node)[0])


def _if(region: Region, node: ast.If) -> Iterator[Draft]:
    source = region.source
    start = source.span(node)[0]
    written = source.text[start : start + 4]
    if written == "elif":
        if not node.orelse:
            yield Draft((Edit(start, start + 4, "if"),), "control/if", "if instead of elif")
    else:
        yield Draft(
            (Edit(start, start + 2, "while"),), "control/while", "while instead of if", 0.7 if not node.orelse else 0.1
        )
        block = source.block(node)
        index = block.index(node) if node in block else 0
        if index and isinstance(block[index - 1], ast.If):
            before = block[index - 1]
            assert isinstance(before, ast.If)
            last = before
            while last.orelse and len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
                last = last.orelse[0]
            if not last.orelse:
                yield Draft((Edit(start, start + 2, "elif"),), "control/elif", "elif instead of if")
    if node.orelse:
        yield from _branches(region, node)
        if source.text[source.span(node.orelse[0])[0] :].startswith("elif") is False:
            body = [text_of(source, s) for s in node.orelse]
            last_line, span = lines(source, node.body[-1]), lines(source, node)
            if last_line and span and all(t is not None for t in body) and not isinstance(node.orelse[0], ast.If):
                flat = reindent(
                    "".join(t or "" for t in body), source.indent_of(node.orelse[0]), source.indent_of(node)
                )
                yield Draft((Edit(last_line[1], span[1], flat),), "control/unelse", "run the else block always")


def _branches(region: Region, node: ast.If) -> Iterator[Draft]:
    """The two blocks exchanged."""
    source = region.source
    first = [lines(source, s) for s in (node.body[0], node.body[-1])]
    second = [lines(source, s) for s in (node.orelse[0], node.orelse[-1])]
    if source.text[source.span(node.orelse[0])[0] :].startswith("elif"):
        other = node.orelse[0]
        if isinstance(other, ast.If):  # the next branch's block
            second = [lines(source, s) for s in (other.body[0], other.body[-1])]
    if None in first or None in second:
        return
    a, b = first[0][0], first[1][1]  # type: ignore[index]
    c, d = second[0][0], second[1][1]  # type: ignore[index]
    one, two = source.text[a:b], source.text[c:d]
    if not two.endswith("\n"):
        two += source.newline
    if b <= c:
        yield Draft((Edit(a, b, two), Edit(c, d, one)), "control/branches", "exchange the branches")
        other = node.orelse[0]
        if isinstance(other, ast.If) and source.text.startswith("elif", source.span(other)[0]):
            tests = (
                Edit(*source.span(node.test), source.segment(other.test)),
                Edit(*source.span(other.test), source.segment(node.test)),
            )
            edits = tuple(sorted((*tests, Edit(a, b, two), Edit(c, d, one))))
            yield Draft(edits, "control/order", "ask the second condition first")


def _inserted(region: Region, node: ast.stmt) -> Iterator[Draft]:
    """``break``, ``continue`` or ``return`` where a block ends without one."""
    source = region.source
    block = source.block(node)
    if not block or block[-1] is not node or isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return
    if isinstance(region.node, ast.Module):
        return
    up = source.parent(node)
    words: list[tuple[str, str]] = []
    looping = any(isinstance(a, (ast.For, ast.While)) for a in source.ancestors(node))
    if looping and isinstance(up, (ast.If, ast.Try, ast.ExceptHandler, ast.For, ast.While)):
        words += [("break", "control/insert/break"), ("continue", "control/insert/continue")]
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        if block is region.node.body:
            words += [
                (f"return {name}", "control/insert/return") for name in region.names[:16] if name not in ("self", "cls")
            ]
            words += [("return self", "control/insert/return")] if "self" in region.names else []
            words += [(f"return {v}", "control/insert/return/constant") for v in ("True", "False", "None", "0", "[]")]
        else:
            words += [
                (f"return {name}", "control/insert/return/inner")
                for name in region.names[:8]
                if name not in ("self", "cls")
            ]
            words += [(f"return {v}", "control/insert/return/inner") for v in ("True", "False")]
    for code, key in words:
        edit = insert(source, node, code, after=True)
        if edit is not None:
            yield Draft((edit,), key, f"insert {code}", at=source.span(node)[0])
    if (
        isinstance(node, ast.Expr)
        and block is region.node.body
        and not isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await))
    ):
        place = source.span(node)[0]
        yield Draft((Edit(place, place, "return "),), "control/return/last", "return the last value")
