"""A ``None`` (or an empty call) where something is computed from a collection: what is gone through, kept, and made of it.

A value that was left for later is often one idiom: all, some or one of the elements, or something of each of them. The
grammar is *gather* (element *for* name *in* iterable *if* test); the kinds of the elements, as the tests pass them, and
the kind of value that the tests expect keep it small.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind, Kinds, of_value
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region
from pytest_selfheal.propose.search.unused import library_calls

_PLACES = frozenset(("argument", "assign", "iterable", "operand", "element"))
_COLLECTIONS = 3
"""Collections in scope that are tried, nearest first; the work grows with them."""
_OTHERS = 4

_OF_NUMBERS = ("{x} ** 2", "{x} * 2", "{x} * {x} * {x}", "abs({x})", "-{x}", "str({x})", "{x} + 1", "{x} - 1")
_OF_TEXTS = ("len({x})", "{x}[0]", "{x}[-1]", "{x}.lower()", "{x}.upper()", "{x}.strip()", "int({x})", "{x}[::-1]",
             "{x}.capitalize()", "ord({x})", "{x}[1:]", "float({x})", "{x}.swapcase()")  # fmt: skip
_OF_ROWS = ("{x}[0]", "{x}[1]", "{x}[-1]", "len({x})", "sum({x})", "max({x})", "min({x})", "sorted({x})", "tuple({x})",
            "list({x})", "{x}[::-1]", "set({x})", "{x}[0] + {x}[1]", "{x}[0] * {x}[1]")  # fmt: skip
_NUMBER_TESTS = ("{x} % 2 == 0", "{x} % 2 != 0", "{x} > 0", "{x} < 0", "{x} >= 0", "{x} != 0", "{x} == 0", "{x} > 1")
_TEXT_TESTS = ("{x}.isdigit()", "{x}.isalpha()", "{x}.isupper()", "{x}.islower()", "{x}.isalnum()", "{x}.isspace()",
               "not {x}.isdigit()", "not {x}.isspace()")  # fmt: skip
_KIND_TESTS = ("isinstance({x}, int)", "isinstance({x}, str)", "isinstance({x}, float)", "isinstance({x}, (list, tuple))",
               "not isinstance({x}, str)", "isinstance({x}, tuple)")  # fmt: skip
_WITH_NUMBER = (
    "{x} + {n}",
    "{x} - {n}",
    "{x} * {n}",
    "{x} // {n}",
    "{x} % {n}",
    "{x} ** {n}",
    "{x} / {n}",
    "{n} - {x}",
)
_NUMBER_BY = ("{x} == {n}", "{x} != {n}", "{x} > {n}", "{x} < {n}", "{x} >= {n}", "{x} <= {n}", "{x} % {n} == 0")
_SIZE_BY = ("len({x}) == {n}", "len({x}) > {n}", "len({x}) >= {n}", "len({x}) < {n}", "len({x}) != {n}")
_OF_PAIRS = ("{a} + {b}", "{b} - {a}", "{a} - {b}", "{a} * {b}", "{b} // {a}", "{a} % {b}", "{b} % {a}", "{a} / {b}",
             "{b} / {a}", "{a} // {b}", "abs({a} - {b})", "({a}, {b})", "max({a}, {b})", "min({a}, {b})")  # fmt: skip
_PAIR_TESTS = ("{a} == {b}", "{a} != {b}", "{a} < {b}", "{a} <= {b}", "{a} > {b}", "{a} >= {b}")

_GATHERED: dict[str, tuple[str, ...]] = {
    "list": ("[{}]", "sorted({})", "list({})"),
    "tuple": ("tuple({})",),
    "set": ("set({})",),
    "str": ('"".join({})', '" ".join({})', "max({})", "min({})"),
    "number": ("sum({})", "max({})", "min({})", "len([{}])"),
    "bool": ("all({})", "any({})"),
}
_BY_KIND = {
    "int": "number",
    "float": "number",
    "bool": "bool",
    "str": "str",
    "list": "list",
    "tuple": "tuple",
    "set": "set",
}


@dataclass(frozen=True)
class _Loop:
    """``for names in iterable``, with what may be made of an element and asked of it."""

    head: str
    plain: str
    """The element as it is."""
    made: tuple[str, ...]
    asked: tuple[str, ...]

    def rows(self) -> Iterator[tuple[str, float]]:
        """What stands between the brackets, and how likely it is: plain ones with a test, others without one first."""
        for test in self.asked:
            yield f"{self.plain} {self.head} if {test}", 1.0
        for element in self.made:
            yield f"{element} {self.head}", 1.0
        for test in self.asked[:12]:
            for element in self.made[:8]:
                yield f"{element} {self.head} if {test}", 0.3

    def tests(self) -> Iterator[str]:
        """For ``all`` and ``any``."""
        return (f"{test} {self.head}" for test in self.asked)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    wanted = _expected(context)
    holes = list(_holes(region, wanted))
    if not holes:
        return
    kinds = Kinds(region, context)
    leaves = [(n, kinds.variables.get(n, "any")) for n in region.names if n not in ("self", "cls", "_")]
    for node in holes:
        assigned = _target(region, node)
        known = [(name, kind) for name, kind in leaves if name != assigned]
        yield from _conversions(region, node, assigned)
        for text in library_calls(region, known):
            yield swap(region.source, node, text, "compose/library", level=None)
        if not wanted or wanted & {"number", "other"}:
            for text in _arithmetic(known):
                yield swap(region.source, node, text, "compose/number")
        loops = list(_loops(region, context, known))
        yield from (
            _in_call(region, node, loops)
            if _is_only_argument(region, node)
            else _whole(region, node, loops, wanted, assigned)
        )


def _holes(region: Region, wanted: frozenset[str]) -> Iterator[ast.Constant]:
    """Each ``None`` that may stand for a value; an empty text as well where the tests expect none."""
    source = region.source
    for node in region.expressions:
        if not isinstance(node, ast.Constant) or source.in_annotation(node):
            continue
        if node.value == "" and wanted and "str" not in wanted and isinstance(source.parent(node), ast.Assign):
            yield node
        elif node.value is None:
            up = source.parent(node)
            if isinstance(up, ast.keyword):
                if up.arg == "key":
                    yield node
            elif role(source, node) in _PLACES and not isinstance(up, ast.arguments):
                yield node


def _is_only_argument(region: Region, node: ast.AST) -> bool:
    up = region.source.parent(node)
    return isinstance(up, ast.Call) and up.args == [node] and not up.keywords


def _target(region: Region, node: ast.AST) -> str:
    up = region.source.parent(node)
    targets = up.targets if isinstance(up, ast.Assign) else [getattr(up, "target", None)]
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


def _conversions(region: Region, node: ast.Constant, assigned: str) -> Iterator[Draft]:
    """``x = None`` where x had a value already: another type of it."""
    bound = any(
        isinstance(n, ast.Name) and n.id == assigned and isinstance(n.ctx, ast.Store) and n.lineno < node.lineno
        for n in region.nodes
    )
    if assigned and (bound or assigned in region.parameters):
        for form in ("tuple({})", "list({})", "set({})", "sorted({})", "str({})", "{}[::-1]", "dict({})", "int({})"):
            yield swap(region.source, node, form.format(assigned), "compose/again", level=ATOM)


# ---------------------------------------------------------------------- numbers


def _arithmetic(leaves: Sequence[tuple[str, Kind]]) -> Iterator[str]:
    """Three operands: two names and a third or a constant. One of two names is what ``placeholder`` tries."""
    names = [name for name, kind in leaves if kind in NUMBERS | {"any"}][:_OTHERS]
    for a, b in itertools.permutations(names, 2):
        if a < b:
            yield from (f"{a} * {a} + {b} * {b}", f"{a} * {b} * {a}", f"{a} * {b} * {b}", f"2 * {a} * {b}")
        for op in ("+", "*", "-", "//", "%", "/"):
            if op in "+*" and a > b:
                continue
            inner = f"{a} {op} {b}" if op not in "+-" else f"({a} {op} {b})"
            for third in (n for n in names if n not in (a, b)):
                yield from (f"{inner} {o} {third}" for o in ("*", "//", "/", "%"))
                yield from (f"{a} {op} {b} {o} {third}" for o in ("+", "-"))
                yield from (f"{third} {o} {inner}" for o in ("-", "//", "/", "%") if op not in "*/%//")
                yield from (f"0.5 * {inner} * {third}", f"{inner} * {third} // 2", f"{inner} * {third} / 3")
            yield from (f"{a} {op} {b} + 1", f"{a} {op} {b} - 1")
            yield from (
                f"{inner} * 2",
                f"{inner} // 2",
                f"{inner} / 2",
                f"0.5 * {inner}",
                f"{inner} * 100",
                f"{inner} % 10",
            )
    for a in names:
        yield from (f"{a} * ({a} + 1) // 2", f"{a} * ({a} - 1) // 2", f"{a} * ({a} + 1)", f"{a} * ({a} - 1)", f"{a} * {a}",
                    f"{a} ** 3", f"{a} ** 0.5", f"2 ** {a}", f"10 ** {a}", f"{a} * 4", f"{a} * 3", f"{a} / 2", f"-{a}")  # fmt: skip


# ---------------------------------------------------------------------- what the tests say


def _expected(context: Context) -> frozenset[str]:
    """Kinds of the values that the tests compare calls with; empty when they say nothing."""
    found: set[str] = set()
    for text in context.tests:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.Is))):
                continue
            sides = (node.left, node.comparators[0])
            if any(isinstance(side, ast.Call) for side in sides):
                for side in sides:
                    try:
                        found.add(_BY_KIND.get(of_value(ast.literal_eval(side)), "other"))
                    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                        continue
    return frozenset(found)


def _elements(region: Region, context: Context, name: str) -> list[object]:
    """Elements of the collections that the tests pass for a parameter."""
    values: list[object] = []
    parameters = [p for p in region.parameters if p not in ("self", "cls")]
    if name in parameters:
        at = parameters.index(name)
        for row in context.calls.get(region.qualname.rpartition(".")[2], ()):
            if at < len(row):
                values.append(row[at])
    found: list[object] = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, (list, tuple, set, frozenset, str)):
            found += value
    return found[:60]


# ---------------------------------------------------------------------- loops


def _loops(region: Region, context: Context, leaves: Sequence[tuple[str, Kind]]) -> Iterator[_Loop]:
    collections = [(n, k) for n, k in leaves if k in COLLECTIONS | {"any", "iterator"}][:_COLLECTIONS]
    others = [(n, k) for n, k in leaves][: _OTHERS + _COLLECTIONS]
    x = _fresh("x", leaves)
    for name, kind in collections:
        elements = _elements(region, context, name)
        rest = [(n, k) for n, k in others if n != name]
        made, asked = _about(x, elements, rest)
        if kind == "dict":
            yield _Loop(f"for {x} in {name}.values()", x, made, asked)
            k, v = _fresh("k", leaves), _fresh("v", leaves)
            yield _Loop(
                f"for {k}, {v} in {name}.items()", k, (v, f"({k}, {v})", f"({v}, {k})"), _about(v, elements, rest)[1]
            )
        yield _Loop(f"for {x} in {name}", x, made, asked)
        a, b = _fresh("a", leaves), _fresh("b", leaves)
        if kind not in ("dict", "set"):
            yield _pairs(f"for {a}, {b} in zip({name}, {name}[1:])", a, b)
            i = _fresh("i", leaves)
            yield _Loop(f"for {i}, {x} in enumerate({name})", x, (i, f"({i}, {x})", f"{i} * {x}"), (f"{i} % 2 == 0", f"{i} % 2 == 1", *asked[:12]))  # fmt: skip
        for other, second in collections:
            if other != name and kind not in ("dict", "set") and second not in ("dict", "set"):
                yield _pairs(f"for {a}, {b} in zip({name}, {other})", a, b)
    for name, kind in leaves[:_OTHERS]:
        if kind in ("int", "any"):
            made, asked = _about(x, [1], [(n, k) for n, k in others if n != name] + [(name, kind)])
            yield _Loop(f"for {x} in range({name})", x, made, asked)
            yield _Loop(f"for {x} in range(1, {name} + 1)", x, made, asked)


def _pairs(head: str, a: str, b: str) -> _Loop:
    return _Loop(head, a, _filled(_OF_PAIRS, a=a, b=b), _filled(_PAIR_TESTS, a=a, b=b))


def _about(
    x: str, elements: Sequence[object], others: Sequence[tuple[str, Kind]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What can be made of an element and what can be asked of it."""
    kinds = {of_value(element) for element in elements}
    unknown = not kinds or "any" in kinds
    made: list[str] = []
    asked: list[str] = []
    if len(kinds) > 1 or unknown:
        asked += _filled(_KIND_TESTS, x=x)
    if kinds & NUMBERS or unknown:
        made += _filled(_OF_NUMBERS, x=x)
        asked += _filled(_NUMBER_TESTS, x=x)
    if "str" in kinds or unknown:
        made += _filled(_OF_TEXTS, x=x)
        asked += _filled(_TEXT_TESTS, x=x)
    if kinds & {"list", "tuple", "set", "dict"} or unknown:
        made += _filled(_OF_ROWS, x=x)
    sized = bool(kinds & COLLECTIONS) or unknown
    for name, kind in others[:_OTHERS]:
        if kind in NUMBERS | {"any"}:
            made += _filled(_WITH_NUMBER if kinds & NUMBERS or unknown else (), x=x, n=name)
            asked += _filled(_NUMBER_BY if kinds & NUMBERS or unknown else ("{x} == {n}", "{x} != {n}"), x=x, n=name)
            asked += _filled(_SIZE_BY if sized else (), x=x, n=name)
            made += _filled(("{x}[{n}]",) if sized else (), x=x, n=name)
        elif kind == "str":
            asked += _filled(
                ("{x} == {n}", "{x} != {n}", "{n} in {x}", "{n} not in {x}", "{x}.startswith({n})"), x=x, n=name
            )
        if kind in COLLECTIONS | {"any"}:
            asked += _filled(("{x} in {n}", "{x} not in {n}"), x=x, n=name)
            made += _filled(("{n}.count({x})",) if kind != "set" else (), x=x, n=name)
    asked.append(x)
    return tuple(dict.fromkeys(made)), tuple(dict.fromkeys(asked))


def _filled(forms: Iterable[str], **names: str) -> tuple[str, ...]:
    return tuple(form.format(**names) for form in forms)


def _fresh(name: str, leaves: Sequence[tuple[str, Kind]]) -> str:
    """A loop variable that hides nothing."""
    taken = {n for n, _ in leaves}
    while name in taken:
        name += "_"
    return name


# ---------------------------------------------------------------------- drafts


def _whole(
    region: Region, node: ast.Constant, loops: Sequence[_Loop], wanted: frozenset[str], assigned: str
) -> Iterator[Draft]:
    """The hole is the whole value: the gathering is part of what is looked for."""
    up = region.source.parent(node)
    if isinstance(up, ast.keyword):
        yield from _functions(region, node, loops, "key")
        return
    if isinstance(up, ast.Call):
        if up.args and up.args[0] is node and isinstance(up.func, ast.Name) and up.func.id in ("map", "filter"):
            yield from _functions(region, node, loops, up.func.id)
        return
    fits = wanted if assigned and _is_returned(region, assigned) else frozenset()
    for kind, forms in _GATHERED.items():
        if fits and kind not in fits and not ("other" in fits and kind in ("list", "set")):
            continue
        for loop in loops:
            for form in forms:
                rows = ((text, 1.0) for text in loop.tests()) if kind == "bool" else loop.rows()
                for inside, factor in rows:
                    yield swap(region.source, node, form.format(inside), f"compose/{kind}", factor, level=ATOM)


def _in_call(region: Region, node: ast.Constant, loops: Sequence[_Loop]) -> Iterator[Draft]:
    """The hole is all that a call gets: ``sum(None)``. Its brackets are those of the generator."""
    up = region.source.parent(node)
    assert isinstance(up, ast.Call)
    name = up.func.id if isinstance(up.func, ast.Name) else ""
    for loop in loops:
        rows = ((text, 1.0) for text in loop.tests()) if name in ("all", "any") else loop.rows()
        start, end = region.source.span(node)
        for inside, factor in rows:
            text = f"[{inside}]" if name == "len" else inside
            yield Draft((Edit(start, end, text),), "compose/argument", f"go through the elements: {inside}", factor)


def _functions(region: Region, node: ast.Constant, loops: Sequence[_Loop], what: str) -> Iterator[Draft]:
    """The hole is a function of one element: for ``map``, ``filter``, and as a sort key."""
    for loop in loops:
        if not loop.head.startswith(f"for {loop.plain} in "):
            continue
        for text in loop.asked if what == "filter" else loop.made:
            yield swap(region.source, node, f"lambda {loop.plain}: {text}", f"compose/{what}", level=1)


def _is_returned(region: Region, name: str) -> bool:
    returned = [n.value for n in region.of(ast.Return) if isinstance(n, ast.Return)]
    return bool(returned) and all(isinstance(value, ast.Name) and value.id == name for value in returned)
