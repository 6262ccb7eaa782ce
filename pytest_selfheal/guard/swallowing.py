"""Swallowed errors: handlers that catch everything, or the assertion itself, and carry on as if nothing had happened."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, dump

_ALWAYS_TOO_BROAD = frozenset(
    ("builtins.BaseException", "builtins.AssertionError", "builtins.KeyboardInterrupt", "builtins.SystemExit",
     "builtins.GeneratorExit", "builtins.BaseExceptionGroup")
)  # fmt: skip
_BROAD = frozenset(("builtins.Exception", "builtins.StandardError", "builtins.Warning"))


def check(facts: Facts) -> str | None:
    found = facts.new(_handlers)
    return f"new code {found[0].words}" if found else None


def _handlers(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.ExceptHandler):
            names = _names(module, node.type)
            raises = any(isinstance(child, ast.Raise) for child in ast.walk(node))
            if raises:
                continue
            if node.type is None or names & _ALWAYS_TOO_BROAD:
                caught = "everything" if node.type is None else ast.unparse(node.type)
                yield Finding(_key(node), f"catches {caught} and goes on", node.lineno)
            elif names & _BROAD and _trivial(node.body):
                yield Finding(
                    _key(node), f"catches {ast.unparse(node.type)} and goes on with a made-up result", node.lineno
                )
        elif isinstance(node, ast.Try):
            for child in node.finalbody:
                for inner in _without_functions(child):
                    if isinstance(inner, ast.Return | ast.Break | ast.Continue):
                        yield Finding(dump(child), "leaves a finally block, which discards any error", inner.lineno)
    for call, origin in calls(module):
        if origin == "contextlib.suppress" and any(
            module.origin(argument) in _ALWAYS_TOO_BROAD | _BROAD for argument in call.args
        ):
            yield Finding(dump(call), "suppresses every exception", call.lineno)
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "__exit__":
            returns = [child.value for child in ast.walk(node) if isinstance(child, ast.Return)]
            if any(isinstance(value, ast.Constant) and value.value is True for value in returns):
                yield Finding(dump(node), "discards any error in __exit__", node.lineno)


def _names(module: Module, node: ast.expr | None) -> set[str]:
    if isinstance(node, ast.Tuple):
        return {module.origin(element) for element in node.elts}
    return {module.origin(node)} if node is not None else set()


def _key(node: ast.ExceptHandler) -> str:
    return f"{dump(node.type) if node.type else ''}: {[dump(child) for child in node.body]}"


def _trivial(body: list[ast.stmt]) -> bool:
    """Nothing but a jump, a plain value or a note in a log."""
    for node in body:
        if isinstance(node, ast.Pass | ast.Continue | ast.Break):
            continue
        if isinstance(node, ast.Return | ast.Assign) and (
            node.value is None
            or isinstance(node.value, ast.Constant | ast.Name | ast.UnaryOp | ast.List | ast.Tuple | ast.Dict)
        ):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Call):
            continue
        return False
    return True


def _without_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.For | ast.While):
        for child in ast.iter_child_nodes(node):
            yield from _without_functions(child)
