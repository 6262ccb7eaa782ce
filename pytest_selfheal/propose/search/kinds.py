"""A guess at what type an expression has, from literals, annotations, well-known calls and the values that tests pass."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Literal, TypeAlias

from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.source import Region

Kind: TypeAlias = Literal["int", "float", "str", "bool", "list", "tuple", "set", "dict", "none", "iterator", "any"]

SEQUENCES = frozenset({"str", "list", "tuple"})
COLLECTIONS = frozenset({"str", "list", "tuple", "set", "dict"})
NUMBERS = frozenset({"int", "float", "bool"})

_CALLS: dict[str, Kind] = {
    "len": "int",
    "int": "int",
    "ord": "int",
    "hash": "int",
    "id": "int",
    "float": "float",
    "str": "str",
    "repr": "str",
    "chr": "str",
    "bin": "str",
    "hex": "str",
    "oct": "str",
    "format": "str",
    "input": "str",
    "bool": "bool",
    "all": "bool",
    "any": "bool",
    "isinstance": "bool",
    "issubclass": "bool",
    "callable": "bool",
    "hasattr": "bool",
    "list": "list",
    "sorted": "list",
    "tuple": "tuple",
    "set": "set",
    "frozenset": "set",
    "dict": "dict",
    "range": "iterator",
    "enumerate": "iterator",
    "zip": "iterator",
    "map": "iterator",
    "filter": "iterator",
    "reversed": "iterator",
}
_METHODS: dict[str, Kind] = {
    **dict.fromkeys(
        [
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "join",
            "title",
            "capitalize",
            "swapcase",
            "format",
            "zfill",
            "ljust",
            "rjust",
            "center",
        ],
        "str",
    ),
    **dict.fromkeys(["split", "splitlines", "rsplit", "findall"], "list"),
    **dict.fromkeys(["find", "rfind", "index", "count", "bit_length"], "int"),
    **dict.fromkeys(
        [
            "startswith",
            "endswith",
            "isdigit",
            "isalpha",
            "isupper",
            "islower",
            "isspace",
            "isalnum",
            "issubset",
            "issuperset",
        ],
        "bool",
    ),
    **dict.fromkeys(["keys", "values", "items"], "iterator"),
}
_ANNOTATIONS: dict[str, Kind] = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "list": "list",
    "List": "list",
    "tuple": "tuple",
    "Tuple": "tuple",
    "set": "set",
    "Set": "set",
    "dict": "dict",
    "Dict": "dict",
}
_FROM_TYPE: dict[type, Kind] = {
    int: "int",
    float: "float",
    str: "str",
    bool: "bool",
    list: "list",
    tuple: "tuple",
    set: "set",
    dict: "dict",
    type(None): "none",
}


def of_value(value: object) -> Kind:
    """The kind of a plain value."""
    return _FROM_TYPE.get(type(value), "any")


class Kinds:
    """Kinds of one region's variables and expressions."""

    def __init__(self, region: Region, context: Context) -> None:
        self.variables: dict[str, Kind] = {}
        self._region = region
        self._parameters(region, context)
        for _ in range(2):  # twice, so that what is assigned late reaches what is read early
            for node in region.nodes:
                self._bind(node)

    def _parameters(self, region: Region, context: Context) -> None:
        if isinstance(region.node, ast.Module):
            return
        args = region.node.args
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            kind = annotated(arg.annotation)
            if kind != "any":
                self.variables[arg.arg] = kind
        name = region.qualname.rpartition(".")[2]
        names = [n for n in region.parameters if n not in ("self", "cls")]
        for values in context.calls.get(name, ()):
            for parameter, value in zip(names, values, strict=False):
                kind = of_value(value)
                known = self.variables.setdefault(parameter, kind)
                if known != kind and {known, kind} <= NUMBERS:
                    self.variables[parameter] = "float"
        for parameter, seen in context.observed.get(region.qualname, {}).items():
            for text in seen:
                try:
                    self.variables.setdefault(parameter, of_value(ast.literal_eval(text)))
                except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                    continue

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self._set(node.target.id, annotated(node.annotation))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._loop(node.target, node.iter)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._set(target.id, self.of(value))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for t, v in zip(target.elts, value.elts, strict=True):
                self._assign(t, v)

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        name = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        if isinstance(target, ast.Name):
            if name == "range":
                self._set(target.id, "int")
            elif self.of(over) == "str":
                self._set(target.id, "str")
        elif isinstance(target, ast.Tuple) and name == "enumerate" and isinstance(target.elts[0], ast.Name):
            self._set(target.elts[0].id, "int")

    def _set(self, name: str, kind: Kind) -> None:
        if kind != "any":
            self.variables.setdefault(name, kind)

    def of(self, node: ast.expr) -> Kind:
        """The kind of an expression, ``any`` when nothing is known."""
        if isinstance(node, ast.Constant):
            return of_value(node.value)
        if isinstance(node, ast.Name):
            return self.variables.get(node.id, "any")
        if isinstance(node, (ast.Compare,)) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return "bool"
        if isinstance(node, (ast.List, ast.ListComp)):
            return "list"
        if isinstance(node, ast.Tuple):
            return "tuple"
        if isinstance(node, (ast.Set, ast.SetComp)):
            return "set"
        if isinstance(node, (ast.Dict, ast.DictComp)):
            return "dict"
        if isinstance(node, ast.GeneratorExp):
            return "iterator"
        if isinstance(node, ast.JoinedStr):
            return "str"
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                if node.func.id in ("abs", "sum", "max", "min", "round", "pow"):
                    return self.of(node.args[0]) if len(node.args) > 1 else "any"
                return _CALLS.get(node.func.id, "any")
            if isinstance(node.func, ast.Attribute):
                return _METHODS.get(node.func.attr, "any")
            return "any"
        return self._compound(node)

    def _compound(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.BinOp):
            left, right = self.of(node.left), self.of(node.right)
            if isinstance(node.op, ast.Div) and not {left, right} & COLLECTIONS:
                return "float"
            if "str" in (left, right) and isinstance(node.op, (ast.Add, ast.Mod, ast.Mult)):
                return "str"
            return left if left != "any" else right
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand)
        if isinstance(node, ast.BoolOp):
            found = {self.of(v) for v in node.values}
            return found.pop() if len(found) == 1 else "any"
        if isinstance(node, ast.IfExp):
            return self.of(node.body)
        if isinstance(node, ast.Subscript):
            kind = self.of(node.value)
            return kind if kind == "str" or (isinstance(node.slice, ast.Slice) and kind in SEQUENCES) else "any"
        return "any"


@lru_cache(maxsize=256)
def _annotation(text: str) -> Kind:
    return _ANNOTATIONS.get(text.rpartition(".")[2], "any")


def annotated(node: ast.expr | None) -> Kind:
    """The kind that an annotation names."""
    if isinstance(node, ast.Subscript):
        return annotated(node.value)
    if isinstance(node, ast.Name):
        return _annotation(node.id)
    if isinstance(node, ast.Attribute):
        return _annotation(node.attr)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _annotation(node.value.partition("[")[0].strip())
    return "any"
