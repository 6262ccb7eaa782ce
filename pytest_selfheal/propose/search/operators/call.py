"""Calls: the sibling function or method, arguments exchanged, dropped or added, calls taken off, keyword flags."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region

_FUNCTIONS = (
    "min max",
    "any all",
    "floor ceil round trunc int",
    "sum len max min",
    "list set tuple sorted",
    "sorted reversed",
    "int float str",
    "ord chr",
    "bin hex oct",
    "range enumerate",
    "zip enumerate",
    "map filter",
    "str repr",
    "abs int",
    "dict set",
    "isinstance issubclass",
    "print return",
    "getattr hasattr",
    "math.floor math.ceil math.trunc round int",
    "math.sqrt math.isqrt",
    "math.log math.log2 math.log10",
    "math.sin math.cos math.tan",
    "math.degrees math.radians",
    "os.path.join os.path.abspath",
    "re.match re.fullmatch re.search",
    "re.findall re.finditer",
)
_METHODS = (
    "append extend insert add",
    "append appendleft",
    "pop popleft popitem remove",
    "remove discard pop",
    "startswith endswith",
    "find rfind index",
    "lstrip rstrip strip",
    "split rsplit splitlines partition rpartition",
    "lower upper title capitalize swapcase casefold",
    "islower isupper istitle",
    "isdigit isalpha isalnum isnumeric isdecimal isspace",
    "ljust rjust center zfill",
    "keys values items",
    "get setdefault pop",
    "union intersection difference symmetric_difference update",
    "issubset issuperset isdisjoint",
    "add update discard remove",
    "match fullmatch search",
    "findall finditer",
    "group groups groupdict",
    "start end span",
    "read readline readlines",
    "encode decode",
    "sort reverse",
    "removeprefix removesuffix lstrip rstrip",
    "count index",
    "setdefault update",
    "append appendleft extend",
    "date time",
    "total_seconds seconds",
    "acquire release",
    "copy deepcopy",
)


def _groups(lines: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        words = line.split()
        for word in words:
            found.setdefault(word, {}).update(dict.fromkeys(w for w in words if w != word))
    return {word: tuple(others) for word, others in found.items()}


_CRITERIA = ("len(x)", "len(set(x))", "x[0]", "x[1]", "x[-1]", "abs(x)", "sum(x)", "str(x)", "x.lower()")
SORT_KEYS = (
    *("len", "abs", "str", "int", "str.lower", "lambda x: x[0]", "lambda x: x[1]", "lambda x: -x", "sum"),
    *(
        f"lambda x: {sign}{c}"
        for c in _CRITERIA
        for sign in ("", "-")
        if sign == "" or c[:3] in ("len", "x[0", "x[1", "sum", "abs")
    ),
    *(f"lambda x: ({sign}{c}, x)" for c in _CRITERIA for sign in ("", "-") if not (sign and c[:3] in ("str", "x.l"))),
)
"""Keys to sort by: one criterion up or down, or one and then the element itself."""
FUNCTION_SIBLINGS = _groups(_FUNCTIONS)
METHOD_SIBLINGS = _groups(_METHODS)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    for node in region.expressions:
        if isinstance(node, ast.Call):
            yield from _siblings(region, node, context)
            yield from _arguments(region, node)
            yield from _unwrapped(region, node)
            yield from _flags(region, node)
    for node in region.expressions:  # a callable that is passed on: map(str, …), key=len
        up = source.parent(node)
        if (
            isinstance(node, ast.Name)
            and isinstance(up, (ast.Call, ast.keyword))
            and getattr(up, "func", None) is not node
        ):
            for other in FUNCTION_SIBLINGS.get(node.id, ()):
                yield swap(source, node, other, "call/function/passed")


def _siblings(region: Region, node: ast.Call, context: Context) -> Iterator[Draft]:
    source = region.source
    if isinstance(node.func, ast.Name):
        for other in FUNCTION_SIBLINGS.get(node.func.id, ()):
            if "." not in other:
                yield swap(source, node.func, other, f"call/function/{node.func.id}>{other}")
        for name, signatures in context.signatures.items():
            if name != node.func.id and not signatures[0].method and not name.startswith("test"):
                count = len(node.args) + len(node.keywords)
                if any(s.required <= count <= len(s.parameters) for s in signatures):
                    yield swap(source, node.func, name, "call/function/project")
    elif isinstance(node.func, ast.Attribute):
        start = source.span(node.func)[1] - len(node.func.attr)
        if source.text[start : start + len(node.func.attr)] != node.func.attr:
            return
        dotted = source.segment(node.func)
        for other in FUNCTION_SIBLINGS.get(dotted, ()):
            yield swap(source, node.func, other, "call/function/dotted")
        for other in METHOD_SIBLINGS.get(node.func.attr, ()):
            edit = Edit(start, start + len(node.func.attr), other)
            yield Draft(
                (edit,), f"call/method/{node.func.attr}>{other}", f"call {other}() instead of {node.func.attr}()"
            )


def _arguments(region: Region, node: ast.Call) -> Iterator[Draft]:
    source = region.source
    args = [a for a in node.args if not isinstance(a, ast.Starred)]
    for i, first in enumerate(args):
        for second in args[i + 1 :]:
            (a, b), (c, d) = source.span(first), source.span(second)
            one, two = source.text[a:b], source.text[c:d]
            if one != two:
                key = "call/arguments/exchange" + ("" if args.index(second) == i + 1 else "/far")
                yield Draft((Edit(a, b, two), Edit(c, d, one)), key, f"exchange arguments {one} and {two}")
    everything: list[ast.AST] = [*node.args, *node.keywords]
    if len(everything) > 1:
        for i, arg in enumerate(everything):
            start, end = source.span(arg)
            if i + 1 < len(everything):
                end = source.span(everything[i + 1])[0]
            else:
                start = source.span(everything[i - 1])[1]
            gap = source.text[start:end]
            if gap.count("(") == gap.count(")"):
                text = source.segment(arg)
                kind = "keyword" if isinstance(arg, ast.keyword) else "positional"
                yield Draft((Edit(start, end, ""),), f"call/arguments/drop/{kind}", f"drop argument {text}")


def _unwrapped(region: Region, node: ast.Call) -> Iterator[Draft]:
    source = region.source
    if isinstance(source.parent(node), ast.Expr):
        return
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    for arg in node.args[:3]:
        if not isinstance(arg, ast.Starred):
            text = source.segment(arg)
            if isinstance(arg, ast.GeneratorExp):
                text = f"({text.strip('()')})" if not text.startswith("(") else text
            yield swap(source, node, text, f"call/unwrap/{name or 'other'}")
    if isinstance(node.func, ast.Attribute):
        yield swap(source, node, source.segment(node.func.value), f"call/unwrap/method/{node.func.attr}")
        yield swap(source, node, source.segment(node.func), "call/uncalled")


def _flags(region: Region, node: ast.Call) -> Iterator[Draft]:
    """Keyword flags of sorting and friends."""
    source = region.source
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    end = source.span(node)[1] - 1
    has = {k.arg for k in node.keywords}
    comma = ", " if (node.args or node.keywords) and not source.text[:end].rstrip().endswith(",") else ""

    def add(text: str, key: str) -> Draft:
        return Draft((Edit(end, end, comma + text),), f"call/flag/{key}", f"pass {text} to {name}()")

    if isinstance(node.args[0] if node.args else None, ast.GeneratorExp) and len(node.args) == 1:
        return
    if name in ("sorted", "sort"):
        if "reverse" not in has:
            yield add("reverse=True", "reverse")
        if "key" not in has:
            for key in SORT_KEYS:
                yield add(f"key={key}", "key")
    elif name in ("min", "max"):
        if "default" not in has and len(node.args) == 1:
            for value in ("0", "None"):
                yield add(f"default={value}", "default")
        if "key" not in has:
            for key in ("len", "abs", "lambda x: x[1]", "lambda x: x[0]"):
                yield add(f"key={key}", "key")
    elif name == "enumerate" and len(node.args) == 1 and not has:
        yield add("1", "start")
    elif name == "zip" and "strict" not in has:
        yield add("strict=True", "strict")
    elif name == "get" and len(node.args) == 1:
        for value in ("0", '""', "[]", "{}", "False"):
            yield add(value, "default")
    elif name == "round" and len(node.args) == 1:
        for value in ("1", "2", "3"):
            yield add(value, "digits")
    elif name == "int" and len(node.args) == 1:
        for value in ("2", "16"):
            yield add(value, "base")
    elif name == "range" and len(node.args) == 2:
        for value in ("2", "-1"):
            yield add(value, "step")
    elif name in ("split", "rsplit") and not node.args:
        for value in ('","', '" "', '"\\n"'):
            yield add(value, "separator")
    elif name == "pop" and not node.args:
        for value in ("0", "-1"):
            yield add(value, "index")
