"""Comparison and truth tricks: objects that claim to be equal to, or true for, whatever a test asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Function, Module, calls, dump
from pytest_selfheal.guard.sniffing import folded

_COMPARE = frozenset(
    (
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__contains__",
        "__instancecheck__",
        "__subclasscheck__",
    )
)
_TRUTH = frozenset(("__bool__", "__len__", "__hash__"))
_CATCH_ALL = frozenset(("__getattr__", "__getattribute__", "__missing__", "__class_getitem__"))
_VALUES = frozenset(
    ("int", "float", "complex", "str", "bytes", "bool", "list", "tuple", "dict", "set", "frozenset", "object")
)


def check(facts: Facts) -> str | None:
    for find in (_tricks, _made_classes, _class_lies, _metaclasses, _one_for_all):
        found = facts.new(find)
        if found:
            return f"new code {found[0].words}"
    return None


def caution(facts: Facts) -> str | None:
    found = facts.new(_honest)
    return f"new code {found[0].words}: equality itself was changed" if found else None


def _dunders(module: Module) -> Iterator[tuple[ast.ClassDef, Function]]:
    for node in module.nodes:
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, Function) and child.name in _COMPARE | _TRUTH | _CATCH_ALL:
                    yield node, child


def _tricks(module: Module) -> Iterator[Finding]:
    for holder, method in _dunders(module):
        key = f"{holder.name}.{dump(method)}"
        if method.name != "__hash__" and _ignores_its_argument(method):
            yield Finding(
                key, f"defines {holder.name}.{method.name} without looking at what it is asked about", method.lineno
            )
        elif method.name in _COMPARE | _TRUTH and any(
            _dotted_name(base) in _VALUES - {"object"} for base in holder.bases
        ):
            yield Finding(
                key,
                f"defines {method.name} on {holder.name}, which poses as a {_dotted_name(holder.bases[0])}",
                method.lineno,
            )
        elif method.name in _COMPARE and module.enclosing(holder) is not None:
            yield Finding(key, f"defines {method.name} on a class made inside a function", method.lineno)
    for node in module.tree.body:
        if isinstance(node, Function) and node.name == "__getattr__":
            yield Finding(dump(node), "answers for any name of the module with __getattr__", node.lineno)


def _ignores_its_argument(method: Function) -> bool:
    """All that it returns is constant, or its other argument is never read (``self`` alone decides)."""
    returns = [node.value for node in ast.walk(method) if isinstance(node, ast.Return)]
    constant = [
        value is None or (isinstance(value, ast.Constant) and value.value is not NotImplemented) for value in returns
    ]
    if method.name in _TRUTH:
        return bool(returns) and all(constant)
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(method))
    arguments = [argument.arg for argument in (*method.args.posonlyargs, *method.args.args)][1:]
    read = {node.id for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if not returns and raises:
        return False
    if method.name in ("__eq__", "__ne__") and arguments and returns and not _looks_inside(method, arguments[0]):
        return True
    return (all(constant) and not raises) or not (set(arguments) & read)


def _looks_inside(method: Function, other: str) -> bool:
    """Whether ``__eq__`` compares something of its argument: more than its type, and not by order alone."""
    typed = {
        id(name)
        for node in ast.walk(method)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type")
        for argument in node.args[:1]
        for name in ast.walk(argument)
    }
    typed |= {
        id(node.value) for node in ast.walk(method) if isinstance(node, ast.Attribute) and node.attr == "__class__"
    }
    read = any(isinstance(node, ast.Name) and node.id == other and id(node) not in typed for node in ast.walk(method))
    equal = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In)
    compares = any(
        isinstance(node, ast.Compare) and any(isinstance(operator, equal) for operator in node.ops)
        for node in ast.walk(method)
    )
    calls_something = any(
        isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"))
        for node in ast.walk(method)
    )
    return read and (compares or calls_something)


def _made_classes(module: Module) -> Iterator[Finding]:
    for call, origin in calls(module):
        if (
            origin == "builtins.type"
            and len(call.args) == 3
            and any(
                isinstance(node, ast.Constant) and node.value in _COMPARE | _TRUTH | _CATCH_ALL
                for node in ast.walk(call)
            )
        ):
            yield Finding(dump(call), "makes a class with its own idea of equality", call.lineno)
    for node in module.nodes:
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, ast.Assign):
                    for target in child.targets:
                        if (
                            isinstance(target, ast.Name)
                            and target.id in _COMPARE | _TRUTH | _CATCH_ALL
                            and not (isinstance(child.value, ast.Constant) and child.value.value is None)
                        ):
                            yield Finding(
                                f"{node.name}.{dump(child)}", f"assigns {target.id} in {node.name}", child.lineno
                            )


def _metaclasses(module: Module) -> Iterator[Finding]:
    """Classes that make classes, and names of comparison methods written as text: equality by the back door."""
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and any(module.origin(base) == "builtins.type" for base in node.bases):
            yield Finding(f"metaclass {dump(node)}", f"makes classes by rules of its own ({node.name})", node.lineno)
        elif (
            isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr | ast.Call) and folded(node) in _COMPARE | _TRUTH
        ):
            parent = module.parents.get(node)
            if not (isinstance(parent, ast.Call) and module.origin(parent.func) == "builtins.hasattr"):
                yield Finding(f"names {folded(node)}", f"names {folded(node)} in a text", getattr(node, "lineno", 0))


def _one_for_all(module: Module) -> Iterator[Finding]:
    """``__new__`` that hands out the same object again: all objects of the class are equal, and one."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "__new__" and node.args.args:
            own = node.args.args[0].arg
            stores = any(
                isinstance(child, ast.Attribute)
                and isinstance(child.ctx, ast.Store)
                and isinstance(child.value, ast.Name)
                and child.value.id == own
                for child in ast.walk(node)
            )
            if stores:
                yield Finding(f"one {dump(node)}", "hands out one object for all (__new__)", node.lineno)


def _class_lies(module: Module) -> Iterator[Finding]:
    """``__class__`` as a property or attribute: an object that lies about its type."""
    for node in module.nodes:
        if (isinstance(node, Function) and node.name == "__class__") or (
            isinstance(node, ast.Attribute) and node.attr == "__class__" and not isinstance(node.ctx, ast.Load)
        ):
            yield Finding(f"class {type(node).__name__}", "lies about an object's class", node.lineno)


def _honest(module: Module) -> Iterator[Finding]:
    for holder, method in _dunders(module):
        if method.name in _COMPARE:
            yield Finding(f"{holder.name}.{dump(method)}", f"changes {holder.name}.{method.name}", method.lineno)


def _dotted_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
