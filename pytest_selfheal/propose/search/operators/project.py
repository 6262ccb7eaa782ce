"""The project's own vocabulary: its functions and methods put around values, its tables looked up, its accessors called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import insert
from pytest_selfheal.propose.search.operators.edit import fitted, swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import FunctionNode, Region

_MOST = 24
"""Functions of the project that are tried around one value."""


def propose(region: Region, context: Context) -> Iterator[Draft]:
    if isinstance(region.node, ast.Module):
        return
    said = {word for message in context.messages for word in re.findall(r"\w+", message)}
    wraps = _wrappers(region, region.node, said)
    tables = _tables(region)
    source = region.source
    for node in region.expressions:
        place = role(source, node)
        if place in ("callee", "object", "index", "slice", "condition") or isinstance(
            source.parent(node), (ast.Expr, ast.Attribute)
        ):
            continue
        if isinstance(node, (ast.Constant, ast.Lambda, ast.GeneratorExp)) or (
            isinstance(node, ast.Name) and node.id in ("self", "cls")
        ):
            continue
        text = source.segment(node)
        for name in wraps:
            if not text.startswith(f"{name}("):
                key = "project/named" if name.rpartition(".")[2] in said else f"project/wrap/{place}"
                yield swap(source, node, f"{name}({text})", key, level=ATOM)
        if place in ("return", "assign", "argument"):
            for table in tables:
                for key in _keys(region):
                    yield swap(
                        source, node, f"{fitted(source, node, text, 2)} or {table}.get({key})", "project/or", level=2
                    )
                    if isinstance(node, ast.Name):
                        yield swap(source, node, f"{table}.get({key}, {text})", "project/table", level=ATOM)
    yield from _accessors(region, region.node)
    yield from _wrapped_functions(region)
    yield from _reset(region, region.node)


def _wrappers(region: Region, node: FunctionNode, said: set[str]) -> list[str]:
    """Functions of the module that take one argument, and the class's methods that take one beside ``self``.

    Those that the failures name come first.
    """
    source = region.source
    found = [
        n.name
        for n in source.tree.body
        if isinstance(n, ast.FunctionDef) and n is not node and _takes(n) == 1 and not n.name.startswith("test")
    ]
    classes = [n.name for n in source.tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("Test")]
    found += sorted(classes, key=lambda name: name not in said)[:8]
    holder = source.parent(node)
    if isinstance(holder, ast.ClassDef) and "self" in region.parameters:
        found += [
            f"self.{n.name}"
            for owner in _lineage(region, holder)
            for n in owner.body
            if isinstance(n, ast.FunctionDef) and n is not node and _takes(n) == 2 and not n.name.startswith("__")
        ]
    found = list(dict.fromkeys(found))
    return sorted(found, key=lambda name: name.rpartition(".")[2] not in said)[:_MOST]


def _lineage(region: Region, holder: ast.ClassDef) -> list[ast.ClassDef]:
    """A class and its bases, as far as they stand in the same file."""
    classes = {n.name: n for n in region.source.tree.body if isinstance(n, ast.ClassDef)}
    found = [holder]
    for owner in found:
        bases = [classes[b.id] for b in owner.bases if isinstance(b, ast.Name) and b.id in classes]
        found += [base for base in bases if base not in found]
    return found


def _takes(node: ast.FunctionDef) -> int:
    """Required positional parameters."""
    return len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)


def _tables(region: Region) -> list[str]:
    """Module-level dictionaries."""
    return [
        target.id
        for node in region.source.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Dict, ast.DictComp))
        for target in node.targets
        if isinstance(target, ast.Name)
    ][:4]


def _keys(region: Region) -> list[str]:
    """What a table could be asked with: parameters and attributes of ``self`` that the class knows."""
    holder = region.source.parent(region.node)
    found = [p for p in region.parameters if p not in ("self", "cls")]
    if isinstance(holder, ast.ClassDef) and "self" in region.parameters:
        found += sorted(
            {
                f"self.{n.attr}"
                for n in ast.walk(holder)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
            }
        )
    return found[:20]


def _accessors(region: Region, node: FunctionNode) -> Iterator[Draft]:
    """``self._items`` → ``self.items()``, ``list(self)``, ``self``: the public way instead of the private field."""
    source = region.source
    holder = source.parent(node)
    if not isinstance(holder, ast.ClassDef):
        return
    methods = [
        n.name
        for n in holder.body
        if isinstance(n, ast.FunctionDef) and n is not node and _takes(n) == 1 and not n.name.startswith("__")
    ][:12]
    for expression in region.expressions:
        if not (
            isinstance(expression, ast.Attribute)
            and isinstance(expression.value, ast.Name)
            and expression.value.id == "self"
        ):
            continue
        up = source.parent(expression)
        if isinstance(up, (ast.Attribute, ast.Call)) and getattr(up, "func", up) is expression:
            continue
        for form in (*(f"self.{m}()" for m in methods), "list(self)", "self"):
            yield swap(source, expression, form, "project/accessor", level=ATOM)


def _wrapped_functions(region: Region) -> Iterator[Draft]:
    """``@wraps(func)`` on the inner function of a decorator."""
    source = region.source
    imported = {
        a.asname or a.name for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
    }
    prefix = "wraps" if "wraps" in imported else "functools.wraps"
    head: tuple[Edit, ...] = ()
    if prefix != "wraps" and "functools" not in imported:
        first = next((n for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))), None)
        edit = insert(source, first, "import functools") if first is not None else None
        if edit is None:
            return
        head = (edit,)
    for node in region.of(ast.FunctionDef):
        assert isinstance(node, ast.FunctionDef)
        if node.decorator_list:
            continue
        edit = insert(source, node, f"@{prefix}(NAME)")
        called = {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        for name in [p for p in region.parameters if p in called or p in ("func", "fn", "f", "function")]:
            if edit is not None:
                done = Edit(edit.start, edit.end, edit.text.replace("NAME", name))
                yield Draft((*head, done), "project/wraps", f"wraps({name})", at=source.span(node)[0])


def _reset(region: Region, node: FunctionNode) -> Iterator[Draft]:
    """State that another method sets and that the class or ``__init__`` starts with, reset at the beginning of this one."""
    source = region.source
    holder = source.parent(node)
    if not isinstance(holder, ast.ClassDef) or node.name == "__init__" or "self" not in region.parameters:
        return
    body = next((s for s in node.body if not source.is_docstring_statement(s)), None)
    init = next((n for n in holder.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    starts: dict[str, str] = {}
    for statement in [*holder.body, *(init.body if init else ())]:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.value, (ast.Constant, ast.List, ast.Dict))
        ):
            target = statement.targets[0]
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            starts[name] = source.segment(statement.value)
    written = {n.attr for n in ast.walk(holder) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    for name, value in starts.items():
        if name in written and body is not None and "\n" not in value:
            edit = insert(source, body, f"self.{name} = {value}")
            if edit is not None:
                yield Draft((edit,), "project/reset", f"self.{name} = {value} at the beginning")
