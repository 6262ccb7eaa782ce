"""Where an expression stands: the part of a prior's key that says what kind of place was changed."""

from __future__ import annotations

import ast

from pytest_selfheal.propose.search.source import Source

_TESTS = (ast.If, ast.While, ast.IfExp, ast.Assert)


def role(source: Source, node: ast.AST) -> str:
    """One word: index, slice, range, compare, operand, condition, return, assign, iterable, argument, element, other."""
    up = source.parent(node)
    if isinstance(up, ast.Slice):
        return "slice"
    if isinstance(up, ast.Subscript):
        return "index" if up.slice is node else "object"
    if isinstance(up, ast.Call):
        if up.func is node:
            return "callee"
        return "range" if isinstance(up.func, ast.Name) and up.func.id == "range" else "argument"
    if isinstance(up, ast.Compare):
        return "compare"
    if isinstance(up, (ast.BinOp, ast.AugAssign)):
        return "operand"
    if condition(source, node):
        return "condition"
    if isinstance(up, (ast.Return, ast.Yield)):
        return "return"
    if isinstance(up, (ast.Assign, ast.AnnAssign)):
        return "assign"
    if isinstance(up, (ast.For, ast.AsyncFor, ast.comprehension)):
        return "iterable"
    if isinstance(
        up, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
    ):
        return "element"
    return "other"


def condition(source: Source, node: ast.AST) -> bool:
    """Whether only the truth of the expression matters where it stands."""
    up = source.parent(node)
    if isinstance(up, _TESTS):
        return up.test is node
    if isinstance(up, ast.comprehension):
        return node in up.ifs
    if isinstance(up, ast.BoolOp):
        return condition(source, up)
    return isinstance(up, ast.UnaryOp) and isinstance(up.op, ast.Not)
