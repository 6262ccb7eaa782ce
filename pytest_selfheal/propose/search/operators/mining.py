"""What other code knows: keyword names and defaults of callees, decorators of siblings, twins' arguments, attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import lines
from pytest_selfheal.propose.search.operators.edit import short, swap
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    yield from _keywords(region, context)
    yield from _same_callee(region)
    yield from _defaults(region, context)
    yield from _decorators(region)
    yield from _collections(region, context)


def _keywords(region: Region, context: Context) -> Iterator[Draft]:
    """Arguments passed on under the callee's parameter name; keywords renamed to ones the callee has."""
    source = region.source
    names = [n for n in region.names if n != "self"]
    for node in region.of(ast.Call):
        assert isinstance(node, ast.Call)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        signatures = context.signatures.get(
            "__init__" if name[:1].isupper() and name not in context.signatures else name, ()
        )
        has = {k.arg for k in node.keywords}
        end = source.span(node)[1] - 1
        comma = ", " if (node.args or node.keywords) and not source.text[:end].rstrip().endswith(",") else ""
        for signature in signatures[:4]:
            free = [p for p in signature.parameters if p not in has and p not in ("self", "cls")]
            for keyword in node.keywords:
                if keyword.arg and keyword.arg not in signature.parameters:
                    start = source.span(keyword)[0]
                    for parameter in free:
                        edit = Edit(start, start + len(keyword.arg), parameter)
                        yield Draft((edit,), "mining/keyword/rename", f"pass {parameter} to {name}()")
            for parameter in free:
                values = [parameter] if parameter in names else []
                values += (
                    [f"self.{parameter}"] if "self" in region.parameters and parameter in context.attributes else []
                )
                values += ["True", "False", "None"]
                for value in values:
                    factor = 4.0 if value.rpartition(".")[2] == parameter else 0.5
                    edit = Edit(end, end, f"{comma}{parameter}={value}")
                    yield Draft((edit,), "mining/keyword/add", f"pass {parameter}={value} to {name}()", factor)


def _same_callee(region: Region) -> Iterator[Draft]:
    """Keyword arguments that other calls of the same function in this file pass."""
    source = region.source
    for node in region.of(ast.Call):
        assert isinstance(node, ast.Call)
        has = {k.arg for k in node.keywords}
        end = source.span(node)[1] - 1
        comma = ", " if (node.args or node.keywords) and not source.text[:end].rstrip().endswith(",") else ""
        for text in source.keywords.get(source.segment(node.func), {}):
            if text.partition("=")[0].strip() not in has and not isinstance(
                node.args[0] if node.args else None, ast.GeneratorExp
            ):
                yield Draft((Edit(end, end, comma + text),), "mining/keyword/twin", f"pass {text} as other calls do")


def _defaults(region: Region, context: Context) -> Iterator[Draft]:
    """Default values of parameters: other ones, and ``None`` with a check for mutable ones."""
    source = region.source
    if isinstance(region.node, ast.Module):
        return
    args = region.node.args
    positional = [*args.posonlyargs, *args.args]
    pairs = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
    values = ["None", "True", "False", "0", "1", '""', "()", "-1"]
    for arg, default in pairs:
        text = source.segment(default)
        for value in values:
            if value != text:
                yield swap(source, default, value, "mining/default", at_least(text, value))
        if isinstance(default, (ast.List, ast.Dict, ast.Set)) or (
            isinstance(default, ast.Call) and text.endswith("()")
        ):
            body = next((s for s in region.node.body if not source.is_docstring_statement(s)), None)
            span = lines(source, body) if body else None
            if span and body:
                indent = source.indent_of(body)
                nl = source.newline
                from pytest_selfheal.propose.search.operators.block import unit

                check = f"{indent}if {arg.arg} is None:{nl}{indent}{unit(source)}{arg.arg} = {text}{nl}"
                edits = (Edit(*source.span(default), "None"), Edit(span[0], span[0], check))
                yield Draft(edits, "mining/default/mutable", f"a new {text} for each call")
    for arg in positional[: len(positional) - len(args.defaults)][::-1][:1]:
        if arg.arg not in ("self", "cls"):
            end = source.span(arg)[1]
            for value in ("None", "True", "False", "0", '""'):
                sign = " = " if arg.annotation else "="
                yield Draft((Edit(end, end, f"{sign}{value}"),), "mining/default/add", f"default {value} for {arg.arg}")


def at_least(old: str, new: str) -> float:
    """True ↔ False is the likely slip, None the likely fix for a value that cannot be told from a given one."""
    return 3.0 if {old, new} == {"True", "False"} else 1.5 if new == "None" else 1.0


def _decorators(region: Region) -> Iterator[Draft]:
    """Decorators that siblings carry, added or taken off."""
    source = region.source
    if isinstance(region.node, ast.Module):
        return
    node = region.node
    holder = source.parent(node)
    mine = [source.segment(d) for d in node.decorator_list]
    seen = dict.fromkeys(text for other, text in source.decorators if other is not node)
    extra = ["staticmethod", "classmethod", "property"] if isinstance(holder, ast.ClassDef) else []
    start = source.line_span(node.lineno, node.lineno)[0]
    indent = source.indent_of(node)
    for text in dict.fromkeys([*seen, *extra]):
        if text not in mine and "\n" not in text and len(text) < 60:
            edit = Edit(start, start, f"{indent}@{text}{source.newline}")
            yield Draft((edit,), "mining/decorator/add", f"decorate with @{short(text)}", at=source.span(node)[0])
    for decorator in node.decorator_list:
        a, b = source.line_span(decorator.lineno, decorator.end_lineno or decorator.lineno)
        yield Draft((Edit(a, b, ""),), "mining/decorator/drop", f"drop @{short(source.segment(decorator))}")


def _collections(region: Region, context: Context) -> Iterator[Draft]:
    """A literal collection with one more element: what the tests pass in, or the words of the failure."""
    source = region.source
    pool = [
        v
        for v in (*context.inputs, *context.docstring_literals)
        if isinstance(v, (str, int)) and not isinstance(v, bool)
    ]
    for node in region.nodes:
        if not (isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.elts) or isinstance(
            node.ctx if isinstance(node, (ast.List, ast.Tuple)) else None, ast.Store
        ):
            continue
        if all(isinstance(e, (ast.Name, ast.Attribute)) for e in node.elts) and len(node.elts) > 1:
            yield from _members(region, node)
        if not all(isinstance(e, ast.Constant) for e in node.elts):
            continue
        has = {e.value for e in node.elts if isinstance(e, ast.Constant)}
        kind = type(next(iter(has)))
        last = source.span(node.elts[-1])[1]
        fitting: list[str | int] = [v for v in pool if type(v) is kind]
        if kind is str and all(str(v).isupper() for v in has):
            texts = [str(v) for v in fitting]
            fitting = [*(t.upper() for t in texts), *(w.upper() for t in texts for w in t.split("."))]
        for value in [v for v in dict.fromkeys(fitting) if v not in has][:60]:
            yield Draft((Edit(last, last, f", {value!r}"),), "mining/collection", f"{value!r} in the collection too")


def _members(region: Region, node: ast.List | ast.Tuple | ast.Set) -> Iterator[Draft]:
    """A collection of names or attributes (``(T.Space, T.Comment)``) with one more of the same kind."""
    source = region.source
    last = node.elts[-1]
    end = source.span(last)[1]
    has = {source.segment(e) for e in node.elts}
    if isinstance(last, ast.Attribute):
        base = source.segment(last.value) + "."
        pool = [t for t in source.attributes if t.startswith(base) and "(" not in t]
    else:
        pool = [
            "int",
            "float",
            "str",
            "bytes",
            "list",
            "tuple",
            "set",
            "frozenset",
            "dict",
            "bool",
            "complex",
            *region.names,
        ]
    for text in [t for t in dict.fromkeys(pool) if t not in has][:40]:
        yield Draft((Edit(end, end, f", {text}"),), "mining/collection/name", f"{text} in the collection too")
