"""Hidden state and chance: results that depend on how often, when or in what order code ran, not on its input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Function, Module, calls, imports, starts_with

_MUTATORS = frozenset(("append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "__next__"))
_CHANCE = ("random", "secrets", "uuid.uuid1", "uuid.uuid4", "os.urandom", "numpy.random")
_CLOCK = (
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.perf_counter",
    "time.process_time",
    "os.times",
    "os.getpid",
)


def check(facts: Facts) -> str | None:
    found = facts.new(_globals)
    if found:
        return f"new code {found[0].words}: its result would depend on earlier calls"
    for finding in facts.new(_chance):
        if not facts.tests.mentions("random", "seed", "uuid", "secrets", "sleep", "time") and not _had_it(facts):
            return f"new code {finding.words}: its result would depend on chance or on the clock"
    return None


def _globals(module: Module) -> Iterator[Finding]:
    for name, function in module.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                for variable in node.names:
                    yield Finding(
                        f"global {name} {variable}", f"changes the global variable {variable} in {name}", node.lineno
                    )
            elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                base = node.value
                if (
                    isinstance(base, ast.Name)
                    and base.id == function.name not in module.bound_in(function)
                    and module.enclosing(node) is function
                ):
                    yield Finding(f"own {name}", f"keeps state on the function {name} itself", node.lineno)
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if _counts_calls(module, function, call):
                record = ast.unparse(call.func)
                yield Finding(f"keeps {name} {record}", f"keeps a record of its calls in {record}", call.lineno)
            elif module.origin(call.func) == "builtins.next" and call.args:
                source = call.args[0]
                if (
                    isinstance(source, ast.Name)
                    and source.id in module.defined
                    and source.id not in module.bound_in(function)
                ):
                    words = f"takes the next value of {source.id} at each call of {name}"
                    yield Finding(f"next {name} {source.id}", words, call.lineno)


def _counts_calls(module: Module, function: Function, node: ast.Call) -> bool:
    """A list or counter of the module's that each call makes longer or shorter. (Storing by key is a cache, and fine.)"""
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in _MUTATORS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in module.defined
        and node.func.value.id not in module.bound_in(function)
    )


def _chance(module: Module) -> Iterator[Finding]:
    for node, name in imports(module):
        if starts_with(name, ("random", "secrets")):
            yield Finding(f"import {name}", f"imports {name}", node.lineno)
    for call, origin in calls(module):
        if starts_with(origin, (*_CHANCE, *_CLOCK)):
            yield Finding(f"call {origin}", f"calls {origin}", call.lineno)
        elif origin in ("builtins.id", "builtins.hash") and _decides(module, call):
            yield Finding(f"call {origin}", f"decides by {origin.removeprefix('builtins.')}()", call.lineno)


def _decides(module: Module, node: ast.AST) -> bool:
    """Part of a condition, and not inside a ``__hash__``."""
    function = module.enclosing(node)
    if function is not None and function.name in ("__hash__", "__repr__"):
        return False
    while node in module.parents:
        parent = module.parents[node]
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.stmt):
            return False
        node = parent
    return False


def _had_it(facts: Facts) -> bool:
    return any(source.before is not None and any(_chance(source.before)) for source in facts.sources)
