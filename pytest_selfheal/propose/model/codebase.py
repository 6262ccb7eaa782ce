"""The project's own code, read statically: which file a module is, what a function calls, where a fixture is defined."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_selfheal.propose.model.source import Named, SourceFile, Unreadable


@dataclass(frozen=True)
class Place:
    """A definition in a file."""

    path: str
    one: Named

    @property
    def label(self) -> str:
        return f"{self.path}::{self.one.qualname}"


class Codebase:
    """Files below ``root``, each read once. ``roots``: folders that imports are looked up in, relative to ``root``."""

    def __init__(self, root: Path, roots: Sequence[str] = ("", "src", "lib")) -> None:
        self.root = root
        self._roots = tuple(dict.fromkeys(roots))
        self._files: dict[str, SourceFile | None] = {}
        self._imports: dict[str, dict[str, tuple[str, str]]] = {}

    def file(self, path: str) -> SourceFile | None:
        """``None`` when it is missing, unreadable or outside of ``root``."""
        if path not in self._files:
            found: SourceFile | None = None
            if path and not path.startswith(("/", "../")):
                try:
                    found = SourceFile.read(self.root, path)
                except (OSError, Unreadable, ValueError):
                    found = None
            self._files[path] = found
        return self._files[path]

    def place(self, path: str, line: int) -> Place | None:
        """The outermost function around a line."""
        file = self.file(path)
        one = file.outer(line) if file else None
        return Place(path, one) if one else None

    # --- names ------------------------------------------------------------------------------------------------------

    def module(self, name: str, near: str = "") -> str | None:
        """The file of a module of the project. ``near``: a file beside which it may also stand (rootdir/conftest imports)."""
        tail = name.replace(".", "/")
        for folder in dict.fromkeys([*self._roots, posixpath.dirname(near)]):
            for path in (f"{tail}.py", f"{tail}/__init__.py"):
                full = posixpath.join(folder, path) if folder else path
                if (self.root / full).is_file():
                    return full
        return None

    def imports(self, path: str) -> dict[str, tuple[str, str]]:
        """Local name → (file, name in it; empty for the module itself), for what a file imports from the project."""
        if path in self._imports:
            return self._imports[path]
        found: dict[str, tuple[str, str]] = {}
        self._imports[path] = found
        file = self.file(path)
        for node in ast.walk(file.tree) if file and file.tree else ():
            if isinstance(node, ast.Import):
                for alias in node.names:
                    target = self.module(alias.name, path)
                    if target:
                        found[alias.asname or alias.name] = (target, "")
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node, path)
                for alias in node.names:
                    submodule = self.module(f"{base}.{alias.name}" if base else alias.name, path)
                    target = self.module(base, path) if base else None
                    if target:
                        found[alias.asname or alias.name] = (target, alias.name)
                    if submodule and (not target or not self._has(target, alias.name)):
                        found[alias.asname or alias.name] = (submodule, "")
        return found

    def _has(self, path: str, name: str) -> bool:
        file = self.file(path)
        return bool(file and file.find(name)) or name in self.imports(path)

    def _absolute(self, node: ast.ImportFrom, path: str) -> str:
        if not node.level:
            return node.module or ""
        folder = posixpath.dirname(path)
        for _ in range(node.level - 1):
            folder = posixpath.dirname(folder)
        for root in sorted(self._roots, key=len, reverse=True):
            if root and (folder == root or folder.startswith(f"{root}/")):
                folder = folder[len(root) :].strip("/")
                break
        return ".".join(part for part in (folder.replace("/", "."), node.module or "") if part)

    def lookup(self, path: str, name: str, depth: int = 4) -> Place | None:
        """What a dotted name means at a file's top level, followed through re-exports."""
        file = self.file(path)
        if file is None or depth == 0:
            return None
        if found := file.find(name):
            return Place(path, found[0])
        head, _, tail = name.partition(".")
        known = self.imports(path)
        if name in known:
            target, inner = known[name]
            return self.lookup(target, inner, depth - 1) if inner else None
        for cut in range(name.count("."), -1, -1):
            pieces = name.split(".")
            head, tail = ".".join(pieces[: cut + 1]), ".".join(pieces[cut + 1 :])
            if head in known and tail:
                target, inner = known[head]
                return self.lookup(target, f"{inner}.{tail}" if inner else tail, depth - 1)
        return None

    # --- calls ------------------------------------------------------------------------------------------------------

    def callees(self, *places: Place) -> list[Place]:
        """Functions of the project that the bodies of ``places`` name, in order of appearance.

        A method counts when its class is named too, by whichever of them: a fixture makes the object, the test calls it.
        """
        found: dict[str, Place] = {}
        methods: list[str] = []
        classes: dict[str, Place] = {}
        for place in places:
            owner = place.one.qualname.rpartition(".")[0]
            for name in _names(place.one.node):
                head, _, rest = name.partition(".")
                own = head in ("self", "cls") and owner and rest
                hit = self.lookup(place.path, f"{owner}.{rest}") if own else None
                hit = hit or self.lookup(place.path, name)
                if hit is None:
                    methods.append(name.rpartition(".")[2])
                elif hit.one.is_class:
                    classes.setdefault(hit.label, hit)
                else:
                    found.setdefault(hit.label, hit)
        for cls in classes.values():
            home = self.file(cls.path)
            for name in ("__init__", *dict.fromkeys(methods)):
                for one in home.find(f"{cls.one.qualname}.{name}") if home else ():
                    found.setdefault(f"{cls.path}::{one.qualname}", Place(cls.path, one))
        given = {place.label for place in places}
        return [place for label, place in found.items() if label not in given]

    def callers(self, place: Place, among: Sequence[str]) -> list[Place]:
        """Functions in the files ``among`` that name this one."""
        name = place.one.qualname.rpartition(".")[2]
        found = []
        for path in among:
            file = self.file(path)
            for one in file.functions() if file else ():
                other = Place(path, one)
                used = (used.rpartition(".")[2] for used in _names(one.node))
                if other.label != place.label and name in used:
                    found.append(other)
        return found

    def fixtures(self, path: str, test: Named) -> list[Place]:
        """Fixtures of the project that a test uses, by argument names, nearest definition first; and theirs."""
        wanted = [argument.arg for argument in _arguments(test.node)]
        seen: dict[str, Place] = {}
        while wanted:
            name = wanted.pop(0)
            if name in seen or name in ("self", "cls", "request"):
                continue
            for candidate in self._fixture_files(path):
                file = self.file(candidate)
                hit = next((one for one in file.functions() if _is_fixture(one, name)), None) if file else None
                if hit is not None:
                    seen[name] = Place(candidate, hit)
                    wanted += [argument.arg for argument in _arguments(hit.node)]
                    break
        return list(seen.values())

    def _fixture_files(self, path: str) -> Iterator[str]:
        yield path
        folder = posixpath.dirname(path)
        while True:
            yield posixpath.join(folder, "conftest.py") if folder else "conftest.py"
            if not folder:
                return
            folder = posixpath.dirname(folder)


def _names(node: ast.AST) -> list[str]:
    """Dotted names that are read in a node, longest first where one contains another."""
    found: list[str] = []
    stack: list[ast.AST] = [node]
    while stack:
        inner = stack.pop()
        name = _dotted(inner)
        if name is not None:
            found.append(name)
            continue
        if isinstance(inner, ast.Attribute):
            found.append(f"?.{inner.attr}")
        stack.extend(reversed(list(ast.iter_child_nodes(inner))))
    return list(dict.fromkeys(found))


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return None


def _arguments(node: ast.AST) -> list[ast.arg]:
    arguments = getattr(node, "args", None)
    return (
        [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if isinstance(arguments, ast.arguments) else []
    )


def _is_fixture(one: Named, name: str) -> bool:
    for decorator in one.node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (_dotted(call) or "").rpartition(".")[2] != "fixture":
            continue
        given = [
            keyword.value.value
            for keyword in (decorator.keywords if isinstance(decorator, ast.Call) else ())
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
        ]
        return (given[0] if given else one.node.name) == name
    return False
