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


_NEARLY_ALL = 4
"""So many exception types that are caught and forgotten together are as good as all."""


def check(facts: Facts) -> str | None:
    found = facts.new(_handlers)
    return f"new code {found[0].words}" if found else None


def caution(facts: Facts) -> str | None:
    """The failure's own exception is caught and forgotten: often the symptom alone."""
    own = {failure.exception.rpartition(".")[2] for failure in facts.diagnosis.failures}
    for finding in facts.new(_forgotten):
        if finding.key.partition(":")[0] in own:
            return f"new code {finding.words}"
    return None


def _forgotten(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        names: set[str] = set()
        if isinstance(node, ast.ExceptHandler) and all(isinstance(one, ast.Pass | ast.Continue) for one in node.body):
            names = _names(module, node.type)
        elif isinstance(node, ast.Call) and module.origin(node.func) == "contextlib.suppress":
            names = set().union(*(_names(module, argument) for argument in node.args))
        for name in sorted(names):
            bare = name.rpartition(".")[2]
            line = getattr(node, "lineno", 0)
            words = f"catches {bare}, the failure itself, and forgets it"
            yield Finding(f"{bare}:{module.lines[line - 1].strip()}", words, line)


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
            elif len(names) >= _NEARLY_ALL and _trivial(node.body):
                yield Finding(_key(node), f"catches {ast.unparse(node.type)} together and goes on", node.lineno)
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
        if origin == "contextlib.suppress":
            suppressed = set().union(*(_names(module, argument) for argument in call.args))
            if suppressed & (_ALWAYS_TOO_BROAD | _BROAD) or len(suppressed) >= _NEARLY_ALL:
                yield Finding(dump(call), "suppresses every exception", call.lineno)
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "__exit__":
            returns = [child.value for child in ast.walk(node) if isinstance(child, ast.Return) and child.value]
            if any(_is_true_of_any_error(value) for value in returns):
                yield Finding(dump(node), "discards any error in __exit__", node.lineno)


def _is_true_of_any_error(value: ast.expr) -> bool:
    """``True``, ``bool(details)``: said without a look at which error it is."""
    if isinstance(value, ast.Constant):
        return bool(value.value)
    asks = (ast.Compare, ast.Attribute, ast.Subscript)
    calls_of = {
        child.func.id for child in ast.walk(value) if isinstance(child, ast.Call) and isinstance(child.func, ast.Name)
    }
    return not any(isinstance(child, asks) for child in ast.walk(value)) and not calls_of & {"isinstance", "issubclass"}


def _names(module: Module, node: ast.expr | None) -> set[str]:
    """What a handler catches; tuples that the module gives a name are looked up."""
    if isinstance(node, ast.Starred):
        return _names(module, node.value)
    if isinstance(node, ast.Tuple):
        return set().union(*(_names(module, element) for element in node.elts))
    if isinstance(node, ast.Name) and node.id in module.defined:
        for statement in module.tree.body:
            if isinstance(statement, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == node.id for target in statement.targets
            ):
                return (
                    set()
                    if isinstance(statement.value, ast.Name) and statement.value.id == node.id
                    else _names(module, statement.value)
                )
    return {module.origin(node)} if node is not None else set()


def _key(node: ast.ExceptHandler) -> str:
    return f"{dump(node.type) if node.type else ''}: {[dump(child) for child in node.body]}"


def _trivial(body: list[ast.stmt]) -> bool:
    """Nothing but a jump, a plain value or a note in a log."""
    for node in body:
        if isinstance(node, ast.Pass | ast.Continue | ast.Break | ast.Delete | ast.Global):
            continue
        if isinstance(node, ast.If) and _trivial([*node.body, *node.orelse]):
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
