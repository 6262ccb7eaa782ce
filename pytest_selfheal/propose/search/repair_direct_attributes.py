"""Attributes that an object lacks: misspellings, siblings, other languages' habits, members that were never set."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import near
from pytest_selfheal.propose.search.operators.block import insert
from pytest_selfheal.propose.search.operators.call import METHOD_SIBLINGS
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.repair_direct_places import (
    Drafts,
    failing_lines,
    here_factor,
    nearest_first,
)
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Raised

_BUILTIN_TYPES = {
    t.__name__: t
    for t in (
        str,
        bytes,
        int,
        float,
        list,
        tuple,
        dict,
        set,
        frozenset,
        bool,
        range,
        complex,
    )
}


def missing_attribute(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(
        r"(?:type object '([\w.]+)'|module '([\w.]+)'|'([\w.]+)' object)[^\n]*? has no attribute '(\w+)'",
        link.message,
    )
    if not match:
        return
    kind, module, instance, wanted = match.groups()
    owner = kind or instance or ""
    known: Iterable[str] = ()
    if module and module in sys.modules:
        known = [n for n in dir(sys.modules[module]) if not n.startswith("_")]
    elif owner in _BUILTIN_TYPES:
        known = [n for n in dir(_BUILTIN_TYPES[owner]) if not n.startswith("__")]
    members = _members(sources, owner)
    for source in nearest_first(sources, link):
        at = failing_lines(source, link)
        for node in ast.walk(source.tree):
            if not (isinstance(node, ast.Attribute) and node.attr == wanted and isinstance(node.ctx, ast.Load)):
                continue
            here = here_factor(source, node, at)
            end = source.span(node)[1]
            start = end - len(wanted)
            options = dict(near(wanted, {*known, *members}, 10))
            for name in METHOD_SIBLINGS.get(wanted, ()):
                if not known or name in known:
                    options.setdefault(name, 0.4)
            if not known and not members:
                options |= dict(near(wanted, context.attributes))
            for name, likeness in options.items():
                edit = Edit(start, end, name)
                yield (
                    source,
                    Draft(
                        (edit,),
                        "direct/attribute",
                        f"replace .{wanted} with .{name}",
                        likeness * here,
                    ),
                )
            base = source.segment(node.value)
            up = source.parent(node)
            whole = up if isinstance(up, ast.Call) and up.func is node else node
            if wanted in ("length", "size", "len", "count"):
                yield (
                    source,
                    swap(
                        source,
                        whole,
                        f"len({base})",
                        "direct/attribute/len",
                        0.8 * here,
                    ),
                )
            if wanted == "has_key" and isinstance(whole, ast.Call) and whole.args:
                yield (
                    source,
                    swap(
                        source,
                        whole,
                        f"{source.segment(whole.args[0])} in {base}",
                        "direct/attribute/in",
                        0.9 * here,
                    ),
                )
            yield source, swap(source, whole, base, "direct/attribute/drop", 0.5 * here)
            if module and "." not in module and wanted in module_level_of(module):
                yield (
                    source,
                    swap(source, node, wanted, "direct/attribute/bare", 0.3 * here),
                )
            if module and wanted == module:  # `datetime.datetime` after `from datetime import datetime`
                yield (
                    source,
                    swap(source, node, base, "direct/attribute/module", 0.6 * here),
                )
            if kind and isinstance(node.value, ast.Name) and node.value.id == wanted:
                yield (
                    source,
                    swap(source, node, base, "direct/attribute/module", 0.6 * here),
                )
    yield from _members_added(sources, owner, wanted)


def module_level_of(name: str) -> set[str]:
    return set(dir(sys.modules.get(name, builtins)))


def _classes(sources: Mapping[str, Source], name: str) -> Iterator[tuple[Source, ast.ClassDef]]:
    for source in sources.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name == name.rpartition(".")[2]:
                yield source, node


def _members(sources: Mapping[str, Source], owner: str) -> set[str]:
    """Methods, class attributes and ``self.x = …`` of the project's class of that name."""
    found: set[str] = set()
    for _, node in _classes(sources, owner):
        for child in ast.walk(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.add(child.name)
            elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                found.add(child.attr)
        found |= {
            n.id
            for s in node.body
            if isinstance(s, (ast.Assign, ast.AnnAssign))
            for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
    return found


def _members_added(sources: Mapping[str, Source], owner: str, wanted: str) -> Drafts:
    """The attribute set in ``__init__``, or a member with nearly that name renamed."""
    for source, node in _classes(sources, owner):
        for child in ast.walk(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for _, likeness in near(wanted, {child.name}):
                    start = source.text.find(child.name, source.span(child)[0])
                    edit = Edit(start, start + len(child.name), wanted)
                    yield (
                        source,
                        Draft(
                            (edit,),
                            "direct/member/rename",
                            f"rename {child.name}() to {wanted}()",
                            likeness * 0.8,
                        ),
                    )
            elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                for _, likeness in near(wanted, {child.attr}):
                    end = source.span(child)[1]
                    edit = Edit(end - len(child.attr), end, wanted)
                    yield (
                        source,
                        Draft(
                            (edit,),
                            "direct/member/rename",
                            f"set .{wanted} instead of .{child.attr}",
                            likeness * 0.8,
                        ),
                    )
        init = next(
            (c for c in node.body if isinstance(c, ast.FunctionDef) and c.name == "__init__"),
            None,
        )
        if init is not None:
            parameters = [a.arg for a in (*init.args.args, *init.args.kwonlyargs)]
            bare = wanted.lstrip("_")
            values = [(bare, 0.9)] if bare in parameters else []
            values += [(v, 0.35) for v in ("None", "[]", "{}", "0", '""', "set()", "False")]
            for value, factor in values:
                added = insert(source, init.body[-1], f"self.{wanted} = {value}", after=True)
                if added is not None:
                    yield (
                        source,
                        Draft(
                            (added,),
                            "direct/member/init",
                            f"set self.{wanted} = {value}",
                            factor,
                        ),
                    )
