"""Gutted code: a body replaced by a constant, a public function removed, redefined or given another signature."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Function, Module, dump, is_stub


def check(facts: Facts) -> str | None:
    for source in facts.sources:
        if source.after is None:
            continue
        twice = _redefined(source.after) - (_redefined(source.before) if source.before else set())
        if twice:
            return f"{source.path} would define {min(twice)} a second time, which hides the first"
        if source.before is None:
            continue
        orphans = _orphans(source.after) - _orphans(source.before)
        if orphans:
            return f"{source.path} would no longer set the attribute {min(orphans)}, which it still reads"
        after = dict(source.after.functions)
        for name, old in source.before.functions:
            new = after.get(name)
            public = not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))
            if new is None:
                if public and name in _classes(source.after):
                    return f"{source.path} would make a class of the function {name}"
                if (
                    public
                    and _is_top_level_or_method(source.before, old)
                    and not _still_bound(facts, source.after, name)
                ):
                    return f"{source.path} would remove {name}"
                continue
            if source.before.lines_of(old) == source.after.lines_of(new):
                continue
            if _is_gutted(old, new):
                return f"the body of {name} would be replaced by {_rest_in_words(new)}"
            if _is_put_off(old, new):
                return f"a call of {name} would no longer do anything: its work waits for somebody to iterate"
            if _is_thrown_away(source.before, source.after, old, new):
                return f"a new decorator of {name} never calls it"
            if public and _is_top_level_or_method(source.before, old):
                reason = _signature(facts, name, old, new)
                if reason:
                    return reason
        for name in _classes(source.before) - _classes(source.after):
            if not name.startswith("_") and not _still_bound(facts, source.after, name):
                return f"{source.path} would remove the class {name}"
    return None


def _orphans(module: Module) -> set[str]:
    """Attributes of ``self`` that methods read and that nothing in the file sets: of classes without bases, which could."""
    set_somewhere = {n.attr for n in module.nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}
    set_somewhere |= {n.value for n in module.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    found: set[str] = set()
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef) or node.bases or node.keywords or node.decorator_list:
            continue
        own = {child.name for child in ast.walk(node) if isinstance(child, Function | ast.ClassDef)}
        own |= {
            child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
        }
        if "__getattr__" in own or "__getattribute__" in own:
            continue
        found |= {
            child.attr
            for child in ast.walk(node)
            if isinstance(child, ast.Attribute)
            and isinstance(child.ctx, ast.Load)
            and isinstance(child.value, ast.Name)
            and child.value.id == "self"
            and child.attr not in own | set_somewhere
            and not hasattr(object, child.attr)
        }
    return found


def _is_top_level_or_method(module: Module, function: Function) -> bool:
    return module.enclosing(function) is None


def _still_bound(facts: Facts, module: Module, name: str) -> bool:
    """Moved, or bound by other means (``name = wraps(…)``): the name is there."""
    head, _, method = name.rpartition(".")
    if not head:
        return name in module.defined or name in module.aliases
    return method in {
        target.id
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and node.name == head.rpartition(".")[2]
        for child in node.body
        if isinstance(child, ast.Assign)
        for target in child.targets
        if isinstance(target, ast.Name) and not isinstance(child.value, ast.Constant | ast.Lambda)
    }


def _classes(module: Module) -> set[str]:
    return {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}


def _is_thrown_away(before: Module, after: Module, old: Function, new: Function) -> bool:
    """A decorator that the patch adds, defined in the file, does not use what it decorates."""
    known = {dump(decorator) for decorator in old.decorator_list}
    functions = dict(after.functions)
    for decorator in new.decorator_list:
        if dump(decorator) not in known and isinstance(decorator, ast.Name) and decorator.id in functions:
            used = {node.id for node in ast.walk(functions[decorator.id]) if isinstance(node, ast.Name)}
            if not used & set(_parameters(functions[decorator.id])):
                return True
    return False


def _is_put_off(old: Function, new: Function) -> bool:
    """A procedure becomes a generator, or hands its work back as a lazy ``map``: nothing happens when it is called."""
    if is_stub(old) or any(isinstance(node, ast.Return) and node.value is not None for node in _own_nodes(old)):
        return False
    yields = (ast.Yield, ast.YieldFrom)
    if any(isinstance(node, yields) for node in _own_nodes(old)):
        return False
    for node in _own_nodes(new):
        if isinstance(node, yields):
            return True
        if isinstance(node, ast.Return) and (
            isinstance(node.value, ast.GeneratorExp)
            or (
                isinstance(node.value, ast.Call)
                and isinstance(node.value.func, ast.Name)
                and node.value.func.id in ("map", "filter", "zip", "enumerate", "iter")
            )
        ):
            return True
    return False


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _statements(function: Function) -> list[ast.stmt]:
    """The body without its docstring."""
    body = function.body
    first = body[0] if body else None
    has_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if has_docstring else body


def _is_gutted(old: Function, new: Function) -> bool:
    if is_stub(old):
        return not is_stub(new) and _constant_body(new) and bool(_parameters(new))
    if dump(old) == dump(new):
        return False
    if is_stub(new):
        return True
    return _constant_body(new) and not _constant_body(old)


def _constant_body(function: Function) -> bool:
    """Whatever it is given, it gives the same plain value (or nothing, or an error) back and does nothing else."""
    statements = _reachable(_statements(function))
    for node in statements[:-1]:
        if not (isinstance(node, ast.Pass) or (isinstance(node, ast.Assign) and _is_plain(node.value))):
            return False
    if not statements:
        return True
    last = statements[-1]
    if isinstance(last, ast.Pass | ast.Raise):
        return True
    return isinstance(last, ast.Return) and (
        last.value is None or _is_plain(last.value) or _names_a_constant(last.value, statements)
    )


def _reachable(statements: list[ast.stmt]) -> list[ast.stmt]:
    for n, node in enumerate(statements):
        if isinstance(node, ast.Return | ast.Raise):
            return statements[: n + 1]
    return statements


def _is_plain(node: ast.expr | None) -> bool:
    return node is not None and not any(
        isinstance(
            child,
            ast.Name
            | ast.Call
            | ast.Attribute
            | ast.Await
            | ast.Yield
            | ast.YieldFrom
            | ast.comprehension
            | ast.Lambda,
        )
        for child in ast.walk(node)
    )


def _names_a_constant(node: ast.expr, statements: list[ast.stmt]) -> bool:
    assigned = {
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return isinstance(node, ast.Name) and node.id in assigned


def _rest_in_words(function: Function) -> str:
    statements = _reachable(_statements(function))
    if is_stub(function):
        return "nothing"
    last = statements[-1] if statements else None
    if isinstance(last, ast.Return) and last.value is not None:
        return f"the constant {ast.unparse(last.value)[:60]}"
    if isinstance(last, ast.Raise):
        return "an error for every input"
    return "nothing"


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    named = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    named += [arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [name for name in named if name not in ("self", "cls")]


def _signature(facts: Facts, name: str, old: Function, new: Function) -> str | None:
    before, after = old.args, new.args
    if isinstance(old, ast.AsyncFunctionDef) != isinstance(new, ast.AsyncFunctionDef):
        return (
            None
            if any("await" in m or "coroutine" in m for m in facts.tests.messages)
            else f"{name} would change between async and plain"
        )
    for argument, default in _defaults(new):
        if isinstance(default, ast.List | ast.Dict | ast.Set) and argument not in _parameters(old):
            return f"{name} would get the parameter {argument} with a value that is kept between calls"
    old_positional = [arg.arg for arg in (*before.posonlyargs, *before.args)]
    new_positional = [arg.arg for arg in (*after.posonlyargs, *after.args)]
    required = len(new_positional) - len(after.defaults)
    removed = [arg for arg in _parameters(old) if arg not in _parameters(new)]
    asked_for = _asked_for_signature(facts, name, new)
    if removed and not asked_for:
        kind = "renamed or removed"
        return f"the parameter {removed[0]} of {name} would be {kind}, which breaks its callers"
    kept = [arg for arg in new_positional if arg in old_positional]
    if kept != [arg for arg in old_positional if arg in kept] and not asked_for:
        return f"the parameters of {name} would change their order, which breaks its callers"
    added = [arg for arg in new_positional[:required] if arg not in old_positional]
    added += [
        arg.arg
        for arg, default in zip(after.kwonlyargs, after.kw_defaults, strict=True)
        if default is None and arg.arg not in _parameters(old)
    ]
    added = [arg for arg in added if arg not in ("self", "cls")]
    if added and not asked_for:
        return f"{name} would need a new argument {added[0]}, which breaks its callers"
    return None


def _defaults(function: Function) -> Iterator[tuple[str, ast.expr]]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if arguments.defaults:
        yield from zip((arg.arg for arg in positional[-len(arguments.defaults) :]), arguments.defaults, strict=True)
    yield from (
        (arg.arg, default) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    )


_CALL_ERROR = re.compile(
    r"(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|takes (?:from )?\d+ .*positional arguments?|missing \d+ required)"
)


def _asked_for_signature(facts: Facts, name: str, new: Function) -> bool:
    """The failure is a call that the old signature refused: changing the signature may be the very fix."""
    for message in facts.tests.messages:
        found = _CALL_ERROR.search(message)
        if found and (found.group(1) == name.rpartition(".")[2] or name.endswith(f"{found.group(1)}.__init__")):
            return found.group(2) is None or found.group(2) in _parameters(new) or new.args.kwarg is not None
    return False


def _redefined(module: Module) -> set[str]:
    """Top-level functions and classes that are bound again later, other than under a condition or a decorator such as overload."""
    seen: set[str] = set()
    twice: set[str] = set()
    for node in module.tree.body:
        names: list[str] = []
        if isinstance(node, Function | ast.ClassDef):
            names = [] if node.decorator_list else [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        twice.update(name for name in names if name in seen)
        if isinstance(node, Function | ast.ClassDef):
            seen.update(names)
    return twice
