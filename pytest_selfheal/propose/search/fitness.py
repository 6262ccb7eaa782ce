"""How close a failing test came: assertions passed, and the distance between actual and expected values.

Pass or fail gives a search no direction. So the functions of the test files are compiled once more with *soft*
assertions: a failed one is measured and counted, and the test goes on. A run without misses is a run in which every
assertion held, so the soft code gives the verdict of a screen as well. Each assertion counts from 0 to 1.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Set
from types import CodeType
from typing import Any

from pytest_selfheal.propose.search.swap import _walk

NAME = "_selfheal_soft"
MAX_MISSES = 40
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class TooFar(BaseException):
    """So many assertions have failed that the rest would tell nothing."""


class Score:
    """Counts one candidate's run; the soft code reaches it under :data:`NAME` among the builtins."""

    __slots__ = ("closeness", "misses", "passed", "swallowed")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.passed = 0
        self.misses = 0
        self.closeness = 0.0
        self.swallowed: BaseException | None = None

    def ok(self) -> None:
        self.passed += 1

    def miss(self, operator: str = "", actual: Any = None, expected: Any = None) -> None:
        self.misses += 1
        if operator:
            try:
                self.closeness += closeness(operator, actual, expected)
            except Exception:  # somebody's __eq__, __len__, …
                self.closeness += 0.0
        if self.misses >= MAX_MISSES:
            raise TooFar

    def error(self, error: BaseException) -> None:
        self.swallowed = error
        self.miss()

    def value(self, units: int) -> float:
        """0..1: of ``units`` assertions (or as many as ran), how many held, near misses counted in part."""
        total = max(units, self.passed + self.misses, 1)
        return (self.passed + 0.9 * self.closeness) / total


def soften(text: str, path: str, caught: tuple[str, ...] = ("raises", "warns")) -> dict[str, CodeType]:
    """Code of a test file's functions with soft assertions, by qualified name; only functions that have any."""
    tree = ast.parse(text)
    softener = _Softener(caught)
    softener.visit(tree)
    if not softener.touched:
        return {}
    code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    return {qualname: c for qualname, c in _walk(code, "") if NAME in _names(c)}


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


class _Softener(ast.NodeTransformer):
    """``assert a == b`` → measure and go on; ``with raises(…):`` and ``self.assert…(…)`` likewise."""

    def __init__(self, caught: tuple[str, ...]) -> None:
        self._caught = caught
        self._depth = 0
        self.touched = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if not self._depth:
            return node
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = f"{NAME}_l", f"{NAME}_r"
            body: list[ast.stmt] = [
                ast.Assign([ast.Name(left, ast.Store())], test.left),
                ast.Assign([ast.Name(right, ast.Store())], test.comparators[0]),
            ]
            check: ast.expr = ast.Compare(ast.Name(left, ast.Load()), test.ops, [ast.Name(right, ast.Load())])
            missed = _call(
                "miss",
                ast.Constant(_OPERATORS[type(test.ops[0])]),
                ast.Name(left, ast.Load()),
                ast.Name(right, ast.Load()),
            )
        else:
            body, check, missed = [], test, _call("miss")
        body.append(ast.If(check, [_call("ok")], [missed]))
        return self._guarded(body, node)

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        call = node.items[0].context_expr
        function = call.func if isinstance(call, ast.Call) else None
        name = getattr(function, "attr", getattr(function, "id", ""))
        if not self._depth or name not in self._caught:
            return node
        return self._guarded([node, _call("ok")], node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if (
            not self._depth
            or not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or not call.func.attr.startswith("assert")
        ):
            return node
        if call.func.attr == "assertEqual" and len(call.args) >= 2 and not call.keywords:
            compared = ast.Assert(ast.Compare(call.args[0], [ast.Eq()], [call.args[1]]), None)
            return self.visit_Assert(ast.copy_location(compared, node))
        return self._guarded([node, _call("ok")], node)

    def _guarded(self, body: list[ast.stmt], node: ast.stmt) -> ast.AST:
        self.touched = True
        caught = f"{NAME}_e"
        handler = ast.ExceptHandler(
            ast.Attribute(ast.Name(NAME, ast.Load()), "caught", ast.Load()),
            caught,
            [_call("error", ast.Name(caught, ast.Load()))],
        )
        new = ast.Try(body, [handler], [], [])
        for part in ast.walk(new):
            if isinstance(part, (ast.stmt, ast.expr, ast.ExceptHandler)) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return new


def _call(method: str, *args: ast.expr) -> ast.stmt:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load())
    return ast.Expr(ast.Call(function, list(args), []))


class Soft(Score):
    """The :class:`Score` as the soft code sees it: it also knows which exceptions a soft assertion catches."""

    __slots__ = ()
    caught: tuple[type[BaseException], ...] = (Exception,)


# Distances


def closeness(operator: str, actual: Any, expected: Any) -> float:
    """How nearly ``actual <operator> expected`` holds: 0 (nothing in common) to just under 1."""
    if operator in ("==", "is"):
        return min(near(actual, expected), 0.99)
    if operator in ("<", "<=", ">", ">="):
        return _numbers(float(actual), float(expected)) if _is_number(actual) and _is_number(expected) else 0.0
    if operator == "in":
        if isinstance(expected, str) and isinstance(actual, str):
            return 0.3 * _strings(actual, expected[: 4 * len(actual) + 20])
        values = list(expected)[:20] if isinstance(expected, (list, tuple, set, frozenset, dict)) else []
        return min(max((near(actual, value) for value in values), default=0.0), 0.9)
    return 0.0


def near(actual: Any, expected: Any, depth: int = 3) -> float:
    """Similarity of two values in 0..1; 1 only for equal ones."""
    if type(actual) is not type(expected) and not (_is_number(actual) and _is_number(expected)):
        if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
            return 0.5 * near(list(actual), list(expected), depth)
        return 0.0 if actual is None else 0.02
    if actual == expected:
        return 1.0
    for kinds, measure in _MEASURES:
        if isinstance(actual, kinds):
            return 0.05 + 0.9 * measure(actual, expected, depth)
    fields = getattr(actual, "__dict__", None)
    if fields and depth and isinstance(getattr(expected, "__dict__", None), dict):
        return 0.05 + 0.9 * _mappings(fields, vars(expected), depth)
    return 0.05


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(actual: float, expected: float) -> float:
    try:
        difference = abs(actual - expected)
    except OverflowError:
        return 0.0
    if math.isnan(difference) or math.isinf(difference):
        return 0.0
    return 0.9 / (1.0 + math.log1p(difference))


def _strings(actual: str, expected: str) -> float:
    longest = max(len(actual), len(expected), 1)
    shortest = min(len(actual), len(expected))
    if shortest > 400:
        actual, expected, shortest = actual[:400], expected[:400], min(shortest, 400)
    head = 0
    while head < shortest and actual[head] == expected[head]:
        head += 1
    tail = 0
    while tail < shortest - head and actual[-1 - tail] == expected[-1 - tail]:
        tail += 1
    here = sum(a == b for a, b in zip(actual, expected, strict=False))
    return 0.8 * max(head + tail, here) / longest + 0.15 * shortest / longest


def _sequences(actual: Any, expected: Any, depth: int) -> float:
    longest = max(len(actual), len(expected), 1)
    shared = min(len(actual), len(expected))
    if not depth:
        return 0.3 * shared / longest
    pairs = list(zip(actual[:40], expected[:40], strict=False))
    forward = sum(near(a, b, depth - 1) for a, b in pairs)
    if len(actual) != len(expected):  # one too many or too few in front: the tails may agree
        tails = zip(actual[::-1][:40], expected[::-1][:40], strict=False)
        forward = max(forward, sum(near(a, b, depth - 1) for a, b in tails))
    return 0.85 * forward / min(longest, max(len(pairs), 1) + longest - shared) + 0.1 * shared / longest


def _sets(actual: Set[Any], expected: Set[Any], depth: int) -> float:
    return len(actual & expected) / max(len(actual | expected), 1)


def _mappings(actual: Mapping[Any, Any], expected: Mapping[Any, Any], depth: int) -> float:
    keys = set(actual) | set(expected)
    if not depth or not keys:
        return 0.0
    missing = object()
    total = 0.0
    for key in list(keys)[:40]:
        mine, theirs = actual.get(key, missing), expected.get(key, missing)
        if mine is not missing and theirs is not missing:
            total += 0.2 + 0.8 * near(mine, theirs, depth - 1)
    return total / min(len(keys), 40)


_MEASURES: tuple[tuple[tuple[type, ...], Callable[[Any, Any, int], float]], ...] = (
    ((bool,), lambda a, b, depth: 0.0),
    ((int, float), lambda a, b, depth: _numbers(a, b)),
    ((str,), lambda a, b, depth: _strings(a, b)),
    ((bytes,), lambda a, b, depth: _strings(a.decode("latin-1"), b.decode("latin-1"))),
    ((list, tuple), _sequences),
    ((set, frozenset), _sets),
    ((dict,), _mappings),
)
