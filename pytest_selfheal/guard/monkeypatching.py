"""Monkeypatching: changing builtins, other modules, other classes or the interpreter's own settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import BUILTINS, Facts, Finding, Module, calls, dump, starts_with

_SETTINGS = (
    *(
        "sys.setrecursionlimit",
        "sys.setswitchinterval",
        "sys.set_int_max_str_digits",
        "sys.displayhook",
        "sys.excepthook",
    ),
    *("sys.addaudithook", "sys.unraisablehook", "sys.stdout", "sys.stderr", "sys.stdin", "warnings.filterwarnings"),
    *(
        "warnings.simplefilter",
        "warnings.showwarning",
        "gc.disable",
        "os.chdir",
        "os.dup2",
        "os.close",
        "os.setpriority",
    ),
    *("random.seed", "locale.setlocale", "socket.setdefaulttimeout", "logging.disable", "resource.setrlimit", "ctypes"),
    *("types.CodeType", "types.FunctionType", "builtins.__import__", "builtins.__build_class__", "codecs.register"),
)
_SAFE_READS = ("sys.stdout", "sys.stderr", "sys.stdin", "sys.excepthook", "sys.displayhook")
_PATCHED_ATTRIBUTES = frozenset(
    ("__code__", "__defaults__", "__kwdefaults__", "__bases__", "__builtins__", "__globals__")
)


def check(facts: Facts) -> str | None:
    for find in (_assignments, _settings, _rebound_builtins):
        found = facts.new(find, kinds=True)
        if found:
            return f"new code {found[0].words}"
    return None


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield node.target
    elif isinstance(node, ast.Delete):
        yield from node.targets
    elif isinstance(node, ast.With):
        yield from (item.optional_vars for item in node.items if item.optional_vars is not None)
    elif isinstance(node, ast.For):
        yield node.target


def _assignments(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        for target in _targets(node):
            base = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
            if base is None:
                continue
            if isinstance(target, ast.Attribute) and target.attr in _PATCHED_ATTRIBUTES:
                yield Finding(dump(target), f"replaces {target.attr}", target.lineno)
            elif _is_foreign(module, base):
                yield Finding(
                    dump(target), f"changes {ast.unparse(target)}, which belongs to somebody else", target.lineno
                )
            elif _is_own_class(module, base) and isinstance(target, ast.Attribute) and not _inside(module, node, base):
                yield Finding(dump(target), f"replaces {ast.unparse(target)} from outside the class", target.lineno)
    for call, origin in calls(module):
        if origin in ("builtins.setattr", "builtins.delattr") and call.args:
            base = call.args[0]
            named = call.args[1] if len(call.args) > 1 else None
            if (
                _is_foreign(module, base)
                or _is_own_class(module, base)
                or (isinstance(named, ast.Constant) and named.value in _PATCHED_ATTRIBUTES | {"__class__"})
            ):
                yield Finding(dump(call), f"changes {ast.unparse(base)} by setattr", call.lineno)
        elif origin.endswith((".__dict__.update", ".__setattr__", ".__dict__.setdefault")) and not origin.startswith(
            ("self.", "super")
        ):
            yield Finding(dump(call), f"calls {origin}", call.lineno)


def _is_foreign(module: Module, node: ast.expr) -> bool:
    """An imported module or something imported, a builtin, or a namespace of either."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return module.origin(node.func) in (
            "builtins.globals",
            "builtins.vars",
            "builtins.__import__",
            "importlib.import_module",
        )
    if not isinstance(node, ast.Name):
        return False
    if node.id in ("__builtins__", "__builtin__"):
        return True
    if node.id in _local_names(module, node):
        return False
    return node.id in module.aliases or (node.id in BUILTINS and node.id not in module.defined)


def _local_names(module: Module, node: ast.AST) -> frozenset[str]:
    """Parameters and variables of the functions around a node: they hide imported names."""
    names: frozenset[str] = frozenset()
    function = module.enclosing(node)
    while function is not None:
        names |= module.bound_in(function)
        function = module.enclosing(function)
    return names


def _is_own_class(module: Module, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and any(
        isinstance(child, ast.ClassDef) and child.name == node.id for child in module.tree.body
    )


def _inside(module: Module, node: ast.AST, base: ast.expr) -> bool:
    """``Counter.instances += 1`` inside class Counter is its own affair."""
    while node in module.parents:
        node = module.parents[node]
        if isinstance(node, ast.ClassDef) and isinstance(base, ast.Name) and node.name == base.id:
            return True
    return False


def _settings(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            origin = module.origin(node)
            if starts_with(origin, _SETTINGS) and not (
                starts_with(origin, _SAFE_READS) and isinstance(node.ctx, ast.Load)
            ):
                yield Finding(
                    f"setting {origin}",
                    f"uses {origin.removeprefix('builtins.')}, which reaches beyond the project",
                    node.lineno,
                )


def _rebound_builtins(module: Module) -> Iterator[Finding]:
    """``len = lambda x: 3`` or ``def isinstance(…)`` at module level."""
    for node in module.tree.body:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname for alias in node.names if alias.asname]
        else:
            names = [target.id for target in _targets(node) if isinstance(target, ast.Name)]
        for name in names:
            if name in BUILTINS and not name.startswith("__"):
                yield Finding(f"rebinds {name}", f"gives the builtin {name} another meaning", node.lineno)
