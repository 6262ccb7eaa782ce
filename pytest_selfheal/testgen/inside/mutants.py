"""Mutants of one function: small classic faults that a good test tells from the code.

The operators are the usual ones of mutation testing (relational, arithmetic and logical operators, constants, negated
conditions, returned values, deleted statements); they are not the ones that repairs are searched with, so that tests are
not judged by what found the repair.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from pytest_selfheal.propose.search.swap import _walk, code_key

MAX_MUTANTS = 60

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_TWINS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sorted": "list",
    "floor": "ceil",
    "ceil": "floor",
    "lower": "upper",
    "upper": "lower",
    "startswith": "endswith",
    "endswith": "startswith",
    "append": "extend",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "split": "rsplit",
    "keys": "values",
}
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """A faulty version of the function."""

    line: int
    words: str
    codes: dict[str, CodeType]


def mutants(text: str, path: str, qualname: str, limit: int = MAX_MUTANTS) -> list[Mutant]:
    """Mutants of ``qualname`` in the source ``text``, evenly chosen where there are more than ``limit``."""
    tree = ast.parse(text)
    chain = _chain(tree, qualname)
    if chain is None:
        return []
    function = chain[-1]
    original = _compiled(tree, chain, path).get(qualname)
    changes = list(_changes(function))
    step = max(1.0, len(changes) / limit)
    chosen = [changes[int(i * step)] for i in range(min(limit, len(changes)))]
    found: list[Mutant] = []
    seen = {code_key(original)} if original is not None else set()
    for node, field, index, replacement, words in chosen:
        old = getattr(node, field)
        value = replacement if index is None else [*old[:index], replacement, *old[index + 1 :]]
        setattr(node, field, value)
        try:
            codes = _compiled(tree, chain, path)
        except (SyntaxError, ValueError):
            continue
        finally:
            setattr(node, field, old)
        code = codes.get(qualname)
        if code is None or code_key(code) in seen:
            continue
        seen.add(code_key(code))
        line = getattr(node, "lineno", None) or getattr(replacement, "lineno", function.lineno)
        found.append(Mutant(line, words, codes))
    return found


def codes_of(text: str, path: str) -> dict[str, CodeType]:
    """All functions of a source by qualified name; names that occur twice are left out."""
    found: dict[str, CodeType] = {}
    twice = set()
    for name, code in _walk(compile(text, path, "exec", dont_inherit=True), ""):
        if name in found:
            twice.add(name)
        found[name] = code
    return {name: code for name, code in found.items() if name not in twice}


def find_function(tree: ast.Module, qualname: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition of ``f`` or ``Class.method``; the last one where there are several."""
    chain = _chain(tree, qualname)
    return chain[-1] if chain else None


def _chain(tree: ast.Module, qualname: str) -> list[Any] | None:
    chain: list[Any] = []
    body = tree.body
    for part in qualname.split("."):
        found = [n for n in body if isinstance(n, (*_Function, ast.ClassDef)) and n.name == part]
        if not found:
            return None
        chain.append(found[-1])
        body = found[-1].body
    return chain if isinstance(chain[-1], _Function) else None


def _compiled(tree: ast.Module, chain: list[Any], path: str) -> dict[str, CodeType]:
    """Code of the function alone, inside the classes that hold it."""
    inner: Any = copy.copy(chain[-1])
    inner.decorator_list = []
    for holder in reversed(chain[:-1]):
        shell = copy.copy(holder)
        shell.body, shell.decorator_list, shell.bases, shell.keywords = [inner], [], [], []
        inner = shell
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    module = ast.Module(body=[*future, inner], type_ignores=[])
    return dict(_walk(compile(module, path, "exec", dont_inherit=True), ""))


_Change = tuple[Any, str, "int | None", Any, str]


def _changes(function: Any) -> Iterator[_Change]:
    """``(node, field, index, replacement, words)``, in the order of the source."""
    body = function.body
    for i, statement in enumerate(body):
        if not i and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # the docstring
        yield from _statement(function, "body", i, statement)


def _statement(parent: Any, field: str, index: int, node: Any) -> Iterator[_Change]:
    shown = _short(node)
    if isinstance(node, (*_Function, ast.ClassDef)):
        for i, inner in enumerate(node.body):
            yield from _statement(node, "body", i, inner)
        return
    if isinstance(node, (ast.Break, ast.Continue)):
        other = ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield parent, field, index, ast.copy_location(other, node), f"{shown} becomes {type(other).__name__.lower()}"
        return
    if _deletable(node):
        yield parent, field, index, ast.copy_location(ast.Pass(), node), f"{shown} is left out"
    if isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        nothing = ast.copy_location(ast.Constant(None), node.value)
        yield node, "value", None, nothing, f"{shown} returns None"
    if isinstance(node, ast.AugAssign) and type(node.op) in _BINARY:
        other_op = _BINARY[type(node.op)]
        yield node, "op", None, other_op(), f"{shown} with {other_op.__name__}"
    if isinstance(node, (ast.If, ast.While)):
        negated = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        yield node, "test", None, negated, f"{_short(node.test)} is negated"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "type_comment", "decorator_list"):
            continue
        if isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.stmt):
                    yield from _statement(node, name, i, item)
                elif isinstance(item, (ast.ExceptHandler, ast.match_case)):
                    for j, inner in enumerate(item.body):
                        yield from _statement(item, "body", j, inner)
                elif isinstance(item, ast.expr):
                    yield from _expression(node, name, i, item)
                elif isinstance(item, ast.AST):
                    yield from _inside(item)
        elif isinstance(value, ast.expr):
            yield from _expression(node, name, None, value)


def _expression(parent: Any, field: str, index: int | None, node: Any) -> Iterator[_Change]:
    shown = _short(node)

    def change(replacement: Any, words: str) -> _Change:
        return parent, field, index, ast.fix_missing_locations(ast.copy_location(replacement, node)), words

    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in _COMPARE.get(type(op), ()):
                ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                yield change(ast.Compare(node.left, ops, node.comparators), f"{shown} with {other.__name__}")
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        other_op = _BINARY[type(node.op)]
        if not (isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr))):
            yield change(ast.BinOp(node.left, other_op(), node.right), f"{shown} with {other_op.__name__}")
    elif isinstance(node, ast.BoolOp):
        other_bool = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield change(ast.BoolOp(other_bool, node.values), f"{shown} with {type(other_bool).__name__.lower()}")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        if not isinstance(node.operand, ast.Constant):
            yield change(node.operand, f"{shown} without its sign")
    elif isinstance(node, ast.IfExp):
        yield change(
            ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse), f"{_short(node.test)} is negated"
        )
    elif isinstance(node, ast.Call):
        twin = _twin(node.func)
        if twin is not None:
            yield change(ast.Call(twin, node.args, node.keywords), f"{shown} with {ast.unparse(twin)}")
        elif (
            len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp))
        ):
            yield change(node.args[0], f"{shown} becomes its argument")
    elif isinstance(node, ast.Constant):
        for value in _constants(node.value):
            yield change(ast.Constant(value), f"{shown} becomes {value!r}")
        return
    if isinstance(node, ast.JoinedStr):
        return  # the wording of messages
    yield from _inside(node)


def _twin(function: Any) -> Any:
    """The sibling of a well-known function or method."""
    if isinstance(function, ast.Name) and function.id in _TWINS:
        return ast.copy_location(ast.Name(_TWINS[function.id], ast.Load()), function)
    if isinstance(function, ast.Attribute) and function.attr in _TWINS:
        return ast.copy_location(ast.Attribute(function.value, _TWINS[function.attr], ast.Load()), function)
    return None


def _inside(node: Any) -> Iterator[_Change]:
    for name, value in ast.iter_fields(node):
        if name == "ctx":
            continue
        if isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _expression(node, name, i, item)
                elif isinstance(item, ast.AST):
                    yield from _inside(item)
        elif isinstance(value, ast.expr):
            yield from _expression(node, name, None, value)
        elif isinstance(value, ast.AST):
            yield from _inside(value)


def _constants(value: object) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1,) if value == 0 else (value + 1, value - 1)
    if isinstance(value, float):
        return (value + 1.0,)
    if isinstance(value, str):
        return (value + "X",) if value else ("X",)
    return ()


def _deletable(node: Any) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Await)) and not _is_logging(node.value)
    return isinstance(node, (ast.AugAssign, ast.Raise)) or (
        isinstance(node, ast.Assign) and any(isinstance(t, (ast.Subscript, ast.Attribute)) for t in node.targets)
    )


def _is_logging(node: Any) -> bool:
    return any(word in _short(node) for word in ("print(", "log.", "logger.", "logging.", "warnings."))


def _is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _short(node: Any) -> str:
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= 50 else f"{text[:49]}…"
