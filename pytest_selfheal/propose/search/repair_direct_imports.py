"""Missing modules and imported names: misspellings of what exists, the right origin, circular imports made lazy."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Mapping

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import near
from pytest_selfheal.propose.search.operators.block import insert, lines
from pytest_selfheal.propose.search.repair_direct_places import (
    Drafts,
    from_lines,
    import_line,
    module_level,
    module_names,
    nearest_first,
    used,
)
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Raised


def missing_module(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(r"No module named '([\w.]+)'", link.message)
    if not match:
        return
    wanted = match.group(1)
    known = {*sys.stdlib_module_names, *module_names(sources)}
    for name, imports in context.imports.items():
        known |= {name, *(i.split()[1] for i in imports)}
    known = {n for n in known if not n.startswith(("_", "."))} - {wanted}
    last = wanted.rpartition(".")[2]
    same = [(n, 0.8) for n in known if "." in n and n.rpartition(".")[2] == last]
    options = [*near(wanted, known, 12), *same]
    for source in nearest_first(sources, link):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module == wanted and not node.level:
                start = source.text.find(wanted, source.span(node)[0])
                for name, likeness in options:
                    yield (
                        source,
                        Draft(
                            (Edit(start, start + len(wanted), name),),
                            "direct/module",
                            f"import from {name}",
                            likeness,
                        ),
                    )
                for prefix in (".", ".."):
                    edit = Edit(start, start, prefix)
                    yield (
                        source,
                        Draft(
                            (edit,),
                            "direct/module/relative",
                            f"import from {prefix}{wanted}",
                            0.7,
                        ),
                    )
            elif isinstance(node, ast.ImportFrom) and node.level and wanted.endswith("." + (node.module or "")):
                text = source.segment(node)
                dots = text.index(".")
                for count in (1, 2, 3):
                    if count != node.level:
                        spot = source.span(node)[0] + dots
                        edit = Edit(spot, spot + node.level, "." * count)
                        yield (
                            source,
                            Draft(
                                (edit,),
                                "direct/module/relative",
                                f"import from {'.' * count}{node.module}",
                                0.7,
                            ),
                        )
                for name, likeness in near(node.module or "", {n.rpartition(".")[2] for n in known}, 8):
                    at = source.text.find(node.module or "", source.span(node)[0] + dots)
                    yield (
                        source,
                        Draft(
                            (Edit(at, at + len(node.module or ""), name),),
                            "direct/module",
                            f"import from {name}",
                            likeness,
                        ),
                    )
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == wanted:
                        start, end = source.span(alias)
                        for name, likeness in options:
                            text = name if alias.asname or name.partition(".")[0] == wanted else f"{name} as {wanted}"
                            if alias.asname:
                                text = f"{name} as {alias.asname}"
                            elif not used(source, wanted) or "." in wanted:
                                text = name
                            yield (
                                source,
                                Draft(
                                    (Edit(start, end, text),),
                                    "direct/module",
                                    f"import {name}",
                                    likeness,
                                ),
                            )
                            if not alias.asname and used(source, name) and "." not in name:
                                yield (
                                    source,
                                    Draft(
                                        (Edit(start, end, name),),
                                        "direct/module",
                                        f"import {name}",
                                        likeness + 0.1,
                                    ),
                                )


def missing_import(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(
        r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'",
        link.message,
    )
    if not match:
        return
    wanted, module = match.groups()
    modules = module_names(sources)
    home = sources.get(modules.get(module, ""))
    known: set[str] = set()
    if home is not None:
        known = module_level(home)
    else:
        try:
            known = set(dir(importlib.import_module(module))) if module in sys.modules else set()
        except Exception:
            known = set()
    origins = [
        name
        for name, path in modules.items()
        if wanted in module_level(sources[path]) and path != getattr(home, "path", "")
    ]
    for source in nearest_first(sources, link):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                if alias.name != wanted or (node.module or "").rpartition(".")[2] != module.rpartition(".")[2]:
                    continue
                start, end = source.span(alias)
                for name, likeness in near(wanted, known):
                    text = f"{name} as {alias.asname or wanted}"
                    if alias.asname is None and not used(source, wanted):
                        text = name
                    yield (
                        source,
                        Draft(
                            (Edit(start, end, text),),
                            "direct/import/name",
                            f"import {name}",
                            likeness,
                        ),
                    )
                    if alias.asname is None:
                        edits = [Edit(start, end, name)]
                        edits += [
                            Edit(*source.span(n), name)
                            for n in ast.walk(source.tree)
                            if isinstance(n, ast.Name) and n.id == wanted
                        ]
                        yield (
                            source,
                            Draft(
                                tuple(edits),
                                "direct/import/name",
                                f"import and use {name}",
                                likeness + 0.05,
                            ),
                        )
                for origin in sorted(origins, key=len):
                    if len(node.names) == 1 and node.module:
                        at = source.text.find(node.module, source.span(node)[0])
                        full = [o for o in origins if o.endswith("." + origin)]
                        for name in {origin, *full}:
                            edits_ = (Edit(at - node.level, at + len(node.module), name),)
                            yield (
                                source,
                                Draft(
                                    edits_,
                                    "direct/import/origin",
                                    f"import {wanted} from {name}",
                                    0.6,
                                ),
                            )
                yield from _lazily(source, node)
    if home is not None:
        for origin in sorted(origins, key=len):
            for text in from_lines(home, origin, modules[origin], wanted):
                yield home, import_line(home, text, 0.6)
        yield from _renamed_definition(home, wanted)
    if home is not None and "partially initialized" in link.message:
        for node in home.tree.body:
            if isinstance(node, ast.ImportFrom):
                yield from _lazily(home, node)


def _lazily(source: Source, node: ast.ImportFrom) -> Drafts:
    """A module-level import moved into the functions that use it: circular imports."""
    if node not in source.tree.body:
        return
    span = lines(source, node)
    names = {alias.asname or alias.name for alias in node.names}
    edits = []
    for name, function in source.functions.items():
        if "<locals>" in name or not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(function)):
            continue
        first = next((s for s in function.body if not source.is_docstring_statement(s)), None)
        edit = insert(source, first, source.segment(node)) if first else None
        if edit is None or "\n" in source.segment(node):
            return
        edits.append(edit)
    if span and edits:
        yield (
            source,
            Draft(
                (Edit(*span, ""), *edits),
                "direct/import/lazy",
                "import where it is used",
                0.3,
            ),
        )


def _renamed_definition(source: Source, wanted: str) -> Drafts:
    """A definition whose name is nearly the one that is asked for, renamed with all its uses in the file."""
    for name, likeness in near(wanted, module_level(source), 4):
        edits = [
            Edit(*source.span(n), wanted) for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name
        ]
        for node in source.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
                start = source.text.find(name, source.span(node)[0])
                edits.append(Edit(start, start + len(name), wanted))
        if edits:
            yield (
                source,
                Draft(
                    tuple(edits),
                    "direct/rename",
                    f"rename {name} to {wanted}",
                    likeness * 0.8,
                ),
            )
        end = len(source.text)
        head = "" if source.text.endswith("\n") else source.newline
        edit = Edit(
            end,
            end,
            f"{head}{source.newline}{source.newline}{wanted} = {name}{source.newline}",
        )
        yield (
            source,
            Draft(
                (edit,),
                "direct/alias",
                f"{wanted} as another name of {name}",
                likeness * 0.2,
            ),
        )
