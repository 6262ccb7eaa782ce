"""Import games: ``sys.path``, import hooks, reloading and computed imports change what other code gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, starts_with

_NAMES = (
    *("sys.path", "sys.meta_path", "sys.path_hooks", "sys.path_importer_cache", "sys.builtin_module_names"),
    *("importlib.reload", "importlib.invalidate_caches", "importlib.util", "importlib.machinery", "importlib.abc"),
    *("importlib._bootstrap", "imp", "site", "pkgutil.extend_path", "zipimport", "runpy", "pkg_resources"),
)


def check(facts: Facts) -> str | None:
    found = facts.new(_games)
    return f"new code {found[0].words}, which changes what other code imports" if found else None


def _games(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            origin = module.origin(node)
            if starts_with(origin, _NAMES):
                yield Finding(f"uses {origin}", f"uses {origin}", node.lineno)
            elif isinstance(node, ast.Name) and node.id in ("__path__", "__loader__", "__spec__"):
                yield Finding(f"uses {node.id}", f"uses {node.id}", node.lineno)
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names) and not node.level:
            yield Finding(f"star {node.module}", f"imports everything of {node.module}", node.lineno)
    for call, origin in calls(module):
        if origin in ("builtins.__import__", "importlib.import_module", "importlib.__import__"):
            named = call.args[0] if call.args else None
            what = repr(named.value) if isinstance(named, ast.Constant) else "a computed name"
            yield Finding(f"import {what}", f"imports {what} at run time", call.lineno)
