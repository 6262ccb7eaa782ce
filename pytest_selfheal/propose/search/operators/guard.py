"""Guards: an atom and an action put before a statement; a default for a missing value; a guarded expression."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.kinds import COLLECTIONS, Kinds
from pytest_selfheal.propose.search.operators.atoms import around, atoms
from pytest_selfheal.propose.search.operators.block import insert, lines, reindent, text_of, unit
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.operators.role import role
from pytest_selfheal.propose.search.source import Region

_ATOMS = 260
_SIMPLE = frozenset({"empty", "truthy", "none", "zero"})
"""Kinds of atoms that most checks of an argument are."""
_DEFAULTS = {
    "list": "[]",
    "str": '""',
    "dict": "{}",
    "set": "set()",
    "int": "0",
    "float": "0.0",
    "tuple": "()",
    "bool": "False",
}


def _known(region: Region, context: Context, kinds: Kinds) -> list[tuple[str, str, str]]:
    return list(itertools.islice(atoms(region, context, kinds), _ATOMS))


def _first(region: Region) -> ast.stmt | None:
    """The first statement after the docstring; none at module level."""
    if isinstance(region.node, ast.Module):
        return None
    return next((s for s in region.node.body if not region.source.is_docstring_statement(s)), None)


def raising(region: Region, context: Context) -> Iterator[Draft]:
    """``if <atom>: raise <type the test wants>``."""
    source = region.source
    first = _first(region)
    if first is None or not context.expected_exceptions:
        return
    kinds, step = Kinds(region, context), unit(source)
    places = [first, *(s for s in region.statements if s is not first and source.block(s)[0] is not s)][:30]
    for place in places:
        near = None if place is first else around(region, place)
        for wanted in context.expected_exceptions[:3]:
            for text, key, subject in itertools.islice(atoms(region, context, kinds, near), _ATOMS):
                code = f'if {text}:\n{step}raise {wanted}("{_message(text, subject)}")'
                edit = insert(source, place, code)
                if edit is not None:
                    factor = (1.0 if place is first else 0.7) * (2.0 if key in _SIMPLE else 0.5)
                    yield Draft((edit,), f"guard/raise/{key}", f"raise {wanted} if {text}", factor)


def _message(text: str, subject: str) -> str:
    """A message for a new exception, from the condition itself."""
    about = text.replace('"', "'").replace("\\", "")
    return f"{subject}: {about}" if subject and not about.startswith(subject) else about


def returning(region: Region, context: Context) -> Iterator[Draft]:
    """``if <atom>: return <something in scope>``."""
    if isinstance(region.node, ast.Module):
        return
    source = region.source
    known = _known(region, context, Kinds(region, context))
    step = unit(source)
    returned = {source.segment(n.value) for n in region.nodes if isinstance(n, ast.Return) and n.value is not None}
    options = [
        "None",
        "False",
        "True",
        "0",
        '""',
        "[]",
        "-1",
        "1",
        *(p for p in region.parameters if p not in ("self", "cls")),
    ]
    options = list(dict.fromkeys([*sorted(t for t in returned if len(t) < 40 and "\n" not in t), *options]))[:16]
    first = _first(region)
    if first is None:
        return
    bound = set(region.parameters)
    body = region.node.body
    places = [s for s in body if s is first or body.index(s) > body.index(first)][:8]
    for place in places:
        for text, key, subject in known:
            root = subject.partition(".")[0]
            if key in ("own", "pair", "in") and place is not first:
                continue
            if place is first and root and root not in bound and root != "self":
                continue
            for value in options:
                if place is first and value.isidentifier() and value in region.names and value not in bound:
                    continue
                edit = insert(source, place, f"if {text}:\n{step}return {value}")
                if edit is not None:
                    factor = (1.0 if place is first else 0.4) * (
                        1.0 if value in ("None", "False", "True", "0", "[]", '""') or value in returned else 0.5
                    )
                    yield Draft((edit,), f"guard/return/{key}", f"return {value} if {text}", factor)


def values(region: Region, context: Context) -> Iterator[Draft]:
    """``x or default``, ``x if x is not None else default``; a parameter replaced when it is None."""
    source = region.source
    kinds = Kinds(region, context)
    step = unit(source)
    first = _first(region)
    if first is not None:
        for name in region.parameters:
            if name in ("self", "cls"):
                continue
            for value in ("[]", "{}", '""', "0", "set()", "()"):
                edit = insert(source, first, f"if {name} is None:\n{step}{name} = {value}")
                if edit is not None:
                    yield Draft((edit,), "guard/value/default", f"{name} = {value} when it is None")
            for call in ("list", "str", "int", "sorted", "set", "tuple"):
                edit = insert(source, first, f"{name} = {call}({name})")
                if edit is not None:
                    yield Draft((edit,), "guard/value/convert", f"convert {name} by {call}()")
            for method in ("strip", "lower", "copy", "upper"):
                edit = insert(source, first, f"{name} = {name}.{method}()")
                if edit is not None:
                    yield Draft((edit,), "guard/value/normalise", f"normalise {name} by {method}()")
    for node in region.expressions:
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            continue
        if role(source, node) in ("callee", "condition", "object") or isinstance(
            source.parent(node), (ast.Expr, ast.Attribute)
        ):
            continue
        if isinstance(node, ast.Name) and node.id in ("self", "cls"):
            continue
        text, kind = source.segment(node), kinds.of(node)
        defaults = [_DEFAULTS[kind]] if kind in _DEFAULTS else ["[]", '""', "{}", "0", "()", "1"]
        for value in defaults:
            yield swap(source, node, f"{text} or {value}", "guard/value/or", level=2)
        if isinstance(node, ast.Name) and kind not in COLLECTIONS:
            for value in defaults[:3]:
                yield swap(source, node, f"{text} if {text} is not None else {value}", "guard/value/ternary", level=1)
    for node in region.expressions:  # x.y → x.y if x else None; a / b → a / b if b else 0; max(xs) → … if xs else 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
            divisor = source.segment(node.right)
            for value in ("0", "0.0", "None", source.segment(node.left)):
                yield swap(
                    source, node, f"{source.segment(node)} if {divisor} else {value}", "guard/value/divide", level=1
                )
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id not in ("self", "cls")
        ):
            if role(source, node) not in ("callee", "object"):
                yield swap(
                    source,
                    node,
                    f"{source.segment(node)} if {node.value.id} is not None else None",
                    "guard/value/attribute",
                    level=1,
                )
        elif (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.ctx, ast.Store)
        ):
            base = node.value.id
            for value in ("None", '""', "0", "[]"):
                yield swap(
                    source, node, f"{source.segment(node)} if {base} else {value}", "guard/value/element", level=1
                )
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("max", "min")
            and len(node.args) == 1
        ):
            for value in ("0", "None"):
                yield swap(
                    source,
                    node,
                    f"{source.segment(node)} if {source.segment(node.args[0])} else {value}",
                    "guard/value/extreme",
                    level=1,
                )


def held(region: Region, context: Context) -> Iterator[Draft]:
    """``if <variable> in <COLLECTION>: return <what is returned elsewhere>``: the failing test's value stands in it, and nobody asks."""
    pairs = context.held.get((region.source.path, region.qualname), ())
    if isinstance(region.node, ast.Module) or not pairs:
        return
    source, step = region.source, unit(region.source)
    values = [n.value for n in region.nodes if isinstance(n, ast.Return)]
    plain = sorted({source.segment(v) for v in values if isinstance(v, (ast.Name, ast.Constant))})
    asked = {
        source.segment(n.left)
        for n in region.nodes
        if isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.In, ast.NotIn))
    }
    body = [s for s in region.node.body if not source.is_docstring_statement(s)]
    for variable, collection in pairs:
        bound = [i for i, s in enumerate(body) if any(n.id == variable for n in ast.walk(s) if isinstance(n, ast.Name))]
        known = 0 if variable in region.parameters else min(bound, default=-1) + 1
        likely = 2.0 if variable in asked else 1.0
        for place in body[known : known + 4]:
            for value in plain:
                edit = insert(source, place, f"if {variable} in {collection}:\n{step}return {value}")
                if edit is not None:
                    what = f"return {value} if {variable} in {collection}"
                    yield Draft((edit,), "guard/held", what, likely)


def setting(region: Region, context: Context) -> Iterator[Draft]:
    """``if <atom>: <argument> = <plain value>`` at the beginning: an argument that another one makes meaningless."""
    first = _first(region)
    if first is None:
        return
    source, kinds, step = region.source, Kinds(region, context), unit(region.source)
    names = [p for p in region.parameters if p not in ("self", "cls")]
    for text, key, subject in atoms(region, context, kinds, names):
        if key not in _SIMPLE:
            continue
        for name in names:
            if name == subject:
                continue
            kind = kinds.variables.get(name, "any")
            values = (
                ("False", "True")
                if kind == "bool"
                else (_DEFAULTS[kind],)
                if kind in _DEFAULTS
                else ("None", "False", "0")
            )
            for value in values:
                edit = insert(source, first, f"if {text}:\n{step}{name} = {value}")
                if edit is not None:
                    likely = 2.0 if kind == "bool" else 1.0
                    yield Draft((edit,), f"guard/set/{key}", f"{name} = {value} if {text}", likely)


def expressions(region: Region, context: Context) -> Iterator[Draft]:
    """A whole returned, assigned or passed value guarded: ``e if <atom about a name in e> else <default>``."""
    source = region.source
    kinds = Kinds(region, context)
    for node in region.expressions:
        place = role(source, node)
        if place not in ("return", "assign", "argument", "element") or isinstance(
            node, (ast.Constant, ast.Name, ast.IfExp)
        ):
            continue
        text = source.segment(node)
        if "\n" in text or len(text) > 160:
            continue
        names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in region.names)
        for name in [n for n in names if n not in ("self", "cls")][:4]:
            kind = kinds.variables.get(name, "any")
            tests = [f"{name} != 0", f"{name} > 0"] if kind not in COLLECTIONS else []
            tests += [f"{name} is not None", name] if kind not in ("int", "float") else []
            for test in tests:
                for value in dict.fromkeys(("0", "None", '""', "[]", "False", name)):
                    yield swap(source, node, f"{text} if {test} else {value}", "guard/expression", level=1)


def skipping(region: Region, context: Context) -> Iterator[Draft]:
    """``if <atom>: continue`` / ``break`` at the start of a loop's body."""
    source = region.source
    known = _known(region, context, Kinds(region, context))
    step = unit(source)
    for loop in region.of(ast.For, ast.While):
        assert isinstance(loop, (ast.For, ast.While))
        used = _looped(region, loop.body[0])
        for text, key, subject in known:
            near = 2.0 if subject.partition(".")[0] in used else 0.7
            for word in ("continue", "break"):
                edit = insert(source, loop.body[0], f"if {text}:\n{step}{word}")
                if edit is not None:
                    yield Draft((edit,), f"guard/skip/{word}/{key}", f"{word} if {text}", near)


def conditional(region: Region, context: Context) -> Iterator[Draft]:
    """A statement that runs only if an atom holds."""
    source = region.source
    known = _known(region, context, Kinds(region, context))
    step = unit(source)
    for node in region.statements:
        if not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Return, ast.Raise)):
            continue
        span, text = lines(source, node), text_of(source, node)
        if span is None or text is None or '"""' in text:
            continue
        if isinstance(node, ast.Return) and source.block(node)[-1] is node and source.block(node) is region.node.body:
            continue
        indent = source.indent_of(node)
        deeper = reindent(text, indent, indent + step)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | _looped(region, node)
        for atom, key, subject in known:
            edit = Edit(*span, f"{indent}if {atom}:{source.newline}{deeper}")
            near = 2.0 if subject.partition(".")[0] in used else 0.7
            yield Draft((edit,), f"guard/only/{key}", f"only if {atom}", near)


def _looped(region: Region, node: ast.AST) -> set[str]:
    """Variables of the loops around a statement."""
    loops = [up for up in region.source.ancestors(node) if isinstance(up, ast.For)]
    return {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
