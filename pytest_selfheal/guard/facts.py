"""What a patch newly introduces, as facts that the rules ask for: syntax trees before and after, names with their origin."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pytest_selfheal import parsing
from pytest_selfheal.guard.testfacts import TestFacts
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, FileChange, Patch

BUILTINS: Final = frozenset(dir(builtins))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Finding:
    """One thing that a rule looks for. Two findings with the same key are the same thing, wherever it stands."""

    key: str
    words: str
    """For people: what it is (``calls os._exit``)."""
    line: int = 0


class Module:
    """One version of one Python file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.text = decode(source)
        self.lines = self.text.splitlines()
        self._bound: dict[Function, frozenset[str]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the project's own business
            self.tree = parsing.parse(source, filename=path)

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, as ``ast.walk`` gives them; the rules ask often."""
        return tuple(ast.walk(self.tree))

    @functools.cached_property
    def calls(self) -> tuple[tuple[ast.Call, str], ...]:
        """Each call and the resolved name of what is called."""
        return tuple((node, self.origin(node.func)) for node in self.nodes if isinstance(node, ast.Call))

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """Local name → where it was imported from (``{"e": "os.environ"}``), function-level imports included."""
        names: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    names[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{'.' * node.level}{node.module or ''}.{alias.name}"
        # ``environment = os.environ``: one step of renaming, at any level.
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                origin = _dotted(node.value)
                if origin and origin.partition(".")[0] in names and node.targets[0].id not in names:
                    head, _, rest = origin.partition(".")
                    names[node.targets[0].id] = f"{names[head]}.{rest}" if rest else names[head]
        return names

    @functools.cached_property
    def defined(self) -> frozenset[str]:
        """Names that the module binds at its top level other than by import."""
        names = set()
        for node in self.tree.body:
            if isinstance(node, Function | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(target.id for target in targets if isinstance(target, ast.Name))
        return frozenset(names)

    def origin(self, node: ast.AST) -> str:
        """Dotted name of an expression with imports resolved (``os.environ.get``); empty for anything else."""
        dotted = _dotted(node)
        head, _, rest = dotted.partition(".")
        if head in self.aliases:
            return f"{self.aliases[head]}.{rest}" if rest else self.aliases[head]
        if head in BUILTINS and head not in self.defined:
            return f"builtins.{dotted}"
        return dotted

    @functools.cached_property
    def functions(self) -> tuple[tuple[str, Function], ...]:
        """Qualified name and node of each function and method, nested ones included.

        Setters and deleters of a property have names of their own (``C.x.setter``), overloads for type checkers none. What
        is defined twice (in two branches, say) is told apart by its number: ``f``, ``f#2``.
        """
        seen: Counter[str] = Counter()

        def numbered(name: str) -> str:
            seen[name] += 1
            return name if seen[name] == 1 else f"{name}#{seen[name]}"

        def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, Function):
                    roles = [
                        dotted.rpartition(".")[2]
                        for decorator in child.decorator_list
                        if (dotted := _dotted(decorator))
                    ]
                    if "overload" not in roles:
                        role = next((role for role in roles if role in ("setter", "deleter")), "")
                        yield numbered(prefix + child.name + (f".{role}" if role else "")), child
                    yield from walk(child, f"{prefix}{child.name}.")
                elif isinstance(child, ast.ClassDef):
                    yield from walk(child, f"{prefix}{child.name}.")
                else:
                    yield from walk(child, prefix)

        return tuple(walk(self.tree, ""))

    def lines_of(self, function: Function) -> list[str]:
        """A function's source with its decorators."""
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        return self.lines[first - 1 : function.end_lineno]

    def bound_in(self, function: Function) -> frozenset[str]:
        """Parameters and variables of a function, those of functions inside it included."""
        if function not in self._bound:
            self._bound[function] = frozenset(
                node.arg if isinstance(node, ast.arg) else node.id
                for node in ast.walk(function)
                if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            )
        return self._bound[function]

    def enclosing(self, node: ast.AST) -> Function | None:
        """The function around a node."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, Function):
                return node
        return None


class SourceChange:
    """A changed Python file. ``after`` is ``None`` when the file is deleted; ``before`` when it is new or did not parse."""

    def __init__(self, change: FileChange) -> None:
        self.path = change.path
        self.change = change
        self.new_file = change.before is None
        self.before = _parse(change.path, change.before)
        self.after = _parse(change.path, change.after)
        self.before_lines = Counter(line.strip() for line in decode(change.before or b"").splitlines())


class Facts:
    """All that the rules may ask about one patch."""

    def __init__(self, patch: Patch, diagnosis: Diagnosis, settings: Settings) -> None:
        self.patch = patch
        self.diagnosis = diagnosis
        self.settings = settings
        self.root = Path(diagnosis.root) if diagnosis.root else None
        self.sources = tuple(SourceChange(change) for change in patch.changes if is_python(change.path))

    @functools.cached_property
    def tests(self) -> TestFacts:
        """What the failing tests say: inputs, expected values, words."""
        return TestFacts(self.diagnosis)

    def new(self, find: Callable[[Module], Iterable[Finding]], kinds: bool = False) -> list[Finding]:
        """What ``find`` finds after the patch and not, or not as often, before it, counted over all changed files.

        ``kinds``: a thing that was there before may come more often.
        """
        after = [(source, list(find(source.after))) for source in self.sources if source.after is not None]
        if not any(findings for _, findings in after):
            return []  # as nearly always: what stood there before need not be looked at
        before: Counter[str] = Counter()
        for source in self.sources:
            if source.before is not None:
                before.update(finding.key for finding in find(source.before))
        found = []
        for source, findings in after:
            assert source.after is not None
            unread = source.before is None and not source.new_file
            lines = Counter(source.before_lines)
            for finding in findings:
                if before[finding.key] > 0:
                    before[finding.key] -= 0 if kinds else 1
                elif unread and finding.line and lines[source.after.lines[finding.line - 1].strip()] > 0:
                    continue  # the file did not parse before: its lines are all that is known
                else:
                    found.append(finding)
        return found


def decode(source: bytes) -> str:
    """Text of a Python file by its declared encoding; undecodable bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:
        encoding = "utf-8"
    return source.decode(encoding, "replace")


def is_python(path: str) -> bool:
    return PurePosixPath(path).suffix in (".py", ".pyw", ".pyi")


def dump(node: ast.AST) -> str:
    """A key for a node: its structure without positions."""
    return ast.dump(node)


def calls(module: Module) -> Iterable[tuple[ast.Call, str]]:
    """Each call and the resolved name of what is called."""
    return module.calls


def imports(module: Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Each imported module, absolute names only; ``from a import b`` gives ``a.b``."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}"


def is_stub(function: Function) -> bool:
    """A function without a body worth the name: docstring, ``pass``, ``...``, ``raise NotImplementedError``."""
    for node in function.body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if _dotted(raised) in ("NotImplementedError", "NotImplemented"):
                continue
        return False
    return True


def starts_with(origin: str, names: Iterable[str]) -> bool:
    """Whether a dotted name is one of ``names`` or below one."""
    return any(origin == name or origin.startswith(name + ".") for name in names)


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


@functools.lru_cache(maxsize=4)  # each patch of a file is compared with the same text before it
def _parse(path: str, source: bytes | None) -> Module | None:
    if source is None:
        return None
    try:
        return Module(path, source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
