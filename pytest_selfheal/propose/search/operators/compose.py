"""A ``None`` (or an empty call) where something is computed from a collection: what is gone through, kept, and made of it.

A value that was left for later is often one idiom: all, some or one of the elements, or something of each of them. The
grammar is *gather* (element *for* name *in* iterable *if* test); the kinds of the elements, as the tests pass them, and
the kind of value that the tests expect keep it small.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import Kind, Kinds, of_value
from pytest_selfheal.propose.search.loops import OF_NUMBERS, OF_ROWS, OF_TEXTS, Loop, filled, loops
from pytest_selfheal.propose.search.operators.edit import swap, target_of
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.precedence import ATOM
from pytest_selfheal.propose.search.source import Region
from pytest_selfheal.propose.search.unused import library_calls
from pytest_selfheal.propose.search.values import arithmetic, of_two, read

SENTINEL = 0.2
"""What is left of a candidate's weight where the ``None`` looks meant."""
_PLACES = frozenset(("argument", "assign", "iterable", "operand", "element"))


_GATHERED: dict[str, tuple[str, ...]] = {
    "list": ("[{}]", "sorted({})", "list({})", "sorted({{{}}})"),
    "tuple": ("tuple({})",),
    "set": ("set({})",),
    "dict": (),
    "str": ('"".join({})', '" ".join({})', "max({})", "min({})"),
    "number": ("sum({})", "max({})", "min({})", "len([{}])"),
    "bool": ("all({})", "any({})"),
}
_BY_KIND = {
    "dict": "dict",
    "int": "number",
    "float": "number",
    "bool": "bool",
    "str": "str",
    "list": "list",
    "tuple": "tuple",
    "set": "set",
}


def propose(region: Region, context: Context) -> Iterator[Draft]:
    wanted = _expected(context)
    holes = list(_holes(region, wanted))
    if not holes:
        return
    kinds = Kinds(region, context)
    leaves = [(n, kinds.variables.get(n, "any")) for n in region.names if n not in ("self", "cls", "_")]
    for node in holes:
        drafts = _filled_in(region, context, node, leaves, wanted)
        scale = SENTINEL if _is_sentinel(region, node) else 1.0
        yield from drafts if scale == 1.0 else (replace(draft, factor=draft.factor * scale) for draft in drafts)


def _filled_in(
    region: Region, context: Context, node: ast.Constant, leaves: Sequence[tuple[str, Kind]], wanted: frozenset[str]
) -> Iterator[Draft]:
    assigned = target_of(region.source, node)
    known = [(name, kind) for name, kind in leaves if name != assigned]
    yield from _updated(region, node, assigned, known)
    yield from _patterns(region, node)
    for text, level in of_two(known):
        yield swap(region.source, node, text, "compose/two", level=level)
    for text in library_calls(region, known):
        yield swap(region.source, node, text, "compose/library", level=None)
    if not wanted or wanted & {"number", "other"}:
        for text in arithmetic(known):
            yield swap(region.source, node, text, "compose/number")
    ways = list(loops(region, context, known))
    yield from (
        _in_call(region, node, ways)
        if _is_only_argument(region, node)
        else _whole(region, node, ways, wanted, assigned)
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


def _is_sentinel(region: Region, node: ast.Constant) -> bool:
    """Whether it says "nothing yet": the variable is compared with ``None``, or gets its value elsewhere."""
    name = target_of(region.source, node)
    stores = [n for n in region.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    first = min((n.lineno for n in stores), default=0)
    asked = any(
        isinstance(n, ast.Compare)
        and isinstance(n.left, ast.Name)
        and n.left.id == name
        and any(isinstance(c, ast.Constant) and c.value is None for c in n.comparators)
        for n in region.nodes
    )
    return bool(name) and (asked or (len(stores) > 1 and first == node.lineno))


def _updated(region: Region, node: ast.Constant, assigned: str, leaves: Sequence[tuple[str, Kind]]) -> Iterator[Draft]:
    """``x = None`` where x had a value already: another type of it, or the value and something more."""
    bound = any(
        isinstance(n, ast.Name) and n.id == assigned and isinstance(n.ctx, ast.Store) and n.lineno < node.lineno
        for n in region.nodes
    )
    if assigned and (bound or assigned in region.parameters):
        for form in ("tuple({})", "list({})", "set({})", "sorted({})", "str({})", "{}[::-1]", "dict({})", "int({})"):
            yield swap(region.source, node, form.format(assigned), "compose/again", level=ATOM)
        for text in ("1", *read(region, leaves)):
            for form in ("{} + {}", "{} - {}", "{} * {}", "{} + [{}]", "{} // {}", "{} | {{{}}}"):
                level = 11 if "*" in form or "/" in form else 10 if "|" not in form else 6
                yield swap(region.source, node, form.format(assigned, text), "compose/updated", level=level)


_USUAL_PATTERNS = (r"\d+", r"\w+", r"[A-Z]", r"[a-z]+", r"[A-Za-z]+", r"[A-Z][^A-Z]*", r"[0-9]+", r"\s+", r"\S+", r"\d",
                   r"[aeiou]", r"[AEIOUaeiou]", r"[^0-9]", r"[^a-zA-Z]", r"[^a-zA-Z0-9]", r"\W+", r"-?\d+", r"\d+\.\d+")  # fmt: skip


def _patterns(region: Region, node: ast.Constant) -> Iterator[Draft]:
    """A pattern that was left for later: the usual ones."""
    up = region.source.parent(node)
    function = up.func if isinstance(up, ast.Call) and up.args[:1] == [node] else None
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "re":
        for pattern in _USUAL_PATTERNS:
            yield swap(region.source, node, f'r"{pattern}"', "compose/pattern", level=ATOM)


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


# ---------------------------------------------------------------------- drafts


def _whole(
    region: Region, node: ast.Constant, ways: Sequence[Loop], wanted: frozenset[str], assigned: str
) -> Iterator[Draft]:
    """The hole is the whole value: the gathering is part of what is looked for."""
    up = region.source.parent(node)
    if isinstance(up, ast.keyword):
        yield from _functions(region, node, ways, "key")
        return
    if isinstance(up, ast.Call):
        if up.args and up.args[0] is node and isinstance(up.func, ast.Name) and up.func.id in ("map", "filter"):
            yield from _functions(region, node, ways, up.func.id)
        return
    fits = wanted if assigned and _is_returned(region, assigned) else frozenset()
    kinds = [kind for kind in _GATHERED if not fits or kind in fits or ("other" in fits and kind in ("list", "set"))]
    if "dict" in kinds:
        yield from _tables(region, node, ways)
    for likely in (True, False):  # all that is likely before any of the rest: the number of candidates is bounded
        for kind in kinds:
            for loop in ways:
                for inside in _inside(loop, kind == "bool", likely):
                    for form in _GATHERED[kind]:
                        text = form.format(inside)
                        yield swap(region.source, node, text, f"compose/{kind}", 1.0 if likely else 0.3, level=ATOM)


def _inside(loop: Loop, asked: bool, likely: bool) -> Iterator[str]:
    if asked:
        return loop.tests() if likely else iter(())
    return loop.likely() if likely else loop.others()


def _tables(region: Region, node: ast.Constant, ways: Sequence[Loop]) -> Iterator[Draft]:
    """Dictionaries made of a dictionary's items, or of elements and something of each."""
    for loop in ways:
        names = loop.head.removeprefix("for ").partition(" in ")[0].split(", ")
        if ".items() " in loop.head + " " and len(names) == 2:
            k, v = names
            values = dict.fromkeys(
                (v, *(t for t in loop.made if k not in t), *filled(OF_ROWS + OF_NUMBERS[:3] + OF_TEXTS, x=v))
            )
            rows = [f"{k}: {value} {loop.head}" for value in values]
            rows += [f"{v}: {k} {loop.head}", *(f"{k}: {v} {loop.head} if {test}" for test in loop.asked)]
        elif len(names) == 1:
            x, collection = names[0], loop.head.partition(" in ")[2]
            rows = [f"{x}: {value} {loop.head}" for value in (*loop.made, f"{collection}.count({x})")]
        else:
            rows = [f"{names[0]}: {names[1]} {loop.head}", f"{names[1]}: {names[0]} {loop.head}"]
        for inside in rows:
            yield swap(region.source, node, "{" + inside + "}", "compose/dict", level=ATOM)


def _in_call(region: Region, node: ast.Constant, ways: Sequence[Loop]) -> Iterator[Draft]:
    """The hole is all that a call gets: ``sum(None)``. Its brackets are those of the generator."""
    up = region.source.parent(node)
    assert isinstance(up, ast.Call)
    name = up.func.id if isinstance(up.func, ast.Name) else ""
    start, end = region.source.span(node)
    for likely in (True, False):
        for loop in ways:
            for inside in _inside(loop, name in ("all", "any"), likely):
                text = f"[{inside}]" if name == "len" else inside
                what = f"go through the elements: {inside}"
                yield Draft((Edit(start, end, text),), "compose/argument", what, 1.0 if likely else 0.3)


def _functions(region: Region, node: ast.Constant, ways: Sequence[Loop], what: str) -> Iterator[Draft]:
    """The hole is a function of one element: for ``map``, ``filter``, and as a sort key."""
    for loop in ways:
        if not loop.head.startswith(f"for {loop.plain} in "):
            continue
        for text in loop.asked if what == "filter" else loop.made:
            yield swap(region.source, node, f"lambda {loop.plain}: {text}", f"compose/{what}", level=1)


def _is_returned(region: Region, name: str) -> bool:
    returned = [n.value for n in region.of(ast.Return) if isinstance(n, ast.Return)]
    return bool(returned) and all(isinstance(value, ast.Name) and value.id == name for value in returned)
