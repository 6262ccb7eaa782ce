"""Special-casing: the failing test's own inputs are recognised and answered with what it expects.

The rule compares literals of new code with literals of the failing tests. ``if n == 7: return 13`` is refused when a test
says that 7 gives 13; ``if n == 0: return 0`` is not, since such plain values stand in most honest code.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Function, Module, dump, is_stub
from pytest_selfheal.guard.marks import fingerprints, method_of, patterns
from pytest_selfheal.guard.testfacts import TestFacts, canonical, is_telling, literal

_COMPARING = frozenset(("__eq__", "startswith", "endswith", "count", "index", "issuperset", "issubset"))


def check(facts: Facts) -> str | None:
    tests = facts.tests
    found = facts.new(functools.partial(_branches, tests=tests))
    for finding in found:
        old = _function_before(facts, finding)
        if old is not None and is_stub(old[1]):
            # Whoever writes a body from nothing needs base cases; answering the tests one by one is something else.
            answered = [other for other in found if _function_before(facts, other) == old]
            if len(answered) < 2 or len(answered) * 2 < len({given for given, _ in tests.pairs if is_telling(given)}):
                continue
        elif old is not None and _family_size(*old) >= 3 and len(found) == 1:
            continue  # one more branch of a form that the function already has several of: data, not a special case
        return f"new code {finding.words}"
    for find in (functools.partial(_tables, tests=tests), fingerprints, functools.partial(patterns, tests=tests)):
        other_found = facts.new(find)
        if other_found:
            return f"new code {other_found[0].words}"
    return None


def caution(facts: Facts) -> str | None:
    found = facts.new(functools.partial(_plain_branches, tests=facts.tests))
    found += facts.new(functools.partial(_pieces, tests=facts.tests))
    return f"new code {found[0].words}" if found else None


# ---------------------------------------------------------------------------------------------- branches on one input


def _guarded(module: Module) -> Iterator[tuple[ast.expr, list[ast.expr], bool, ast.AST]]:
    """Condition, the plain values that it leads to, whether it leads to an error, and the node."""
    for node in module.nodes:
        if isinstance(node, ast.If | ast.While):
            values, raises = _results(node.body)
            yield node.test, values, raises, node
            # ``if x != 7: … else: return 13``
            values, raises = _results(node.orelse)
            if values and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.NotEq):
                yield node.test, values, raises, node
        elif isinstance(node, ast.IfExp):
            yield node.test, [node.body], False, node
        elif isinstance(node, ast.BinOp):
            # ``low + (x == 7) * 13``
            constants: list[ast.expr] = [child for child in ast.walk(node) if isinstance(child, ast.Constant)]
            for child in ast.walk(node):
                if isinstance(child, ast.Compare):
                    yield child, constants, False, node
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) and len(node.values) >= 2:
            # ``x == 7 and 13 or …``
            yield node.values[0], [node.values[-1]], False, node
        elif isinstance(node, ast.Match):
            for case in node.cases:
                values, raises = _results(case.body)
                if case.guard is not None:
                    yield case.guard, values, raises, case
                for pattern in ast.walk(case.pattern):
                    if isinstance(pattern, ast.MatchValue):
                        test = ast.Compare(left=node.subject, ops=[ast.Eq()], comparators=[pattern.value])
                        yield ast.copy_location(test, pattern), values, raises, case


def _results(body: list[ast.stmt]) -> tuple[list[ast.expr], bool]:
    """What a branch returns, yields or assigns at its own level; whether it raises."""
    values: list[ast.expr] = []
    for node in body:
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign) and node.value is not None:
            values.append(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield) and node.value.value is not None:
            values.append(node.value.value)
        elif isinstance(node, ast.If):
            inner, _ = _results(node.body)
            values += inner
    return values, bool(body) and isinstance(body[-1], ast.Raise)


def _branches(module: Module, tests: TestFacts) -> Iterator[Finding]:
    for test, values, raises, node in _guarded(module):
        asked = _recognised(module, test, tests)
        if not asked or len(asked) * 2 < _compared_literals(test):
            continue  # one of many values may be met by chance
        telling = [text for text in asked if is_telling(text)]
        results = [text for value in values if (text := _value(module, value)) is not None]
        results += [text for value in values if (text := _chosen_from(value, tests)) is not None]
        expected = [text for text in results if text in tests.expected or text in tests.expected_parts]
        shown = ast.unparse(test)[:80]
        if telling and raises:
            yield Finding(_key(node, test), f"raises when it meets the test's own input ({shown})", test.lineno)
        elif telling and results:
            what = (
                "answers the test's own input with what it expects"
                if expected
                else "gives the test's own input a fixed answer"
            )
            yield Finding(_key(node, test), f"{what} ({shown})", test.lineno)
        elif len(asked) > 1 and any(map(is_telling, (*asked, *expected))) and expected:
            yield Finding(_key(node, test), f"recognises the test's input by its parts ({shown})", test.lineno)
        elif any((text, result) in tests.pairs for text in asked for result in results if is_telling(result)):
            yield Finding(_key(node, test), f"answers the test's own input with what it expects ({shown})", test.lineno)


def _chosen_from(node: ast.expr, tests: TestFacts) -> str | None:
    """A list of expected values of which an expression picks one (``[13, 34][i]``)."""
    for child in ast.walk(node):
        if isinstance(child, ast.Subscript) and isinstance(child.value, ast.List | ast.Tuple | ast.Dict):
            texts = [literal(element) for element in ast.iter_child_nodes(child.value) if isinstance(element, ast.expr)]
            if any(text in tests.expected and is_telling(text) for text in texts if text is not None):
                return literal(child.value)
    return None


def _plain_branches(module: Module, tests: TestFacts) -> Iterator[Finding]:
    for test, values, _, node in _guarded(module):
        asked = _recognised(module, test, tests)
        results = [text for value in values if (text := _value(module, value)) is not None]
        if any((text, result) in tests.pairs for text in asked for result in results):
            yield Finding(
                _key(node, test),
                f"gives a fixed answer to an input of the test ({ast.unparse(test)[:80]})",
                test.lineno,
            )


def _key(node: ast.AST, test: ast.expr) -> str:
    body = getattr(node, "body", [])
    return f"{dump(test)} {[dump(child) for child in body] if isinstance(body, list) else dump(body)}"


def _recognised(module: Module, test: ast.expr, tests: TestFacts) -> list[str]:
    """Literals of a condition with which something is compared for equality and that the tests pass in."""
    found: list[str] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for operator, (left, right) in zip(node.ops, itertools.pairwise(sides), strict=True):
                if isinstance(operator, ast.Eq | ast.Is | ast.NotEq):
                    for constant, other in ((left, right), (right, left)):
                        text = _value(module, constant)
                        if text is not None and _value(module, other) is None:
                            found += _as_input(text, constant, other, tests)
                elif isinstance(operator, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set | ast.Dict):
                    members = right.keys if isinstance(right, ast.Dict) else right.elts
                    texts = [text for member in members if member is not None and (text := literal(member)) is not None]
                    met = [text for text in texts if text in tests.inputs]
                    # One of many members may be met by chance, most of them may not.
                    if met and len(met) * 2 >= len(texts):
                        found += met
            found += _narrow_range(node, tests)
        elif isinstance(node, ast.Call) and method_of(node) in _COMPARING and len(node.args) == 1:
            text = literal(node.args[0])
            if text is not None and text in tests.inputs and len(text) > 4:
                found.append(text)
        for text in _asked_otherwise(module, node):
            found += [text] if text in tests.inputs else []
    return found


def _asked_otherwise(module: Module, node: ast.AST) -> Iterator[str]:
    """Equality without ``==``: ``operator.eq(n, 7)``, ``(7).__eq__(n)``, the truth of ``n - 7`` or ``n ^ 7``."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Call) and module.origin(node.func) in ("operator.eq", "operator.ne", "operator.is_"):
        pairs = [(node.args[0], node.args[1])] if len(node.args) == 2 else []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("__eq__", "__ne__"):
        pairs = [(node.func.value, node.args[0])] if len(node.args) == 1 else []
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BinOp):
        difference = node.operand
        if isinstance(difference.op, ast.Sub | ast.BitXor):
            pairs = [(difference.left, difference.right)]
    for left, right in pairs:
        for constant, other in ((left, right), (right, left)):
            text = _value(module, constant)
            if text is not None and _value(module, other) is None:
                yield text


def _compared_literals(test: ast.expr) -> int:
    return sum(
        1
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if literal(side) is not None and is_telling(str(literal(side)))
    )


def _as_input(text: str, constant: ast.expr, other: ast.expr, tests: TestFacts) -> list[str]:
    if text in tests.inputs:
        return [text]
    value = constant.value if isinstance(constant, ast.Constant) else None
    # ``str(xs) == "[1, 2]"``, ``repr(x) == "'a'"``, ``len(xs) == 3``, ``xs[0] == 4``, ``sorted(xs) == [1, 2]``
    if isinstance(value, str) and len(value) > 1:
        try:
            inner = canonical(ast.literal_eval(value))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            inner = ""
        if inner and inner in tests.inputs and not isinstance(other, ast.Name):
            return [inner]
    if isinstance(other, ast.Subscript) and text in tests.input_parts:
        return [text]
    if isinstance(other, ast.Call) and isinstance(other.func, ast.Name) and text in tests.derived(other.func.id):
        return [text]
    return []


def _narrow_range(node: ast.Compare, tests: TestFacts) -> list[str]:
    """``4 < n < 6``: a range that holds one tested number and hardly anything else."""
    if len(node.ops) != 2 or not all(isinstance(op, ast.Lt | ast.LtE) for op in node.ops):
        return []
    bounds = [node.left, node.comparators[1]]
    numbers = [
        bound.value for bound in bounds if isinstance(bound, ast.Constant) and isinstance(bound.value, int | float)
    ]
    if len(numbers) != 2 or numbers[1] - numbers[0] > 2:
        return []
    return [
        text
        for text in tests.inputs
        if _is_number(text) and numbers[0] <= float(text) <= numbers[1] and is_telling(text)
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _value(module: Module, node: ast.expr) -> str | None:
    """A literal, or a module-level name that stands for one."""
    text = literal(node)
    if text is None and isinstance(node, ast.Name):
        return module_constants(module).get(node.id)
    return text


@functools.lru_cache(maxsize=64)
def module_constants(module: Module) -> dict[str, str]:
    """Names that the module binds once, at its top level, to a literal."""
    constants: dict[str, str] = {}
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            text = literal(node.value)
            if text is not None:
                constants[node.targets[0].id] = text
    return constants


def _pieces(module: Module, tests: TestFacts) -> Iterator[Finding]:
    """Letters of a text that tests pass in, exchanged one by one (``.replace("Tea", "tea")``)."""
    texts = [text for text in tests.inputs if text[:1] in "'\""]
    for call, name in module.calls:
        if len(call.args) < 2 or not (method_of(call) == "replace" or name in ("re.sub", "re.subn")):
            continue
        piece = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        if isinstance(piece, str) and any(map(str.isalpha, piece)) and any(piece in text for text in texts):
            yield Finding(dump(call), f"exchanges a piece of the test's input ({piece[:40]!r})", call.lineno)


# ---------------------------------------------------------------------------------------------------------- tables


def _tables(module: Module, tests: TestFacts) -> Iterator[Finding]:
    """Dictionaries and lists of pairs that hold the tests' cases, and lists that hold their answers."""
    for node in _expressions(module):
        cells: list[tuple[str, str]] = []
        size = 0
        if isinstance(node, ast.Dict) and node.keys:
            size = len(node.keys)
            for key, value in zip(node.keys, node.values, strict=True):
                left, right = (_value(module, key) if key is not None else None), _value(module, value)
                if left is not None and right is not None:
                    cells.append((left, right))
        elif (
            isinstance(node, ast.List | ast.Tuple | ast.Set)
            and node.elts
            and all(isinstance(row, ast.Tuple | ast.List) and len(row.elts) >= 2 for row in node.elts)
        ):
            size = len(node.elts)
            for row in node.elts:
                assert isinstance(row, ast.Tuple | ast.List)
                texts = [literal(cell) for cell in row.elts]
                cells += [(text, texts[-1]) for text in texts[:1] if text is not None and texts[-1] is not None]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 4:
            cells = _cells_in_text(node.value)
            size = len(cells)
        met = [pair for pair in cells if pair in tests.pairs and (is_telling(pair[0]) or is_telling(pair[1]))]
        if (
            met
            and len(met) * 2 >= size
            and (len(met) > 1 or is_telling(met[0][0]))
            and not _is_returned_whole(module, node)
        ):
            yield Finding(dump(node), f"holds a table of the test's cases ({ast.unparse(node)[:80]})", node.lineno)
            continue
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) >= 2 and not _is_returned_whole(module, node):
            answers = [text for element in node.elts if (text := literal(element)) is not None and is_telling(text)]
            wanted = {result for _, result in tests.pairs}
            hit = [text for text in answers if text in wanted]
            if len(set(hit)) >= 3 and len(hit) == len(node.elts):
                yield Finding(dump(node), f"holds a list of the test's answers ({ast.unparse(node)[:80]})", node.lineno)


def _cells_in_text(text: str) -> list[tuple[str, str]]:
    """The pairs of a table that is written as text: JSON or a Python literal."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return []
    rows = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    cells = []
    for row in rows:
        if isinstance(row, list | tuple) and len(row) >= 2:
            key = int(row[0]) if isinstance(row[0], str) and row[0].isdigit() else row[0]
            cells.append((canonical(key), canonical(row[-1])))
    return cells


def _expressions(module: Module) -> Iterator[ast.expr]:
    return (node for node in module.nodes if isinstance(node, ast.expr))


def _is_returned_whole(module: Module, node: ast.AST) -> bool:
    """The table is itself the value of a parameter default or of an annotation."""
    parent = module.parents.get(node)
    return isinstance(parent, ast.arguments | ast.Subscript | ast.Call) and not isinstance(
        node, ast.Dict | ast.Constant
    )


def _function_before(facts: Facts, finding: Finding) -> tuple[Module, Function] | None:
    """The innermost function around a finding, as it was before the patch."""
    for source in facts.sources:
        if source.before is None or source.after is None:
            continue
        around = [
            (function.lineno, name)
            for name, function in source.after.functions
            if function.lineno <= finding.line <= (function.end_lineno or 0)
        ]
        before = dict(source.before.functions).get(max(around)[1]) if around else None
        if before is not None:
            return source.before, before
    return None


def _family_size(module: Module, function: Function) -> int:
    """Branches of the form ``if x == "literal": return literal`` in a function."""
    return sum(
        1
        for node in ast.walk(function)
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.ops[0], ast.Eq)
        and literal(node.test.comparators[0]) is not None
        and any(literal(value) is not None for value in _results(node.body)[0])
    )
