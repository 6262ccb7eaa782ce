"""Comprehensions and loops: filters put in and taken out, the element, the order, what is looped over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if isinstance(node, (*_COMPREHENSIONS, ast.DictComp)):
            yield from _filters(region, node)
        if isinstance(node, _COMPREHENSIONS):
            for name in [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]:
                if source.segment(node.elt) != name:
                    yield swap(source, node.elt, name, "comprehension/element")
        if isinstance(node, ast.ListComp):
            inner = source.segment(node)[1:-1]
            yield swap(source, node, "{" + inner + "}", "comprehension/set", level=ATOM)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.elts:
            yield from _elements(region, node)
        elif isinstance(node, ast.Lambda):
            yield from _lambda(region, node)
        elif isinstance(node, ast.IfExp):
            body, orelse = source.segment(node.body), source.segment(node.orelse)
            (a, b), (c, d) = source.span(node.body), source.span(node.orelse)
            yield Draft(
                (Edit(a, b, orelse), Edit(c, d, body)), "comprehension/branches", f"exchange {body} and {orelse}"
            )
            yield swap(source, node, body, "comprehension/ternary/body")
            yield swap(source, node, orelse, "comprehension/ternary/else")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            yield from _range(region, node)
    for loop in region.of(ast.For, ast.comprehension):
        assert isinstance(loop, (ast.For, ast.comprehension))
        if (
            isinstance(loop.iter, ast.Call)
            and isinstance(loop.iter.func, ast.Name)
            and loop.iter.func.id == "enumerate"
        ):
            continue
        if isinstance(loop.target, ast.Name):
            text = source.segment(loop.iter)
            if text.startswith("range(len(") and text.endswith("))"):
                yield swap(source, loop.iter, text[10:-2], "comprehension/values")
            else:
                yield swap(source, loop.iter, f"range(len({text}))", "comprehension/indices", level=ATOM)
                yield swap(source, loop.iter, f"range({text})", "comprehension/range", level=ATOM)


def _filters(region: Region, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[Draft]:
    source = region.source
    for generator in node.generators:
        for condition in generator.ifs:
            end = source.span(condition)[1]
            start = source.text.rfind("if", source.span(generator.iter)[1], source.span(condition)[0])
            if start < 0:
                continue
            start = len(source.text[:start].rstrip())
            if source.text[start:end].count("(") == source.text[start:end].count(")"):
                yield Draft((Edit(start, end, ""),), "comprehension/filter/drop", "drop the filter")
        if generator.ifs:
            continue
        end = source.span(generator.iter)[1]
        while source.text[end : end + 1] == ")" and source.text[source.span(generator.iter)[0] - 1] == "(":
            end += 1
            break
        targets = [n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)]
        for name in targets:
            tests = [name, f"{name} % 2 == 0", f"{name} % 2 == 1", f"{name} > 0", f"{name} is not None", f"{name} != 0"]
            tests += [f"isinstance({name}, {kind})" for kind in ("int", "str")]
            tests += [f"{name} != {o}" for o in region.names[:8] if o != name]
            tests += [f"{name} in {o}" for o in region.names[:8] if o != name]
            for text in tests:
                yield Draft((Edit(end, end, f" if {text}"),), "comprehension/filter/add", f"only if {text}")


def _elements(region: Region, node: ast.List | ast.Tuple | ast.Set) -> Iterator[Draft]:
    source = region.source
    elements = node.elts
    if (
        isinstance(source.parent(node), (ast.For, ast.comprehension))
        and getattr(source.parent(node), "target", None) is node
    ):
        return
    for i, first in enumerate(elements):
        for second in elements[i + 1 : i + 6]:
            (a, b), (c, d) = source.span(first), source.span(second)
            one, two = source.text[a:b], source.text[c:d]
            if one != two:
                yield Draft(
                    (Edit(a, b, two), Edit(c, d, one)), "comprehension/elements/exchange", f"exchange {one} and {two}"
                )
    if len(elements) > 1 and not isinstance(node, ast.Tuple):
        for i, element in enumerate(elements):
            start, end = source.span(element)
            if i + 1 < len(elements):
                end = source.span(elements[i + 1])[0]
            else:
                start = source.span(elements[i - 1])[1]
            text = source.segment(element)
            yield Draft((Edit(start, end, ""),), "comprehension/elements/drop", f"drop {text}")
    if isinstance(node, ast.Tuple) and len(elements) == 2 and isinstance(source.parent(node), ast.Return):
        for element in elements:
            yield swap(source, node, source.segment(element), "comprehension/elements/untuple")


def _lambda(region: Region, node: ast.Lambda) -> Iterator[Draft]:
    """Sort keys: another part of the element, a second criterion, descending."""
    source = region.source
    if not node.args.args:
        return
    x = node.args.args[0].arg
    body = source.segment(node.body)
    options = [
        x,
        f"-{x}",
        f"{x}[0]",
        f"{x}[1]",
        f"-{x}[1]",
        f"-{x}[0]",
        f"len({x})",
        f"abs({x})",
        f"{x}.lower()",
        f"str({x})",
    ]
    for text in options:
        if text != body:
            yield swap(source, node.body, text, "comprehension/key")
    if not isinstance(node.body, ast.Tuple):
        for second in (x, f"-{x}", f"{x}[0]", f"{x}[1]", f"len({x})"):
            if second != body:
                yield swap(source, node.body, f"({body}, {second})", "comprehension/key/second", level=ATOM)
                yield swap(source, node.body, f"({second}, {body})", "comprehension/key/first", level=ATOM)


def _range(region: Region, node: ast.Call) -> Iterator[Draft]:
    source = region.source
    args = [source.segment(a) for a in node.args]
    if len(args) == 1:
        for start in ("1", "0", "2"):
            yield swap(source, node, f"range({start}, {args[0]})", "comprehension/range/start", level=ATOM)
        yield swap(source, node, f"range(1, {args[0]} + 1)", "comprehension/range/one", level=ATOM)
        yield swap(source, node, f"range({args[0]} - 1, -1, -1)", "comprehension/range/down", level=ATOM)
        yield swap(source, node, f"range(len({args[0]}))", "comprehension/range/len", level=ATOM)
    elif len(args) == 2:
        yield swap(source, node, f"range({args[1]})", "comprehension/range/whole", level=ATOM)
        yield swap(source, node, f"range({args[0]} + 1, {args[1]} + 1)", "comprehension/range/shift", level=ATOM)
        yield swap(source, node, f"range({args[1]}, {args[0]}, -1)", "comprehension/range/down", level=ATOM)
