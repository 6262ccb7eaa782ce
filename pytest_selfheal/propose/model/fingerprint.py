"""When two patches are the same patch: by what they compile to, not by how they are spelled."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from types import CodeType

from pytest_selfheal.propose.model.source import SourceFile, Unreadable, parse
from pytest_selfheal.types import FileChange


def fingerprint(changes: Iterable[FileChange]) -> str:
    """Equal for patches that differ only in layout, comments, docstrings or the order of their files."""
    parts = sorted(f"{change.path}\0{_meaning(change.path, change.after)}" for change in changes if _differs(change))
    return hashlib.sha256("\1".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def changes_anything(changes: Iterable[FileChange]) -> bool:
    """Whether the program after is another one than before."""
    return any(_differs(change) for change in changes)


def _differs(change: FileChange) -> bool:
    if change.before == change.after:
        return False
    return _meaning(change.path, change.before) != _meaning(change.path, change.after)


def _meaning(path: str, raw: bytes | None) -> str:
    if raw is None:
        return "no file"
    digest = hashlib.sha256(raw).hexdigest()
    if not path.endswith((".py", ".pyi")):
        return digest
    try:
        tree = parse(SourceFile(path, raw).text)
    except Unreadable:
        tree = None
    if tree is None:
        return digest
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or (
                    [] if isinstance(node, ast.Module) else [ast.copy_location(ast.Pass(), first)]
                )
    try:
        return repr(_essence(compile(tree, "patch", "exec", dont_inherit=True, optimize=0)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return digest


def _essence(code: CodeType) -> tuple[object, ...]:
    """A code object without its line numbers."""
    constants = tuple(
        _essence(constant) if isinstance(constant, CodeType) else (type(constant).__name__, repr(constant))
        for constant in code.co_consts
    )
    return (
        code.co_name,
        code.co_code.hex(),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        constants,
        getattr(code, "co_exceptiontable", b"").hex(),
    )
