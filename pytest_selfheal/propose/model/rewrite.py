"""Whole definitions into a file: each replaces its namesake, helpers and imports are added, the rest is left alone.

What a model drops without meaning to is kept: decorators, docstrings, members of a class that it did not repeat. What it
adds without meaning to (a call with an example, a main block, a restyled line) is dropped: see :func:`minimise`.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Sequence

from pytest_selfheal import parsing
from pytest_selfheal.propose.model.reply import Unusable
from pytest_selfheal.propose.model.source import Definition, FunctionNode, Named, SourceFile, parse

MOST_HUNKS = 60
"""Larger rewrites are left as they are: trying each hunk costs a parse of the file."""

_ELIDED = re.compile(
    r"^\s*(#|\.\.\.|…).{0,12}\b(rest|remaining|existing|unchanged|previous|same as|as before|omitted)\b|^\s*# ?(\.\.\.|…)\s*$",
    re.I | re.M,
)


class Rewriter:
    """Applies blocks of definitions to one file, in order; remembers what it replaced, to notice contradictions."""

    def __init__(self, path: str, hint: str) -> None:
        self.path = path
        self.hint = hint
        """Qualified name that the reply gives as the one at fault, for functions named without their class."""
        self._seen: dict[str, tuple[str, str]] = {}

    def apply(self, text: str, code: str) -> str:
        """``text`` with the definitions of ``code``. Raises :class:`Unusable`."""
        try:
            tree = parsing.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f" (line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
            raise Unusable(f"the code for {self.path} does not parse{where}") from None
        block = SourceFile.of(self.path, code)
        used = 0
        nodes = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        owner = ""
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text, owner = self._function(text, node, block, "", owner)
                used += 1
            elif isinstance(node, ast.ClassDef):
                text = self._class(text, node, block)
                used += 1
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                text, changed = _assignment(text, node, block, None)
                used += changed
        for statement in imports:
            text, added = _import(text, statement, self.path)
            used += added
        if not used:
            raise Unusable(
                f"the code for {self.path} defines no function or class; use a SEARCH/REPLACE block for other lines"
            )
        return text

    # --- functions and classes ----------------------------------------------------------------------------------------

    def _function(
        self, text: str, node: FunctionNode, block: SourceFile, owner: str, sibling_owner: str
    ) -> tuple[str, str]:
        """``owner``: the class that the reply wrote it in. Returns the class that it was found in."""
        file = SourceFile.of(self.path, text)
        old = self._namesake(file, node, owner)
        if old is None:
            home = owner or (sibling_owner if _takes_self(node) else "")
            if not home and _takes_self(node) and "." in self.hint:
                home = self.hint.rpartition(".")[0]
            return self._add(text, file, node, block, home), home
        place = old.qualname.rpartition(".")[0]
        if isinstance(old.node, ast.ClassDef):
            raise Unusable(f"{old.qualname} is a class in {self.path}, the reply makes it a function")
        if _is_placeholder(node) and not _is_placeholder(old.node):
            return text, place
        if _ELIDED.search(_source(block, node)) and not _ELIDED.search(file.source_of(old)):
            raise Unusable(f"{old.qualname} is not written out whole; write every line of it")
        self._once(old.qualname, node, old.node)
        return _replace(file, old, node, block), place

    def _namesake(self, file: SourceFile, node: FunctionNode, owner: str) -> Named | None:
        name = f"{owner}.{node.name}" if owner else node.name
        exact = file.find(name)
        if not exact and not owner:
            exact = [one for one in file.functions() if one.qualname.rpartition(".")[2] == node.name]
            hinted = [one for one in exact if one.qualname == self.hint.replace(".<locals>.", ".")]
            exact = hinted or exact
        if len(exact) > 1:
            # A property and its setter, overloads: told apart by their decorators.
            alike = [one for one in exact if _decorators(one.node) == _decorators(node)]
            if len(alike) != 1:
                names = ", ".join(dict.fromkeys(one.qualname for one in exact))
                raise Unusable(f"{node.name} could be any of {names} in {self.path}; write it inside its class")
            exact = alike
        return exact[0] if exact else None

    def _once(self, qualname: str, new: Definition, old: Definition) -> None:
        meant = _meaning(new)
        original, said = self._seen.get(qualname, (_meaning(old), ""))
        # A reply may quote the old version before the new one; two different new ones are a riddle.
        if said and said not in (meant, original):
            raise Unusable(f"it holds two different versions of {qualname}; give one")
        self._seen[qualname] = (original, meant)

    def _add(self, text: str, file: SourceFile, node: FunctionNode, block: SourceFile, home: str) -> str:
        source = _source(block, node)
        if home:
            classes = [one for one in file.find(home) if one.is_class]
            if len(classes) != 1:
                raise Unusable(f"there is no one class {home} in {self.path} to add {node.name} to")
            body = classes[0].node.body
            indent = _indent_of(file, body[0])
            return _insert(file, body[-1].end_lineno or classes[0].last, ["", *_reindent(source, node, indent)])
        if file.tree is None:
            raise Unusable(f"{self.path} does not parse as it is; use SEARCH/REPLACE blocks")
        if not file.tree.body:
            return text.rstrip("\n") + ("\n\n\n" if text.strip() else "") + source + "\n"
        first = next((one for one in file.definitions if "." not in one.qualname), None)
        if first is None:
            return text.rstrip("\n") + "\n\n\n" + source + "\n"
        # Comments belong to the definition below them.
        return _insert(file, (first.top or first.first) - 1, [*source.split("\n"), "", ""])

    def _class(self, text: str, node: ast.ClassDef, block: SourceFile) -> str:
        file = SourceFile.of(self.path, text)
        old = [one for one in file.find(node.name) if one.is_class]
        if not old:
            nested = [one for one in file.definitions if one.is_class and one.qualname.endswith(f".{node.name}")]
            if len(nested) != 1:
                return self._add_class(file, node, block)
            old = nested
        qualname = old[0].qualname
        for member in node.body:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                text, _ = self._function(text, member, block, qualname, "")
            elif isinstance(member, ast.ClassDef):
                inner = [
                    one for one in SourceFile.of(self.path, text).find(f"{qualname}.{member.name}") if one.is_class
                ]
                if inner:
                    text = self._class(text, member, block)
            elif isinstance(member, ast.Assign | ast.AnnAssign):
                text, _ = _assignment(text, member, block, qualname)
        return text

    def _add_class(self, file: SourceFile, node: ast.ClassDef, block: SourceFile) -> str:
        if file.tree is None:
            raise Unusable(f"{self.path} does not parse as it is; use SEARCH/REPLACE blocks")
        source = _source(block, node)
        first = next((one for one in file.definitions if "." not in one.qualname), None)
        if first is None:
            return file.text.rstrip("\n") + ("\n\n\n" if file.text.strip() else "") + source + "\n"
        return _insert(file, (first.top or first.first) - 1, [*source.split("\n"), "", ""])


# --- pieces -----------------------------------------------------------------------------------------------------------


def _source(block: SourceFile, node: ast.stmt) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(block.lines[first - 1 : node.end_lineno])


def _meaning(node: Definition) -> str:
    """The definition without what a reply may leave out: docstring and decorators."""
    body = node.body[1:] if _docstring(node) is not None else node.body
    arguments = "" if isinstance(node, ast.ClassDef) else ast.dump(node.args)
    return "\n".join([node.name, arguments, *(ast.dump(statement) for statement in body)])


def _takes_self(node: FunctionNode) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg in ("self", "cls")


def _decorators(node: Definition) -> list[str]:
    return [ast.dump(decorator) for decorator in node.decorator_list]


def _is_placeholder(node: Definition) -> bool:
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, ast.Pass) for s in body)


def _indent_of(file: SourceFile, node: ast.stmt) -> str:
    line = file.lines[node.lineno - 1]
    return line[: len(line) - len(line.lstrip())]


def _insert(file: SourceFile, after: int, lines: Sequence[str]) -> str:
    return "\n".join([*file.lines[:after], *lines, *file.lines[after:]])


def _reindent(source: str, node: ast.stmt, indent: str) -> list[str]:
    """``source`` of ``node`` moved to ``indent``; the inside of multi-line strings that are values stays as it is."""
    lines = source.split("\n")
    have = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if have == indent:
        return lines
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    kept: set[int] = set()
    docstrings = {id(n.body[0].value) for n in ast.walk(node) if _docstring(n) is not None}  # type: ignore[attr-defined]
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant | ast.JoinedStr) and id(inner) not in docstrings and inner.end_lineno:
            if isinstance(inner, ast.Constant) and not isinstance(inner.value, str | bytes):
                continue
            kept.update(range(inner.lineno + 1 - first, inner.end_lineno + 1 - first))
    moved = []
    for n, line in enumerate(lines):
        if n in kept or not line.strip():
            moved.append(line if line.strip() or n in kept else "")
        else:
            moved.append(_retab(indent, line.removeprefix(have)))
    return moved


def _retab(indent: str, line: str) -> str:
    body = line.lstrip(" ")
    if "\t" in indent and not line.startswith("\t"):
        return indent + "\t" * ((len(line) - len(body)) // 4) + body
    return indent + line


def _docstring(node: ast.AST) -> ast.Expr | None:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) or not node.body:
        return None
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first
    return None


def _replace(file: SourceFile, old: Named, node: FunctionNode, block: SourceFile) -> str:
    source = _source(block, node)
    start_line = old.first
    if not node.decorator_list:
        start_line = old.node.lineno  # decorators that the reply left out stay
    head = file.lines[start_line - 1]
    indent = head[: len(head) - len(head.lstrip())]
    if head[: old.node.col_offset].strip() and start_line == old.node.lineno:
        raise Unusable(f"{old.qualname} shares its line with other code; use a SEARCH/REPLACE block")
    lines = _reindent(source, node, indent)
    kept = _docstring(old.node)
    if (
        kept is not None
        and _docstring(node) is None
        and node.body[0].lineno > node.lineno
        and kept.lineno > old.node.lineno
    ):
        offset = node.body[0].lineno - min([node.lineno, *(d.lineno for d in node.decorator_list)])
        while offset > 1 and (not lines[offset - 1].strip() or lines[offset - 1].lstrip().startswith("#")):
            offset -= 1  # comments above the first statement stay below the docstring
        docstring = list(file.lines[kept.lineno - 1 : kept.end_lineno])
        # The reply may indent its body by two spaces or a tab where the file has four spaces.
        statement = next(line for line in lines[offset:] if line.strip() and not line.lstrip().startswith("#"))
        docstring[0] = statement[: len(statement) - len(statement.lstrip())] + docstring[0].lstrip()
        lines[offset:offset] = docstring
    return "\n".join([*file.lines[: start_line - 1], *lines, *file.lines[old.last :]])


def _assignment(text: str, node: ast.Assign | ast.AnnAssign, block: SourceFile, home: str | None) -> tuple[str, bool]:
    """A constant of the module (or of the class ``home``): replaced, or added when it is new."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or node.value is None:
        return text, False
    file = SourceFile.of("", text)
    if file.tree is None:
        return text, False
    body: list[ast.stmt] = file.tree.body
    if home is not None:
        body = next(one.node.body for one in file.find(home) if one.is_class)
    name = targets[0].id
    for present in body:
        there = present.targets if isinstance(present, ast.Assign) else [getattr(present, "target", None)]
        if isinstance(present, ast.Assign | ast.AnnAssign) and [getattr(t, "id", None) for t in there] == [name]:
            if present.value is not None and ast.dump(present.value) == ast.dump(node.value):
                return text, False
            lines = _reindent(_source(block, node), node, _indent_of(file, present))
            return "\n".join(
                [*file.lines[: present.lineno - 1], *lines, *file.lines[(present.end_lineno or present.lineno) :]]
            ), True
    if home is None:
        return _insert(file, _after_imports(file), _source(block, node).split("\n")), True
    indent = _indent_of(file, body[0])
    after = (body[0].end_lineno or 0) if isinstance(body[0], ast.Expr) else body[0].lineno - 1
    return _insert(file, after, _reindent(_source(block, node), node, indent)), True


def _after_imports(file: SourceFile) -> int:
    """The line after which a new import may stand: below the last import of the module's head."""
    line = 0
    body = file.tree.body if file.tree else []
    for n, node in enumerate(body):
        if isinstance(node, ast.Import | ast.ImportFrom) or (n == 0 and _docstring(file.tree) is not None):  # type: ignore[arg-type]
            line = node.end_lineno or line
        else:
            break
    if line == 0:
        # Below the shebang, the coding line and the licence.
        while line < len(file.lines) and file.lines[line].startswith("#"):
            line += 1
    return line


def _import(text: str, node: ast.Import | ast.ImportFrom, path: str) -> tuple[str, bool]:
    file = SourceFile.of("", text)
    if file.tree is None:
        return text, False
    have: set[tuple[str | None, int, str, str | None]] = set()
    for present in file.tree.body:
        if isinstance(present, ast.Import):
            have.update((None, 0, alias.name, alias.asname) for alias in present.names)
        elif isinstance(present, ast.ImportFrom):
            have.update((present.module, present.level, alias.name, alias.asname) for alias in present.names)
    level, module = (node.level, node.module) if isinstance(node, ast.ImportFrom) else (0, None)
    own = path.removesuffix(".py").replace("/", ".")
    if isinstance(node, ast.ImportFrom) and module and not level and (own == module or own.endswith("." + module)):
        return text, False  # a model that imports the file from itself
    defined = {one.qualname for one in file.definitions}
    missing = [
        alias
        for alias in node.names
        if (module, level, alias.name, alias.asname) not in have and (alias.asname or alias.name) not in defined
    ]
    used = {n.id for n in ast.walk(file.tree) if isinstance(n, ast.Name)}
    missing = [
        alias for alias in missing if (alias.asname or alias.name.partition(".")[0]) in used or module == "__future__"
    ]
    if not missing:
        return text, False
    fresh = ast.ImportFrom(module, missing, level) if isinstance(node, ast.ImportFrom) else ast.Import(missing)
    return _insert(file, _after_imports(file), [ast.unparse(fresh)]), True


# --- the smallest change that means the same ----------------------------------------------------------------------------


def minimise(before: str, after: str) -> str:
    """``after`` without the hunks that change nothing but comments, blank lines and layout.

    Models restyle what they touch; a patch is for people to read. A hunk goes when the module means the same without
    it (equal syntax trees). Text that does not parse is returned as it is.
    """
    meant = parse(after)
    if meant is None or parse(before) is None:
        return after
    tree = ast.dump(meant)
    old, new = before.split("\n"), after.split("\n")
    # Lines that differ in layout only are taken as equal, unless the layout means something (in a string).
    for normal in (_squeezed, str.rstrip, str):
        matcher = difflib.SequenceMatcher(None, [normal(line) for line in old], [normal(line) for line in new], False)
        operations = [single for operation in matcher.get_opcodes() for single in _singly(operation)]
        kept = [kind != "equal" for kind, *_ in operations]
        if _means(_compose(old, new, operations, kept), tree):
            break
    if sum(kept) > MOST_HUNKS:
        return after
    for n, changed in enumerate(list(kept)):
        if changed:
            kept[n] = False
            kept[n] = not _means(_compose(old, new, operations, kept), tree)
    return _compose(old, new, operations, kept)


def _squeezed(line: str) -> str:
    return re.sub(r"\s+", "", re.sub(r"(^|\s)#.*", "", line)).replace('"', "'")


Operation = tuple[str, int, int, int, int]


def _singly(operation: Operation) -> Iterable[Operation]:
    """A replacement of so many lines by as many, line by line."""
    kind, low, high, start, stop = operation
    if kind != "replace" or high - low != stop - start:
        return [operation]
    return [(kind, low + n, low + n + 1, start + n, start + n + 1) for n in range(high - low)]


def _means(text: str, tree: str) -> bool:
    parsed = parse(text)
    return parsed is not None and ast.dump(parsed) == tree


def _compose(old: Sequence[str], new: Sequence[str], operations: Iterable[Operation], kept: Sequence[bool]) -> str:
    lines: list[str] = []
    for (_, low, high, start, stop), changed in zip(operations, kept, strict=True):
        lines += new[start:stop] if changed else old[low:high]
    return "\n".join(lines)


__all__ = ["Rewriter", "minimise"]
