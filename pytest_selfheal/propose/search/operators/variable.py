"""A variable, an attribute or a name for another one that is in scope; the written name as well as the read one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import Kinds
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.source import Region


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    kinds = Kinds(region, context)
    called = {n.func.id for n in region.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    locals_ = [n for n in region.names if n not in ("self", "cls")]
    module = [n for n, paths in context.names.items() if source.path in paths and not n.startswith("__")]
    for node in region.nodes:
        if not isinstance(node, ast.Name) or source.in_annotation(node):
            continue
        if isinstance(node.ctx, ast.Store):
            for name in locals_:
                if name != node.id:
                    yield swap(source, node, name, "variable/target")
            continue
        if node.id in called and node.id not in region.names:
            continue
        place = role(source, node)
        kind = kinds.of(node)
        for name in locals_:
            if name == node.id:
                continue
            other = kinds.variables.get(name, "any")
            factor = 0.35 if "any" not in (kind, other) and kind != other else 1.0
            yield swap(source, node, name, f"variable/local/{place}", factor)
        if node.id in module:
            for name in module[:60]:
                if name != node.id and name.isupper() == node.id.isupper():
                    yield swap(source, node, name, "variable/module", 0.3)
    yield from _exchanged(region)
    yield from _attributes(region, context)


def _exchanged(region: Region) -> Iterator[Draft]:
    """Two names exchanged throughout one statement."""
    source = region.source
    for statement in region.statements:
        if hasattr(statement, "body"):
            continue
        used = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        names = [n for n in dict.fromkeys(n.id for n in used) if n in region.names]
        for i, first in enumerate(names[:6]):
            for second in names[i + 1 : 6]:
                edits = tuple(
                    Edit(*source.span(n), second if n.id == first else first) for n in used if n.id in (first, second)
                )
                if len(edits) > 1:
                    yield Draft(edits, "variable/exchange", f"exchange {first} and {second}")


def _attributes(region: Region, context: Context) -> Iterator[Draft]:
    """``self.x`` for ``self.y``: attributes that the same object has elsewhere in the class or function."""
    source = region.source
    if isinstance(region.node, ast.Module):
        return
    holder = source.parent(region.node)
    around = holder if isinstance(holder, ast.ClassDef) else region.node
    known: dict[str, dict[str, bool]] = {}
    for node in ast.walk(around):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            up = source.parent(node)
            known.setdefault(node.value.id, {})[node.attr] = isinstance(up, ast.Call) and up.func is node
    for node in region.nodes:
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        up = source.parent(node)
        calls = isinstance(up, ast.Call) and up.func is node
        end = source.span(node)[1]
        start = end - len(node.attr)
        for attribute, called in list(known.get(node.value.id, {}).items())[:40]:
            if attribute != node.attr and called == calls:
                key = "variable/method" if calls else "variable/attribute"
                yield Draft((Edit(start, end, attribute),), key, f"replace .{node.attr} with .{attribute}")
    for node in region.expressions:  # a local for the attribute of the same name and back
        if isinstance(node, ast.Name) and "self" in known and node.id in known["self"] and not known["self"][node.id]:
            yield swap(source, node, f"self.{node.id}", "variable/self")
        elif isinstance(node, ast.Attribute) and source.segment(node.value) == "self" and node.attr in region.names:
            yield swap(source, node, node.attr, "variable/unself")
