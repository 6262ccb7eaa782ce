"""How tightly expressions bind (Python reference, section 6.17): whether brackets are needed."""

from __future__ import annotations

import ast

_PRECEDENCE: dict[type[ast.AST], int] = {
    ast.NamedExpr: 0,
    ast.Tuple: 0,
    ast.Yield: 0,
    ast.YieldFrom: 0,
    ast.Lambda: 1,
    ast.IfExp: 1,
    ast.Compare: 5,
    ast.Await: 14,
    ast.Starred: 1,
}

_BINARY: dict[type[ast.AST], int] = {
    ast.BitOr: 6,
    ast.BitXor: 7,
    ast.BitAnd: 8,
    ast.LShift: 9,
    ast.RShift: 9,
    ast.Add: 10,
    ast.Sub: 10,
    ast.Mult: 11,
    ast.MatMult: 11,
    ast.Div: 11,
    ast.FloorDiv: 11,
    ast.Mod: 11,
    ast.Pow: 13,
}

ATOM = 16


def precedence(node: ast.expr) -> int:
    """How tightly the outermost operator of ``node`` binds (Python reference, section 6.17); :data:`ATOM` for the rest."""
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return 4 if isinstance(node.op, ast.Not) else 12
    if isinstance(node, ast.BoolOp):
        return 2 if isinstance(node.op, ast.Or) else 3
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value < 0:
        return 12
    return _PRECEDENCE.get(type(node), ATOM)
