"""Copy with substitution: a statement, branch or handler of this function or a twin, put elsewhere with one name, key or value changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit, apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import lines, reindent, text_of
from pytest_selfheal.propose.search.operators.constant import quoted
from pytest_selfheal.propose.search.operators.edit import short
from pytest_selfheal.propose.search.source import Region, Source

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LINES = 8


def statements(region: Region, context: Context) -> Iterator[Draft]:
    """Simple statements of the function, as they are and with one leaf changed, after or before each other statement."""
    source = region.source
    donors: dict[str, tuple[ast.stmt, str]] = {}
    for node in region.statements:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Delete)):
            text = source.segment(node)
            if "\n" not in text and len(text) < 120:
                donors.setdefault(text, (node, text))
    if isinstance(region.node, ast.Module):
        return
    variants: list[tuple[str, str, float, int]] = []
    for donor, text in donors.values():
        variants.append((text, "same", 1.0, donor.lineno))
        variants += [(new, "changed", 0.5, donor.lineno) for new in _changed(region, donor, context)]
        variants += [
            (new, "key", 4.0 if any(key in message for message in context.messages) else 1.0, donor.lineno)
            for key, new in _other_keys(region, donor)
        ]
    places = list(_places(region))
    for code, key, factor, line in variants:
        for offset, indent, at in places:
            near = 1.0 if abs(source.line_of(at) - line) < 8 else 0.5
            edit = Edit(offset, offset, f"{indent}{code}{source.newline}")
            yield Draft((edit,), f"copy/statement/{key}", f"insert {short(code)}", factor * near, at=at)


def _places(region: Region) -> Iterator[tuple[int, str, int]]:
    """Where a line can go: before each statement, and after the last one of each block."""
    source = region.source
    for node in region.statements:
        span = lines(source, node)
        if span is None or source.text[source.span(node)[0] :].startswith("elif"):
            continue
        yield span[0], source.indent_of(node), span[0]
        leaves = isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue))
        if source.block(node)[-1] is node and not leaves and source.text[: span[1]].endswith("\n"):
            yield span[1], source.indent_of(node), span[0]


def _changed(region: Region, statement: ast.stmt, context: Context) -> Iterator[str]:
    """The statement with one name or constant replaced by another of the function."""
    source = region.source
    start = source.span(statement)[0]
    text = source.segment(statement)
    constants = {
        n.value
        for n in region.expressions
        if isinstance(n, ast.Constant) and isinstance(n.value, (int, str)) and not isinstance(n.value, bool)
    }
    count = 0
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            options = [n for n in region.names if n != node.id and n not in ("self", "cls")][:10]
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, str)) and not isinstance(node.value, bool):
            options = [repr(c) for c in constants if type(c) is type(node.value) and c != node.value][:6]
            if isinstance(node.value, int):
                options += [repr(node.value + 1), repr(node.value - 1)]
        elif isinstance(node, ast.Attribute):
            options = []
        else:
            continue
        a, b = source.span(node)
        for option in options:
            count += 1
            if count > 40:
                return
            yield text[: a - start] + option + text[b - start :]


def _other_keys(region: Region, statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """The key and ``d["a"] = 0`` for one that the file reads or writes elsewhere, but this function does not."""
    source = region.source
    here = {n.value for n in region.nodes if isinstance(n, ast.Constant)}
    start, text = source.span(statement)[0], source.segment(statement)
    for node in ast.walk(statement):
        if not (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            continue
        a, b = source.span(node.slice)
        base = source.segment(node.value)
        for other in source.nodes:
            if (
                isinstance(other, ast.Subscript)
                and isinstance(other.slice, ast.Constant)
                and isinstance(other.slice.value, str)
            ):
                same = source.segment(other.value).rpartition(".")[2] == base.rpartition(".")[2]
                if same and other.slice.value not in here:
                    new = quoted(source.segment(node.slice), other.slice.value)
                    yield repr(other.slice.value), text[: a - start] + new + text[b - start :]


def branches(region: Region, context: Context) -> Iterator[Draft]:
    """An ``elif``, ``case`` or ``except`` branch repeated with one leaf of it changed, throughout the branch."""
    source = region.source
    for node in region.of(ast.If, ast.ExceptHandler):
        assert isinstance(node, (ast.If, ast.ExceptHandler))
        head = source.span(node)[0]
        last = lines(source, node.body[-1])
        first_line = source.line_span(source.line_of(head), source.line_of(head))[0]
        if last is None or source.text[first_line:head].strip():
            continue
        text = source.text[first_line : last[1]]
        if text.count("\n") > _LINES or not text.endswith("\n"):
            continue
        is_if = isinstance(node, ast.If) and not source.text.startswith("elif", head)
        for new, what in _substituted(region, node, text, first_line, context):
            copy = new
            if is_if:
                copy_elif = new.replace("if", "elif", 1)
                yield Draft((Edit(last[1], last[1], copy_elif),), "copy/branch/elif", f"branch for {what}", at=head)
                if node.orelse:  # type: ignore[union-attr]
                    continue
            yield Draft((Edit(last[1], last[1], copy),), "copy/branch", f"branch for {what}", at=head)


def _substituted(region: Region, node: ast.AST, text: str, start: int, context: Context) -> Iterator[tuple[str, str]]:
    source = region.source
    leaves: dict[str, list[ast.AST]] = {}
    nodes = (
        [node.test]
        if isinstance(node, ast.If)
        else [node.type]
        if isinstance(node, ast.ExceptHandler) and node.type
        else []
    )
    body = getattr(node, "body", [])
    visible = set(region.nodes)  # not what stands inside f-strings, where positions may be wrong
    for part in (*nodes, *body):
        for leaf in ast.walk(part):
            if isinstance(leaf, (ast.Name, ast.Constant)) and leaf in visible and not _fixed(source, leaf):
                leaves.setdefault(source.segment(leaf), []).append(leaf)
    pool: list[str] = [n for n in region.names if n not in ("self", "cls")]
    pool += [
        repr(v)
        for v in (*context.inputs, *context.docstring_literals)
        if isinstance(v, (int, str)) and not isinstance(v, bool)
    ][:24]
    pool += ["int", "float", "str", "bytes", "list", "tuple", "dict", "set", "bool"]
    pool += [n for n, paths in context.names.items() if source.path in paths][:24]
    pool += list(context.expected_exceptions)
    pool += list(dict.fromkeys(m.partition(":")[0] for m in context.messages))
    count = 0
    for old, found in leaves.items():
        for new in dict.fromkeys(pool):
            if new == old or (new[0] in "'\"") != (old[0] in "'\""):
                continue
            count += 1
            if count > 400:
                return
            edits = [Edit(a - start, b - start, new) for a, b in (source.span(leaf) for leaf in found)]
            yield apply(text, edits), new


def _fixed(source: Source, leaf: ast.AST) -> bool:
    """Names that are written to or called upon, pieces of f-strings: a literal in their place would be no Python."""
    return isinstance(getattr(leaf, "ctx", None), ast.Store) or isinstance(
        source.parent(leaf), (ast.Attribute, ast.JoinedStr)
    )


def twins(region: Region, context: Context) -> Iterator[Draft]:
    """Statements that a method of the same class (or a function of the same module) begins or ends with, here as well."""
    source = region.source
    if isinstance(region.node, ast.Module):
        return
    holder = source.parent(region.node)
    siblings = [
        n
        for n in getattr(holder, "body", [])
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n is not region.node
    ]
    body = [s for s in region.node.body if not source.is_docstring_statement(s)]
    if not body:
        return
    own = {source.segment(s) for s in region.statements}
    inside = [s for loop in region.of(ast.For, ast.While) for s in getattr(loop, "body", [])[:8]]
    seen: set[str] = set()
    own_name = region.node.name
    for twin in sorted(siblings, key=lambda n: -_shared_words(n.name, own_name))[:40]:
        alike = 4.0 if _shared_words(twin.name, own_name) >= 2 else 1.0
        theirs = [
            s
            for s in ast.walk(twin)
            if isinstance(s, (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Raise, ast.With, ast.Return))
        ]
        for statement in theirs:
            text = text_of(source, statement)
            key = source.segment(statement)
            if (
                text is None
                or key in own
                or key in seen
                or text.count("\n") > 4
                or source.is_docstring_statement(statement)
            ):
                continue
            if key.startswith("elif") or not _known(region, statement, context):
                continue
            seen.add(key)
            looped = any(isinstance(up, (ast.For, ast.While)) for up in source.ancestors(statement))
            if _leaves_loop(statement) and not (looped and inside):
                continue
            places = [(s, False) for s in inside] if looped else []
            if not _leaves_loop(statement):
                places += [(s, False) for s in body[:6]] + [(body[-1], True)]
            for place, after in places:
                span = lines(source, place)
                if span is None or (after and isinstance(place, (ast.Return, ast.Raise))):
                    continue
                moved = reindent(text, source.indent_of(statement), source.indent_of(place))
                offset = span[1] if after else span[0]
                if after and not source.text[:offset].endswith("\n"):
                    moved = source.newline + moved
                what = f"insert {short(key)} as in {twin.name}()"
                yield Draft((Edit(offset, offset, moved),), "copy/twin", what, alike, at=span[0])


def _shared_words(first: str, second: str) -> int:
    """How many words two names have in common."""
    return len(set(first.lower().split("_")) & set(second.lower().split("_")) - {""})


def _leaves_loop(statement: ast.AST) -> bool:
    """Whether it goes on with or ends a loop that it does not hold itself."""
    return any(isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(statement)) and not any(
        isinstance(n, (ast.For, ast.While)) for n in ast.walk(statement)
    )


def _known(region: Region, statement: ast.AST, context: Context) -> bool:
    """Whether every name that a foreign statement reads means something here."""
    import builtins

    known = {*region.names, *context.names, *context.imports, "self", "cls"}
    bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return all(
        n.id in known or n.id in bound or hasattr(builtins, n.id)
        for n in ast.walk(statement)
        if isinstance(n, ast.Name)
    )
