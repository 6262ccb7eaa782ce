"""Names and keys that do not exist: misspellings of what does, imports that were forgotten, locals read too early."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Mapping

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import near
from pytest_selfheal.propose.search.operators.block import insert
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.repair_direct_places import (
    Drafts,
    failing_lines,
    from_lines,
    here_factor,
    import_line,
    module_level,
    module_names,
    nearest_first,
)
from pytest_selfheal.propose.search.source import Region, Source
from pytest_selfheal.types import Raised

_HOMES = [
    "collections",
    "typing",
    "functools",
    "itertools",
    "dataclasses",
    "pathlib",
    "datetime",
    "math",
    "copy",
    "re",
    "os",
    "sys",
    "json",
    "enum",
    "abc",
    "contextlib",
    "time",
    "operator",
    "random",
    "string",
    "decimal",
    "fractions",
    "statistics",
    "io",
    "types",
    "warnings",
    "textwrap",
    "heapq",
    "bisect",
    "collections.abc",
]
"""Standard modules whose names are used without their module's name."""
_FOREIGN = {
    "null": "None",
    "nil": "None",
    "true": "True",
    "false": "False",
    "this": "self",
    "elseif": "elif",
}


def missing_name(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(r"(?:free variable|name|variable) '(\w+)'", link.message)
    if not match:
        return
    wanted = match.group(1)
    for source in nearest_first(sources, link):
        at = failing_lines(source, link)
        uses = [
            n
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Name) and n.id == wanted and isinstance(n.ctx, ast.Load)
        ]
        if not uses:
            continue
        for text in _imports_of(wanted, source, sources, context):
            yield source, import_line(source, text, 0.85)
        for node in uses:
            here = here_factor(source, node, at)
            region = source.region(source.function_at(node.lineno))
            scope = _scope(source, region, context)
            if wanted in _FOREIGN:
                yield (
                    source,
                    swap(
                        source,
                        node,
                        _FOREIGN[wanted],
                        "direct/name/foreign",
                        0.95 * here,
                    ),
                )
            for name, likeness in near(wanted, scope):
                yield source, swap(source, node, name, "direct/name", likeness * here)
            if region is not None and "self" in region.parameters:
                yield (
                    source,
                    swap(source, node, f"self.{wanted}", "direct/name/self", 0.7 * here),
                )
                holder = source.parent(region.node)
                if isinstance(holder, ast.ClassDef) and wanted in {getattr(s, "name", "") for s in holder.body}:
                    yield (
                        source,
                        swap(
                            source,
                            node,
                            f"self.{wanted}",
                            "direct/name/self",
                            0.95 * here,
                        ),
                    )
            if not (isinstance(up := source.parent(node), ast.Call) and up.func is node):
                yield (
                    source,
                    swap(source, node, repr(wanted), "direct/name/quoted", 0.3 * here),
                )
        for name, likeness in near(
            wanted,
            {n for node in uses for n in _scope(source, source.region(source.function_at(node.lineno)), context)},
        ):
            if len(uses) > 1:
                edits = tuple(Edit(*source.span(n), name) for n in uses)
                yield (
                    source,
                    Draft(
                        edits,
                        "direct/name/everywhere",
                        f"{name} for {wanted} everywhere",
                        likeness * 0.9,
                    ),
                )


def _scope(source: Source, region: Region | None, context: Context) -> set[str]:
    names = {n for n in dir(builtins) if not n.startswith("_")} | module_level(source)
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names | set(region.names if region else ())


def _imports_of(name: str, source: Source, sources: Mapping[str, Source], context: Context) -> list[str]:
    """Import lines that would bind a name: seen elsewhere, a module's own name, the project's, the standard library's."""
    found = [line for line in context.imports.get(name, ()) if not line.startswith("from .") or "/" in source.path]
    for origin, path in module_names(sources).items():
        if path != source.path and name in module_level(sources[path]):
            found += from_lines(source, origin, path, name)
    if name in sys.stdlib_module_names:
        found.append(f"import {name}")
    common = {
        "np": "import numpy as np",
        "pd": "import pandas as pd",
        "plt": "import matplotlib.pyplot as plt",
        "dt": "import datetime as dt",
    }
    if name in common:
        found.append(common[name])
    for home in _HOMES:
        try:
            module = importlib.import_module(home)
        except ImportError:
            continue
        if name in getattr(module, "__all__", dir(module)) and not hasattr(builtins, name):
            found.append(f"from {home} import {name}")
    return list(dict.fromkeys(found))[:8]


def unbound_local(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(r"local variable '(\w+)'|variable '(\w+)'", link.message)
    if not match:
        return
    name = match.group(1) or match.group(2)
    for source in nearest_first(sources, link):
        for line in failing_lines(source, link):
            region = source.region(source.function_at(line))
            if region is None or name not in region.names or isinstance(region.node, ast.Module):
                continue
            first = next(
                (s for s in region.node.body if not source.is_docstring_statement(s)),
                None,
            )
            if first is None:
                continue
            module = name in module_level(source)
            outer = "<locals>" in region.qualname
            options = [(f"{name} = {v}", 0.5) for v in ("0", "None", "[]", '""', "{}", "False", "1", "True")]
            options += [
                (f"global {name}", 0.9 if module else 0.1),
                (f"nonlocal {name}", 0.9 if outer else 0.05),
            ]
            for code, factor in options:
                edit = insert(source, first, code)
                if edit is not None:
                    yield source, Draft((edit,), "direct/unbound", code, factor)


def missing_key(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    try:
        wanted = ast.literal_eval(link.message)
    except (ValueError, SyntaxError, TypeError):
        return
    if not isinstance(wanted, str):
        return
    for source in nearest_first(sources, link):
        at = failing_lines(source, link)
        strings = {n.value for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        strings |= {v for v in (*context.inputs, *context.expected) if isinstance(v, str)}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and node.value == wanted:
                here = here_factor(source, node, at)
                for name, likeness in near(wanted, {s for s in strings if len(s) < 40}):
                    yield (
                        source,
                        swap(source, node, repr(name), "direct/key", likeness * here),
                    )
