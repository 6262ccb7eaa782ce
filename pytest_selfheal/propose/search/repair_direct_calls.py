"""TypeErrors in their own words: wrong number or names of arguments, operands of different types, what is not callable."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import near
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.repair_direct_places import Drafts, failing_lines
from pytest_selfheal.propose.search.source import FunctionNode, Source
from pytest_selfheal.types import Raised


def arity(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    """``f() takes 2 positional arguments but 3 were given``, ``missing …: 'x'``, ``unexpected keyword argument 'k'``."""
    message = link.message
    match = re.search(r"([\w.<>]+)\(\) (?:takes|missing|got an unexpected|got multiple)", message)
    if match is None:
        return
    name = match.group(1).rpartition(".")[2]
    definitions = [(s, n) for s in sources.values() for q, n in s.functions.items() if n.name == name]
    missing = re.search(r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)", message)
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", message)
    takes = re.search(
        r"takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given",
        message,
    )
    for source, node in definitions:
        if missing:
            yield from _missing(source, node, re.findall(r"'(\w+)'", missing.group(1)))
        elif unexpected:
            yield from _unexpected(source, node, unexpected.group(1))
        elif takes:
            yield from _surplus(source, node, int(takes.group(2)) - int(takes.group(1)))
    yield from _call_sites(link, sources, name, definitions, missing, unexpected, takes)


def _parameters_end(source: Source, node: FunctionNode) -> tuple[int, str]:
    """Where a parameter can be appended, and the comma it needs."""
    args = node.args
    everything: list[ast.AST] = [*args.posonlyargs, *args.args, *args.defaults]
    if everything and not (args.vararg or args.kwonlyargs or args.kwarg):
        return max(source.span(a)[1] for a in everything), ", "
    if not everything and not (args.vararg or args.kwonlyargs or args.kwarg):
        return source.text.index("(", source.span(node)[0]) + 1, ""
    if everything:
        return max(source.span(a)[1] for a in everything), ", "
    return -1, ""


def _missing(source: Source, node: FunctionNode, names: list[str]) -> Drafts:
    args = [*node.args.posonlyargs, *node.args.args]
    method = isinstance(source.parent(node), ast.ClassDef)
    for name in names:
        arg = next((a for a in (*args, *node.args.kwonlyargs) if a.arg == name), None)
        if arg is None:
            continue
        later = args[args.index(arg) + 1 :] if arg in args else []
        required = len(args) - len(node.args.defaults)
        if (arg in args and args.index(arg) == required - 1) or (arg not in args):
            sign = " = " if arg.annotation else "="
            end = source.span(arg)[1]
            for value in ("None", "False", "True", "0", '""', "1", "()"):
                yield (
                    source,
                    Draft(
                        (Edit(end, end, f"{sign}{value}"),),
                        "direct/arity/default",
                        f"default {value} for {name}",
                        0.6,
                    ),
                )
        if arg in args and not _reads(node, name):
            start, end = source.span(arg)
            end = source.span(later[0])[0] if later else end
            start = start if later or arg is args[0] else source.span(args[args.index(arg) - 1])[1]
            yield (
                source,
                Draft(
                    (Edit(start, end, ""),),
                    "direct/arity/drop",
                    f"drop parameter {name}",
                    0.6,
                ),
            )
    if method and not node.decorator_list and args and args[0].arg not in ("self", "cls"):
        start = source.line_span(node.lineno, node.lineno)[0]
        edit = Edit(start, start, f"{source.indent_of(node)}@staticmethod{source.newline}")
        yield source, Draft((edit,), "direct/arity/static", "a static method", 0.7)
    if method and args and args[0].arg == "cls" and not node.decorator_list:
        start = source.line_span(node.lineno, node.lineno)[0]
        edit = Edit(start, start, f"{source.indent_of(node)}@classmethod{source.newline}")
        yield source, Draft((edit,), "direct/arity/class", "a class method", 0.95)


def _reads(node: FunctionNode, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _unexpected(source: Source, node: FunctionNode, keyword: str) -> Drafts:
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    close = dict(near(keyword, {a.arg for a in args}))
    for arg in args:
        if arg.arg in ("self", "cls"):
            continue
        edits = [Edit(source.span(arg)[0], source.span(arg)[0] + len(arg.arg), keyword)]
        edits += [Edit(*source.span(n), keyword) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == arg.arg]
        yield (
            source,
            Draft(
                tuple(edits),
                "direct/arity/rename",
                f"rename parameter {arg.arg} to {keyword}",
                close.get(arg.arg, 0.25) * 0.9,
            ),
        )
    place, comma = _parameters_end(source, node)
    if place >= 0:
        used = _reads(node, keyword)
        for value in ("None", "False", "True", "0", '""', "1"):
            edit = Edit(place, place, f"{comma}{keyword}={value}")
            yield (
                source,
                Draft(
                    (edit,),
                    "direct/arity/add",
                    f"parameter {keyword}={value}",
                    0.8 if used else 0.4,
                ),
            )
        if not node.args.kwarg:
            edit = Edit(place, place, f"{comma}**kwargs")
            yield (
                source,
                Draft((edit,), "direct/arity/kwargs", "accept any keyword", 0.1),
            )


def _surplus(source: Source, node: FunctionNode, extra: int) -> Drafts:
    method = isinstance(source.parent(node), ast.ClassDef)
    args = [*node.args.posonlyargs, *node.args.args]
    opened = source.text.index("(", source.span(node)[0]) + 1
    if method and (not args or args[0].arg not in ("self", "cls")) and extra == 1:
        comma = ", " if args or node.args.vararg or node.args.kwonlyargs or node.args.kwarg else ""
        first = "cls" if any(source.segment(d) == "classmethod" for d in node.decorator_list) else "self"
        yield (
            source,
            Draft(
                (Edit(opened, opened, first + comma),),
                "direct/arity/self",
                f"the method takes {first}",
                0.95,
            ),
        )
        start = source.line_span(node.lineno, node.lineno)[0]
        edit = Edit(start, start, f"{source.indent_of(node)}@staticmethod{source.newline}")
        yield source, Draft((edit,), "direct/arity/static", "a static method", 0.7)
    for decorator in node.decorator_list:
        if source.segment(decorator) in ("staticmethod", "classmethod"):
            a, b = source.line_span(decorator.lineno, decorator.lineno)
            yield (
                source,
                Draft(
                    (Edit(a, b, ""),),
                    "direct/arity/decorator",
                    "an ordinary method",
                    0.5,
                ),
            )
    place, comma = _parameters_end(source, node)
    if place >= 0 and extra <= 2:
        unbound = _unbound_names(source, node)
        for name in unbound[:4]:
            yield (
                source,
                Draft(
                    (Edit(place, place, f"{comma}{name}"),),
                    "direct/arity/add",
                    f"parameter {name}",
                    0.8,
                ),
            )
            yield (
                source,
                Draft(
                    (Edit(opened, opened, f"{name}, "),),
                    "direct/arity/add",
                    f"parameter {name}",
                    0.5,
                ),
            )
        names = ", ".join(f"extra{i or ''}=None" for i in range(extra))
        yield (
            source,
            Draft(
                (Edit(place, place, comma + names),),
                "direct/arity/add",
                "one more parameter",
                0.1,
            ),
        )


def _unbound_names(source: Source, node: FunctionNode) -> list[str]:
    """Names that the function reads but that nothing binds: parameters that were forgotten."""
    import builtins

    bound = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    bound |= {
        n.name for n in ast.walk(source.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    bound |= {
        a.asname or a.name.partition(".")[0]
        for n in ast.walk(source.tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for a in n.names
    }
    reads = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [n for n in dict.fromkeys(reads) if n not in bound and not hasattr(builtins, n)]


def _call_sites(
    link: Raised,
    sources: Mapping[str, Source],
    name: str,
    definitions: list[tuple[Source, FunctionNode]],
    missing: re.Match[str] | None,
    unexpected: re.Match[str] | None,
    takes: re.Match[str] | None,
) -> Drafts:
    for source in sources.values():
        at = failing_lines(source, link)
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call) or not any(node.lineno <= line <= (node.end_lineno or 0) for line in at):
                continue
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called != name and name != "__init__":
                continue
            end = source.span(node)[1] - 1
            comma = ", " if node.args or node.keywords else ""
            region = source.region(source.function_at(node.lineno))
            scope = [n for n in (region.names if region else ()) if n not in ("self", "cls")]
            if missing:
                for wanted in re.findall(r"'(\w+)'", missing.group(1)):
                    options = [(n, 0.9 if n == wanted else 0.3) for n in scope]
                    options += [(f"self.{wanted}", 0.6)] if region and "self" in region.parameters else []
                    options += [(v, 0.2) for v in ("None", "0", "1", "True", "False", '""', "[]")]
                    for value, factor in options:
                        yield (
                            source,
                            Draft(
                                (Edit(end, end, comma + value),),
                                "direct/arity/pass",
                                f"pass {value} to {name}()",
                                factor,
                            ),
                        )
                if (
                    isinstance(node.func, ast.Attribute)
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id[:1].isupper()
                ):
                    text = source.segment(node.func.value)
                    yield (
                        source,
                        swap(
                            source,
                            node.func.value,
                            f"{text}()",
                            "direct/arity/instance",
                            0.5,
                        ),
                    )
            elif unexpected:
                keyword = next((k for k in node.keywords if k.arg == unexpected.group(1)), None)
                known = {a.arg for _, d in definitions for a in (*d.args.args, *d.args.kwonlyargs)} - {
                    k.arg or "" for k in node.keywords
                }
                if keyword is not None and keyword.arg:
                    start = source.span(keyword)[0]
                    close = dict(near(keyword.arg, known))
                    for other in known - {"self", "cls"}:
                        edit = Edit(start, start + len(keyword.arg), other)
                        yield (
                            source,
                            Draft(
                                (edit,),
                                "direct/arity/keyword",
                                f"pass {other} to {name}()",
                                close.get(other, 0.3),
                            ),
                        )
            elif takes and len(node.args) > 1:
                for i in range(len(node.args)):
                    a, b = source.span(node.args[i])
                    if i + 1 < len(node.args):
                        b = source.span(node.args[i + 1])[0]
                    else:
                        a = source.span(node.args[i - 1])[1]
                    yield (
                        source,
                        Draft(
                            (Edit(a, b, ""),),
                            "direct/arity/argument",
                            "drop an argument",
                            0.4,
                        ),
                    )


_CONVERSIONS = {
    "str": ("str",),
    "int": ("int", "len"),
    "float": ("float",),
    "list": ("list",),
    "tuple": ("tuple",),
    "set": ("set",),
    "dict": ("dict",),
}


def operands(link: Raised, sources: Mapping[str, Source], context: Context) -> Drafts:
    """Operands of types that do not go together, values that are not callable, subscriptable or iterable."""
    message = link.message
    pair = re.search(r"'(\w+)' and '(\w+)'", message)
    concatenated = re.search(r"can only concatenate (\w+) \(not \"(\w+)\"\)", message) or re.search(
        r"must be (\w+), not (\w+)", message
    )
    types = (pair or concatenated).groups() if pair or concatenated else ()  # type: ignore[union-attr]
    for source in sources.values():
        at = failing_lines(source, link)
        innermost = link.frames[-1].line if link.frames and link.frames[-1].path == source.path else 0
        for node in ast.walk(source.tree):
            line = getattr(node, "lineno", None)
            if line not in at:
                continue
            here = 1.0 if line == innermost else 0.5
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else []
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.AugAssign):
                sides = [node.value]
            elif isinstance(node, ast.Call):
                sides = [a for a in node.args if not isinstance(a, ast.Starred)]
            for side in sides:
                for kind in types:
                    for call in _CONVERSIONS.get(kind, ()):
                        if not isinstance(side, ast.Constant):
                            yield (
                                source,
                                swap(
                                    source,
                                    side,
                                    f"{call}({source.segment(side)})",
                                    "direct/convert",
                                    0.6 * here,
                                ),
                            )
            if "not callable" in message and isinstance(node, ast.Call):
                yield (
                    source,
                    swap(
                        source,
                        node,
                        source.segment(node.func),
                        "direct/uncall",
                        0.6 * here,
                    ),
                )
                if len(node.args) == 1:
                    text = f"{source.segment(node.func)}[{source.segment(node.args[0])}]"
                    yield (
                        source,
                        swap(source, node, text, "direct/subscript", 0.6 * here),
                    )
            elif "not subscriptable" in message and isinstance(node, ast.Subscript):
                base, index = source.segment(node.value), source.segment(node.slice)
                yield (
                    source,
                    swap(source, node, f"{base}({index})", "direct/call", 0.6 * here),
                )
                yield (
                    source,
                    swap(source, node.value, f"{base}()", "direct/call", 0.5 * here),
                )
                yield (
                    source,
                    swap(
                        source,
                        node.value,
                        f"list({base})",
                        "direct/convert",
                        0.4 * here,
                    ),
                )
            elif (
                ("method" in message or "function" in message)
                and isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
            ):
                up = source.parent(node)
                if not (isinstance(up, ast.Call) and up.func is node):
                    yield (
                        source,
                        swap(
                            source,
                            node,
                            f"{source.segment(node)}()",
                            "direct/call",
                            0.7 * here,
                        ),
                    )
            elif "not iterable" in message and isinstance(node, (ast.For, ast.comprehension)):
                text = source.segment(node.iter)
                for call in ("range", "str", "list"):
                    yield (
                        source,
                        swap(
                            source,
                            node.iter,
                            f"{call}({text})",
                            "direct/convert",
                            0.5 * here,
                        ),
                    )
