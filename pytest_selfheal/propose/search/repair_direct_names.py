"""Missing modules, imports, names, attributes and keys: misspellings of what exists, and imports that were forgotten."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import near
from pytest_selfheal.propose.search.operators.block import insert, lines
from pytest_selfheal.propose.search.operators.call import METHOD_SIBLINGS
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region, Source
from pytest_selfheal.types import Raised

Drafts = Iterator[tuple[Source, Draft]]

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
_FOREIGN = {"null": "None", "nil": "None", "true": "True", "false": "False", "this": "self", "elseif": "elif"}
_BUILTIN_TYPES = {
    t.__name__: t for t in (str, bytes, int, float, list, tuple, dict, set, frozenset, bool, range, complex)
}


def _first(sources: Mapping[str, Source], link: Raised) -> list[Source]:
    """Sources with the files of the traceback first, innermost first."""
    order = [frame.path for frame in reversed(link.frames)]
    known = [
        s for p in order for path, s in sources.items() if path == p or path.endswith("/" + p) or p.endswith("/" + path)
    ]
    return list(dict.fromkeys([*known, *sources.values()]))


def failing_lines(source: Source, link: Raised) -> set[int]:
    """Lines of the traceback in this file."""
    return {
        f.line
        for f in link.frames
        if f.path == source.path or source.path.endswith("/" + f.path) or f.path.endswith("/" + source.path)
    }


def _here(source: Source, node: ast.AST, lines_: set[int]) -> float:
    """1 on a line of the traceback, less elsewhere."""
    first = getattr(node, "lineno", 0)
    last = getattr(node, "end_lineno", first) or first
    return 1.0 if any(first <= line <= last for line in lines_) else 0.4


def module_names(sources: Mapping[str, Source]) -> dict[str, str]:
    """Dotted names under which the project's files can be imported → path (all suffixes of the path, longest first)."""
    found: dict[str, str] = {}
    for path in sources:
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        for start in range(len(parts)):
            name = ".".join(parts[start:])
            if name and all(p.isidentifier() for p in parts[start:]):
                found.setdefault(name, path)
    return found


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
    for source in _first(sources, link):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module == wanted and not node.level:
                start = source.text.find(wanted, source.span(node)[0])
                for name, likeness in options:
                    yield (
                        source,
                        Draft(
                            (Edit(start, start + len(wanted), name),), "direct/module", f"import from {name}", likeness
                        ),
                    )
                for dots in (".", ".."):
                    edit = Edit(start, start, dots)
                    yield source, Draft((edit,), "direct/module/relative", f"import from {dots}{wanted}", 0.7)
            elif isinstance(node, ast.ImportFrom) and node.level and wanted.endswith("." + (node.module or "")):
                text = source.segment(node)
                dots = text.index(".")
                for count in (1, 2, 3):
                    if count != node.level:
                        at = source.span(node)[0] + dots
                        edit = Edit(at, at + node.level, "." * count)
                        yield (
                            source,
                            Draft((edit,), "direct/module/relative", f"import from {'.' * count}{node.module}", 0.7),
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
                            elif not _used(source, wanted) or "." in wanted:
                                text = name
                            yield source, Draft((Edit(start, end, text),), "direct/module", f"import {name}", likeness)
                            if not alias.asname and _used(source, name) and "." not in name:
                                yield (
                                    source,
                                    Draft((Edit(start, end, name),), "direct/module", f"import {name}", likeness + 0.1),
                                )


def _used(source: Source, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(source.tree))


def missing_import(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'", link.message)
    if not match:
        return
    wanted, module = match.groups()
    modules = module_names(sources)
    home = sources.get(modules.get(module, ""))
    known: set[str] = set()
    if home is not None:
        known = _module_level(home)
    else:
        try:
            known = set(dir(importlib.import_module(module))) if module in sys.modules else set()
        except Exception:
            known = set()
    origins = [
        name
        for name, path in modules.items()
        if wanted in _module_level(sources[path]) and path != getattr(home, "path", "")
    ]
    for source in _first(sources, link):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                if alias.name != wanted or (node.module or "").rpartition(".")[2] != module.rpartition(".")[2]:
                    continue
                start, end = source.span(alias)
                for name, likeness in near(wanted, known):
                    text = f"{name} as {alias.asname or wanted}"
                    if alias.asname is None and not _used(source, wanted):
                        text = name
                    yield source, Draft((Edit(start, end, text),), "direct/import/name", f"import {name}", likeness)
                    if alias.asname is None:
                        edits = [Edit(start, end, name)]
                        edits += [
                            Edit(*source.span(n), name)
                            for n in ast.walk(source.tree)
                            if isinstance(n, ast.Name) and n.id == wanted
                        ]
                        yield (
                            source,
                            Draft(tuple(edits), "direct/import/name", f"import and use {name}", likeness + 0.05),
                        )
                for origin in sorted(origins, key=len):
                    if len(node.names) == 1 and node.module:
                        at = source.text.find(node.module, source.span(node)[0])
                        full = [o for o in origins if o.endswith("." + origin)]
                        for name in {origin, *full}:
                            edits_ = (Edit(at - node.level, at + len(node.module), name),)
                            yield source, Draft(edits_, "direct/import/origin", f"import {wanted} from {name}", 0.6)
                yield from _lazily(source, node)
    if home is not None:
        for origin in sorted(origins, key=len):
            for text in _from_lines(home, origin, modules[origin], wanted):
                yield home, _import_line(home, text, 0.6)
        yield from _renamed_definition(home, wanted)
    if home is not None and "partially initialized" in link.message:
        for node in home.tree.body:
            if isinstance(node, ast.ImportFrom):
                yield from _lazily(home, node)


def _module_level(source: Source) -> set[str]:
    found: set[str] = set()
    for node in source.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


def _from_lines(source: Source, origin: str, path: str, name: str) -> list[str]:
    """Import lines for a name of another project file: relative within a package, absolute else."""
    folder, there = source.path.rpartition("/")[0], path.rpartition("/")[0]
    found = []
    if folder == there and folder:
        found.append(f"from .{path.rpartition('/')[2].removesuffix('.py')} import {name}")
    found.append(f"from {origin} import {name}")
    return found


def _import_line(source: Source, text: str, factor: float) -> Draft:
    """An import put behind the others at the file's head."""
    place = 0
    for node in source.tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or source.is_docstring_statement(node):
            span = lines(source, node)
            place = span[1] if span else place
        else:
            break
    head = source.newline if place and not source.text[:place].endswith(("\n", "\r")) else ""
    if not place and source.text.startswith("#!"):
        place = source.line_span(1, 1)[1]
    return Draft((Edit(place, place, head + text + source.newline),), "direct/import/add", text, factor)


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
        yield source, Draft((Edit(*span, ""), *edits), "direct/import/lazy", "import where it is used", 0.3)


def _renamed_definition(source: Source, wanted: str) -> Drafts:
    """A definition whose name is nearly the one that is asked for, renamed with all its uses in the file."""
    for name, likeness in near(wanted, _module_level(source), 4):
        edits = [
            Edit(*source.span(n), wanted) for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name
        ]
        for node in source.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
                start = source.text.find(name, source.span(node)[0])
                edits.append(Edit(start, start + len(name), wanted))
        if edits:
            yield source, Draft(tuple(edits), "direct/rename", f"rename {name} to {wanted}", likeness * 0.8)
        end = len(source.text)
        head = "" if source.text.endswith("\n") else source.newline
        edit = Edit(end, end, f"{head}{source.newline}{source.newline}{wanted} = {name}{source.newline}")
        yield source, Draft((edit,), "direct/alias", f"{wanted} as another name of {name}", likeness * 0.2)


def missing_name(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(r"(?:free variable|name|variable) '(\w+)'", link.message)
    if not match:
        return
    wanted = match.group(1)
    for source in _first(sources, link):
        at = failing_lines(source, link)
        uses = [
            n
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Name) and n.id == wanted and isinstance(n.ctx, ast.Load)
        ]
        if not uses:
            continue
        for text in _imports_of(wanted, source, sources, context):
            yield source, _import_line(source, text, 0.85)
        for node in uses:
            here = _here(source, node, at)
            region = source.region(source.function_at(node.lineno))
            scope = _scope(source, region, context)
            if wanted in _FOREIGN:
                yield source, swap(source, node, _FOREIGN[wanted], "direct/name/foreign", 0.95 * here)
            for name, likeness in near(wanted, scope):
                yield source, swap(source, node, name, "direct/name", likeness * here)
            if region is not None and "self" in region.parameters:
                yield source, swap(source, node, f"self.{wanted}", "direct/name/self", 0.7 * here)
                holder = source.parent(region.node)
                if isinstance(holder, ast.ClassDef) and wanted in {getattr(s, "name", "") for s in holder.body}:
                    yield source, swap(source, node, f"self.{wanted}", "direct/name/self", 0.95 * here)
            if not (isinstance(up := source.parent(node), ast.Call) and up.func is node):
                yield source, swap(source, node, repr(wanted), "direct/name/quoted", 0.3 * here)
        for name, likeness in near(
            wanted,
            {n for node in uses for n in _scope(source, source.region(source.function_at(node.lineno)), context)},
        ):
            if len(uses) > 1:
                edits = tuple(Edit(*source.span(n), name) for n in uses)
                yield source, Draft(edits, "direct/name/everywhere", f"{name} for {wanted} everywhere", likeness * 0.9)


def _scope(source: Source, region: Region | None, context: Context) -> set[str]:
    names = {n for n in dir(builtins) if not n.startswith("_")} | _module_level(source)
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names | set(region.names if region else ())


def _imports_of(name: str, source: Source, sources: Mapping[str, Source], context: Context) -> list[str]:
    """Import lines that would bind a name: seen elsewhere, a module's own name, the project's, the standard library's."""
    found = [line for line in context.imports.get(name, ()) if not line.startswith("from .") or "/" in source.path]
    for origin, path in module_names(sources).items():
        if path != source.path and name in _module_level(sources[path]):
            found += _from_lines(source, origin, path, name)
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
    for source in _first(sources, link):
        for line in failing_lines(source, link):
            region = source.region(source.function_at(line))
            if region is None or name not in region.names or isinstance(region.node, ast.Module):
                continue
            first = next((s for s in region.node.body if not source.is_docstring_statement(s)), None)
            if first is None:
                continue
            module = name in _module_level(source)
            outer = "<locals>" in region.qualname
            options = [(f"{name} = {v}", 0.5) for v in ("0", "None", "[]", '""', "{}", "False", "1", "True")]
            options += [(f"global {name}", 0.9 if module else 0.1), (f"nonlocal {name}", 0.9 if outer else 0.05)]
            for code, factor in options:
                edit = insert(source, first, code)
                if edit is not None:
                    yield source, Draft((edit,), "direct/unbound", code, factor)


def missing_attribute(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    match = re.search(
        r"(?:type object '([\w.]+)'|module '([\w.]+)'|'([\w.]+)' object)[^\n]*? has no attribute '(\w+)'", link.message
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
    for source in _first(sources, link):
        at = failing_lines(source, link)
        for node in ast.walk(source.tree):
            if not (isinstance(node, ast.Attribute) and node.attr == wanted and isinstance(node.ctx, ast.Load)):
                continue
            here = _here(source, node, at)
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
                yield source, Draft((edit,), "direct/attribute", f"replace .{wanted} with .{name}", likeness * here)
            base = source.segment(node.value)
            up = source.parent(node)
            whole = up if isinstance(up, ast.Call) and up.func is node else node
            if wanted in ("length", "size", "len", "count"):
                yield source, swap(source, whole, f"len({base})", "direct/attribute/len", 0.8 * here)  # type: ignore[arg-type]
            if wanted == "has_key" and isinstance(whole, ast.Call) and whole.args:
                yield (
                    source,
                    swap(
                        source, whole, f"{source.segment(whole.args[0])} in {base}", "direct/attribute/in", 0.9 * here
                    ),
                )
            yield source, swap(source, whole, base, "direct/attribute/drop", 0.5 * here)  # type: ignore[arg-type]
            if module and "." not in module and wanted in module_level_of(module):
                yield source, swap(source, node, wanted, "direct/attribute/bare", 0.3 * here)
            if module and wanted == module:  # `datetime.datetime` after `from datetime import datetime`
                yield source, swap(source, node, base, "direct/attribute/module", 0.6 * here)
            if kind and isinstance(node.value, ast.Name) and node.value.id == wanted:
                yield source, swap(source, node, base, "direct/attribute/module", 0.6 * here)
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
                        Draft((edit,), "direct/member/rename", f"rename {child.name}() to {wanted}()", likeness * 0.8),
                    )
            elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                for _, likeness in near(wanted, {child.attr}):
                    end = source.span(child)[1]
                    edit = Edit(end - len(child.attr), end, wanted)
                    yield (
                        source,
                        Draft(
                            (edit,), "direct/member/rename", f"set .{wanted} instead of .{child.attr}", likeness * 0.8
                        ),
                    )
        init = next((c for c in node.body if isinstance(c, ast.FunctionDef) and c.name == "__init__"), None)
        if init is not None:
            parameters = [a.arg for a in (*init.args.args, *init.args.kwonlyargs)]
            bare = wanted.lstrip("_")
            values = [(bare, 0.9)] if bare in parameters else []
            values += [(v, 0.35) for v in ("None", "[]", "{}", "0", '""', "set()", "False")]
            for value, factor in values:
                edit = insert(source, init.body[-1], f"self.{wanted} = {value}", after=True)
                if edit is not None:
                    yield source, Draft((edit,), "direct/member/init", f"set self.{wanted} = {value}", factor)


def missing_key(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    try:
        wanted = ast.literal_eval(link.message)
    except (ValueError, SyntaxError):
        return
    if not isinstance(wanted, str):
        return
    for source in _first(sources, link):
        at = failing_lines(source, link)
        strings = {n.value for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        strings |= {v for v in (*context.inputs, *context.expected) if isinstance(v, str)}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and node.value == wanted:
                here = _here(source, node, at)
                for name, likeness in near(wanted, {s for s in strings if len(s) < 40}):
                    yield source, swap(source, node, repr(name), "direct/key", likeness * here)
