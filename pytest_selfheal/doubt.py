"""Signals that the test is wrong rather than the code. Pure functions over sources; nothing is run.

One signal is a hint, not evidence: healing stops for a suspect test only when at least two independent ones agree, and
the report shows each of them.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_selfheal import parsing
from pytest_selfheal.types import Failure

ENOUGH = 2


@dataclass(frozen=True)
class Claim:
    """A test's or document's word that a call gives a value."""

    call: str
    """The called function's plain name and the dump of its arguments: what two claims must share to be about the same."""
    function: str
    shown: str
    expected: str
    """``ast.dump`` of the expected literal."""
    where: str


def signals(
    failure: Failure,
    test_sources: Mapping[str, str],
    sources: Mapping[str, str],
    outcomes: Mapping[str, str],
    changed_lines: Mapping[str, frozenset[int]] | None = None,
) -> tuple[str, ...]:
    """Sentences, one for each independent signal that the failing test contradicts what everything else says.

    ``test_sources`` maps test files (as in nodeids) to text, ``sources`` files of the code under test, ``outcomes`` is
    the first run's; ``changed_lines`` says which lines of which file (as keyed in the two mappings) are uncommitted.
    """
    claim = failing_claim(failure, test_sources.get(failure.path, ""))
    if claim is None:
        return ()
    # Only files that name the function can say anything about it; parsing all of a large project takes seconds.
    sources = {path: text for path, text in sources.items() if claim.function in text}
    test_sources = {path: text for path, text in test_sources.items() if claim.function in text}
    found: list[str] = []
    documented = [other for other in _documented(sources) if other.call == claim.call]
    if any(other.expected != claim.expected for other in documented) and not any(
        other.expected == claim.expected for other in documented
    ):
        other = documented[0]
        found.append(
            f"the documentation of {claim.function}() says {other.shown}, the test wants another value for the same call "
            f"({other.where})"
        )
    # Cases of a parametrised test count by themselves; a nodeid without its parameters stands for the test function.
    passing = {nodeid for nodeid, outcome in outcomes.items() if outcome == "passed"}
    passing_functions = {nodeid.partition("[")[0] for nodeid in passing}
    tested = [
        other
        for path, text in test_sources.items()
        for other in _asserted(path, text)
        if other.where in passing_functions and other.where != failure.nodeid
    ]
    opposed = [other for other in tested if other.call == claim.call and other.expected != claim.expected]
    if opposed:
        found.append(f"the passing test {opposed[0].where} asserts {opposed[0].shown} for the same call")
    if not found:
        return ()  # what follows only adds to it
    callers = {f"{path}::{name}" for path, text in test_sources.items() for name in _callers(text, claim.function)} - {
        failure.nodeid.partition("[")[0]
    }
    siblings = sorted(nodeid for nodeid in passing if nodeid.partition("[")[0] in callers)
    if len(siblings) >= 2:
        found.append(
            f"{len(siblings)} other tests of {claim.function}() pass with the code as it is ({siblings[0]}, …)"
        )
    changed = changed_lines or {}
    touched_test = failure.innermost is not None and failure.innermost.line in changed.get(failure.path, ())
    if touched_test and not any(changed.get(path) for path in sources):
        found.append("the test's line was changed since the last commit, the code was not")
    return tuple(found)


def failing_claim(failure: Failure, test_source: str) -> Claim | None:
    """What the failing assertion claims, when it has the form ``call(literals) == literal``."""
    place = failure.innermost
    if place is None or place.path != failure.path or failure.phase != "call":
        return None
    values = dict(place.locals)
    for claim, node in _claims(failure.nodeid, test_source, values):
        if node.lineno <= place.line <= (node.end_lineno or node.lineno):
            return claim
    return None


def _claims(nodeid: str, source: str, values: Mapping[str, str]) -> Iterator[tuple[Claim, ast.Assert]]:
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and (claim := _claim(node.test, nodeid, values)) is not None:
            yield claim, node


def _claim(test: ast.expr, where: str, values: Mapping[str, str]) -> Claim | None:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is))):
        return None
    left, right = test.left, test.comparators[0]
    if not isinstance(left, ast.Call):
        left, right = right, left
    if not isinstance(left, ast.Call):
        return None
    expected = _literal(right, values)
    function = _name(left.func)
    arguments = [_literal(arg, values) for arg in left.args]
    keywords = [(keyword.arg, _literal(keyword.value, values)) for keyword in left.keywords]
    if expected is None or not function or None in arguments or any(value is None for _, value in keywords):
        return None
    call = f"{function}({arguments}, {sorted(keywords, key=str)})"
    return Claim(call, function, ast.unparse(test), expected, where)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _literal(node: ast.expr, values: Mapping[str, str]) -> str | None:
    """A canonical text of a literal, or of a name whose value is a literal."""
    text = values.get(node.id) if isinstance(node, ast.Name) else None
    try:
        return repr(ast.literal_eval(text if text is not None else node))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _documented(sources: Mapping[str, str]) -> Iterator[Claim]:
    """Doctest examples in the docstrings of module-level functions, as claims."""
    for path, source in sources.items():
        try:
            tree = parsing.parse(source)
        except (SyntaxError, ValueError):
            continue
        for node in tree.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for example in _examples(ast.get_docstring(node) or ""):
                try:
                    call = parsing.parse(example.source.strip(), mode="eval").body
                    want = parsing.parse(example.want.strip(), mode="eval").body
                except (SyntaxError, ValueError):
                    continue
                claim = _claim(ast.Compare(call, [ast.Eq()], [want]), f"{path}, {node.name}()", {})
                if claim is not None:
                    yield Claim(
                        claim.call,
                        claim.function,
                        f"{example.source.strip()} gives {example.want.strip()}",
                        claim.expected,
                        claim.where,
                    )


def _examples(docstring: str) -> list[doctest.Example]:
    try:
        return doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return []


def _asserted(path: str, source: str) -> Iterable[Claim]:
    """Claims of plain test functions, parametrised ones case by case; ``where`` is the nodeid without parameters."""
    for node in _test_functions(source):
        for values in _cases(node):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Assert):
                    claim = _claim(inner.test, f"{path}::{node.name}", values)
                    if claim is not None:
                        yield claim


def _callers(source: str, function: str) -> Iterable[str]:
    """Names of the test functions that call ``function`` by its plain name."""
    for node in _test_functions(source):
        if any(isinstance(inner, ast.Call) and _name(inner.func) == function for inner in ast.walk(node)):
            yield node.name


def _test_functions(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    try:
        tree = parsing.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            yield node


def _cases(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[dict[str, str]]:
    """The literal values of each case of a ``parametrize`` decorator, by argument; one empty case without."""
    for decorator in node.decorator_list:
        if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize")):
            continue
        try:
            names = ast.literal_eval(decorator.args[0])
            rows = ast.literal_eval(decorator.args[1])
        except (ValueError, IndexError, TypeError, SyntaxError):
            return
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        for row in rows:
            values = row if len(listed) > 1 else (row,)
            yield dict(zip(listed, map(repr, values), strict=False))
        return
    yield {}
