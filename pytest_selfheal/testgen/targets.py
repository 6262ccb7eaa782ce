"""Which functions shall get tests: those that a patch touched, or those with lines that changed since a revision."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from pytest_selfheal import parsing
from pytest_selfheal.testgen.job import Target
from pytest_selfheal.types import FileChange

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def of_changes(changes: Iterable[FileChange]) -> tuple[tuple[Target, ...], bool]:
    """Functions whose code a patch changes, and whether it changes anything outside of function bodies as well.

    Where only module-level code changed, every function of the file is a target: any of them may behave differently.
    """
    targets: list[Target] = []
    outside = False
    for change in changes:
        if change.after is None or not change.path.endswith(".py"):
            continue
        after = functions(_text(change.after))
        try:
            before = functions(_text(change.before or b""))
            tree_before, tree_after = parsing.parse(_text(change.before or b"")), parsing.parse(_text(change.after))
        except (SyntaxError, ValueError):
            before, outside = {}, True  # it could not even be read: everything in it is repaired
        else:
            outside = outside or _skeleton(tree_before) != _skeleton(tree_after)
        changed = [n for n, node in after.items() if n not in before or ast.dump(before[n]) != ast.dump(node)]
        named = [name for name in changed if "<locals>" not in name]
        targets += [Target(change.path, name) for name in (named or [n for n in after if "<locals>" not in n])]
    return tuple(targets), outside


def of_lines(texts: Mapping[str, str], changed: Mapping[str, frozenset[int]]) -> tuple[Target, ...]:
    """Functions that hold changed lines; ``texts`` has the sources by path."""
    found: list[Target] = []
    for path, text in sorted(texts.items()):
        lines = changed.get(path, frozenset())
        if not lines:
            continue
        try:
            known = functions(text)
        except (SyntaxError, ValueError):
            continue
        for name, node in known.items():
            own = lines & frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if own and "<locals>" not in name:
                found.append(Target(path, name, own))
    return tuple(found)


def functions(text: str) -> dict[str, _Function]:
    """Functions and methods by qualified name. Raises :class:`SyntaxError`."""
    return dict(_walk(parsing.parse(text), ""))


def _walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{child.name}", child
            yield from _walk(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _walk(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from _walk(child, prefix)


class _NoBodies(ast.NodeTransformer):
    def _emptied(self, node: _Function) -> _Function:
        node.body = [ast.Pass()]
        return node

    visit_FunctionDef = _emptied
    visit_AsyncFunctionDef = _emptied


def _skeleton(tree: ast.Module) -> str:
    return ast.dump(_NoBodies().visit(tree))


def _text(raw: bytes) -> str:
    from pytest_selfheal.propose.search.files import decode

    return decode(raw)
