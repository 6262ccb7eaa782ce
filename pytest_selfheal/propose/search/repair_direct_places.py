"""What the direct repairs share: files and lines of a traceback, names of modules, where an import goes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.operators.block import lines
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Raised

Drafts: TypeAlias = Iterator[tuple[Source, Draft]]


def nearest_first(sources: Mapping[str, Source], link: Raised) -> list[Source]:
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


def here_factor(source: Source, node: ast.AST, lines_: set[int]) -> float:
    """1 on a line of the traceback, less elsewhere."""
    first = getattr(node, "lineno", 0)
    last = getattr(node, "end_lineno", first) or first
    return 1.0 if any(first <= line <= last for line in lines_) else 0.4


def module_level(source: Source) -> set[str]:
    found: set[str] = set()
    for node in source.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


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


def from_lines(source: Source, origin: str, path: str, name: str) -> list[str]:
    """Import lines for a name of another project file: relative within a package, absolute else."""
    folder, there = source.path.rpartition("/")[0], path.rpartition("/")[0]
    found = []
    if folder == there and folder:
        found.append(f"from .{path.rpartition('/')[2].removesuffix('.py')} import {name}")
    found.append(f"from {origin} import {name}")
    return found


def import_line(source: Source, text: str, factor: float) -> Draft:
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
    return Draft(
        (Edit(place, place, head + text + source.newline),),
        "direct/import/add",
        text,
        factor,
    )


def used(source: Source, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(source.tree))
