"""What operators may use besides the code under repair: tests, docstrings, failures, and the names of the project."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure


@dataclass(frozen=True)
class Signature:
    """A callable of the project as its ``def`` line tells it."""

    name: str
    qualname: str
    parameters: tuple[str, ...]
    required: int
    path: str
    method: bool = False


@dataclass(frozen=True)
class Context:
    """Read-only ingredients. Everything may be empty; operators then do without."""

    failures: tuple[Failure, ...] = ()
    tests: tuple[str, ...] = ()
    """Source text of the failing tests (functions, or whole files)."""
    expected: tuple[object, ...] = ()
    """Literal values that the tests compare with."""
    inputs: tuple[object, ...] = ()
    """Literal values that the tests pass in."""
    words: frozenset[str] = frozenset()
    """Lower-cased words of docstrings, test names and messages."""
    docstring_literals: tuple[object, ...] = ()
    """Quoted strings and numbers in the docstrings."""
    expected_exceptions: tuple[str, ...] = ()
    """Type names that failing tests want raised."""
    signatures: Mapping[str, tuple[Signature, ...]] = field(default_factory=dict)
    """Functions and methods that the project defines, by last name."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Module-level names of the project → paths that bind them."""
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name bound by an import somewhere in the project → the import lines that bind it."""
    attributes: frozenset[str] = frozenset()
    """Attribute names seen in the project."""
    observed: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Function → variable → reprs of values seen while the failing tests ran."""
    messages: tuple[str, ...] = ()
    """``Type: message`` of the failures' exceptions."""
    shares: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """File → line → share of the tests that run it which fail; lines that no passing test runs are left out."""
    held: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """``(file, function)`` → variables with the module's collections that held their value while the failing tests ran."""
    calls: Mapping[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    """Function name → positional argument values of the tests' calls that are plain literals."""

    def raised_through(self, path: str) -> frozenset[int]:
        """Lines of a file that the failures' exceptions passed through."""
        return frozenset(
            frame.line
            for failure in self.failures
            for link in failure.chain
            for frame in link.frames
            if path == frame.path or path.endswith(f"/{frame.path}") or frame.path.endswith(f"/{path}")
        )

    @classmethod
    def build(
        cls,
        failures: Sequence[Failure],
        sources: Mapping[str, Source],
        tests: Sequence[str] = (),
        observed: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
        wanting: Sequence[str] | None = None,
        shares: Mapping[str, Mapping[int, float]] | None = None,
    ) -> Context:
        """Gather all of it; ``tests`` is text of the failing tests and around them, ``wanting`` of their functions alone."""
        expected, inputs, wanted, calls = _from_tests(tests)
        if wanting is not None:  # what another test of the file wants raised is nothing that these want
            wanted = _from_tests(wanting)[2]
        docs = [doc for source in sources.values() for doc in _docstrings(source.tree)]
        messages = tuple(dict.fromkeys(f"{r.exception}: {r.message}" for f in failures for r in f.chain))
        words = {w.lower() for text in (*docs, *messages, *tests) for w in re.findall(r"[A-Za-z]{3,}", text[:20_000])}
        wanted += [name for f in failures for name in f.expected_exception]
        seen: dict[str, dict[str, tuple[str, ...]]] = {k: dict(v) for k, v in (observed or {}).items()}
        for failure in failures:
            for link in failure.chain:
                for frame in link.frames:
                    slot = seen.setdefault(frame.function, {})
                    for name, value in frame.locals:
                        slot[name] = tuple(dict.fromkeys([*slot.get(name, ()), value]))[:8]
        return cls(
            failures=tuple(failures),
            tests=tuple(tests),
            expected=tuple(expected),
            inputs=tuple(inputs),
            words=frozenset(words),
            docstring_literals=tuple(_unique(v for doc in docs for v in _quoted(doc))),
            expected_exceptions=tuple(dict.fromkeys(wanted)),
            signatures=_signatures(sources),
            names=_module_names(sources),
            imports=_imports(sources, tests),
            attributes=frozenset(
                node.attr for s in sources.values() for node in s.nodes if isinstance(node, ast.Attribute)
            ),
            observed=seen,
            messages=messages,
            shares=shares or {},
            calls={name: tuple(rows) for name, rows in calls.items()},
        )


def _unique(values: Iterable[object]) -> list[object]:
    found: dict[tuple[str, str], object] = {}
    for value in values:
        found.setdefault((type(value).__name__, repr(value)), value)
    return list(found.values())


def _constants(node: ast.AST) -> list[object]:
    found: list[object] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and child.value is not None and child.value is not Ellipsis:
            found.append(child.value)
        elif (
            isinstance(child, ast.UnaryOp)
            and isinstance(child.op, ast.USub)
            and isinstance(child.operand, ast.Constant)
        ):
            value = child.operand.value
            if isinstance(value, (int, float)):
                found.append(-value)
    return found


_Calls = dict[str, list[tuple[object, ...]]]


def _from_tests(tests: Sequence[str]) -> tuple[list[object], list[object], list[str], _Calls]:
    """Constants that tests compare with, constants that they pass in, exception names they want, calls with literals."""
    calls: _Calls = {}
    expected: list[object] = []
    inputs: list[object] = []
    wanted: list[str] = []
    for text in tests:
        try:
            tree = ast.parse(_dedent(text))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    called = any(isinstance(n, ast.Call) for n in ast.walk(side))
                    (inputs if called else expected).extend(_constants(side))
            elif isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if node.args and name and len(calls.setdefault(name, [])) < 50:
                    with contextlib.suppress(ValueError, TypeError, MemoryError, RecursionError):
                        calls[name].append(tuple(ast.literal_eval(a) for a in node.args))
                if name in ("raises", "assertRaises", "assertRaisesRegex", "warns") and node.args:
                    wanted += [
                        n.attr if isinstance(n, ast.Attribute) else n.id
                        for n in ast.walk(node.args[0])
                        if isinstance(n, (ast.Name, ast.Attribute))
                    ]
                elif name.startswith("assertEqual") and len(node.args) >= 2:
                    expected.extend(_constants(node.args[1]))
                    inputs.extend(_constants(node.args[0]))
                else:
                    inputs.extend(v for a in (*node.args, *(k.value for k in node.keywords)) for v in _constants(a))
    return _unique(expected), _unique(inputs), list(dict.fromkeys(wanted)), calls


def _dedent(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)


def _docstrings(tree: ast.AST) -> list[str]:
    return [
        doc
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and (doc := ast.get_docstring(node, clean=False))
    ]


_QUOTED = re.compile(r"'([^'\n]{0,40})'|\"([^\"\n]{0,40})\"|`([^`\n]{0,40})`|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.]*\w)")


def _quoted(doc: str) -> list[object]:
    found: list[object] = []
    for single, double, back, number in _QUOTED.findall(doc[:20_000]):
        if number:
            found.append(float(number) if "." in number else int(number))
        else:
            found.append(single or double or back)
    return found


def _signatures(sources: Mapping[str, Source]) -> dict[str, tuple[Signature, ...]]:
    found: dict[str, tuple[Signature, ...]] = {}
    for path, source in sources.items():
        for qualname, node in source.functions.items():
            args = node.args
            names = tuple(a.arg for a in (*args.posonlyargs, *args.args))
            method = isinstance(source.parents.get(node), ast.ClassDef)
            signature = Signature(
                node.name,
                qualname,
                names + tuple(a.arg for a in args.kwonlyargs),
                len(names) - len(args.defaults),
                path,
                method,
            )
            found[node.name] = (*found.get(node.name, ()), signature)
    return found


def _module_names(sources: Mapping[str, Source]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path, source in sources.items():
        for node in source.tree.body:
            names: list[str] = []
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names = [node.name]
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            for name in names:
                if path not in found.get(name, ()):
                    found[name] = (*found.get(name, ()), path)
    return found


def _imports(sources: Mapping[str, Source], tests: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    trees: list[ast.AST] = [s.tree for s in sources.values()]
    for text in tests:
        try:
            trees.append(ast.parse(_dedent(text)))
        except (SyntaxError, ValueError):
            continue
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    line = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    name = alias.asname or alias.name.partition(".")[0]
                    if line not in found.get(name, ()):
                        found[name] = (*found.get(name, ()), line)
            elif isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                for alias in node.names:
                    line = f"from {origin} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    name = alias.asname or alias.name
                    if line not in found.get(name, ()):
                        found[name] = (*found.get(name, ()), line)
    return found
