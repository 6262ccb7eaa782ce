"""Regular expressions changed as parsed patterns: quantifiers, anchors, classes, groups, alternatives, flags."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.constant import quoted
from pytest_selfheal.propose.search.operators.edit import swap
from pytest_selfheal.propose.search.source import Region

_CALLS = {"compile", "match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}
_PIECE = re.compile(
    r"\\[AbBdDsSwWZ]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:P?[<=!:][^)>]*>?|[aiLmsux]+\))|[*+?]\??|\{\d*,?\d*\}\??|[.^$|()]|[^\\\[(*+?{.^$|)]",
    re.S,
)
_CLASSES = {
    r"\d": (r"\w", r"[^\W_]", "[0-9]"),
    r"\w": (r"\d", r"[\w-]", r"[\w.]", r"\S"),
    r"\s": (r"\S", " ", r"\s*"),
    ".": (r"[\s\S]", r"\.", r"[^\n]", r"\S"),
}
_CLASSES |= {r"\D": (r"\d",), r"\S": (r"\s", r"\w", "."), r"\W": (r"\w", r"\s"), r"\b": ("",)}


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    yield from _tables(region, context)
    for node in region.of(ast.Call):
        assert isinstance(node, ast.Call)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        first = node.args[0] if node.args else None
        if name not in _CALLS or not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
            continue
        module = (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
        )
        if not module and not re.search(r"[\\\[(*+?|^$]", first.value):
            continue
        old = source.segment(first)
        for pattern, key in variants(first.value, context):
            yield swap(source, first, _literal(old, pattern), f"regex/{key}")
        if module:
            end = source.span(node)[1] - 1
            if not any(k.arg == "flags" for k in node.keywords):
                for flag in ("re.IGNORECASE", "re.DOTALL", "re.MULTILINE", "re.VERBOSE", "re.ASCII"):
                    yield Draft((Edit(end, end, f", flags={flag}"),), "regex/flag", f"match with {flag}")


_LOOKS = re.compile(r"\\[bBdDsSwW]|\(\?|\[[^\]]+\]|[*+]\??$|\{\d+(,\d*)?\}")


def _tables(region: Region, context: Context) -> Iterator[Draft]:
    """Patterns that are kept elsewhere than in a call of :mod:`re`: under a name that such a call gets, or raw strings that
    look like patterns."""
    source = region.source
    names = _pattern_names(region)
    for node in region.of(ast.Constant):
        assert isinstance(node, ast.Constant)
        up = source.parent(node)
        called = getattr(up.func, "attr", getattr(up.func, "id", "")) if isinstance(up, ast.Call) else ""
        if called in _CALLS or not isinstance(node.value, str):
            continue
        old = source.segment(node)
        targets = up.targets if isinstance(up, ast.Assign) else []
        is_pattern = any(isinstance(target, ast.Name) and target.id in names for target in targets)
        if (is_pattern or (old[:1] in "rR" and _LOOKS.search(node.value))) and len(node.value) < 200:
            for pattern, key in variants(node.value, context):
                yield swap(source, node, _literal(old, pattern), f"regex/{key}", 0.5)


def _pattern_names(region: Region) -> set[str]:
    found = set()
    for node in region.of(ast.Call):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            function = node.func
            if (
                isinstance(function, ast.Attribute)
                and getattr(function.value, "id", "") == "re"
                and function.attr in _CALLS
            ):
                found.add(node.args[0].id)
    return found


def _literal(old: str, pattern: str) -> str:
    """The pattern as a raw string where that can be written."""
    quote = '"' if old.rstrip()[-1:] == '"' else "'"
    if quote not in pattern and "\n" not in pattern and not pattern.endswith("\\"):
        return f"r{quote}{pattern}{quote}" if "\\" in pattern else f"{quote}{pattern}{quote}"
    return quoted(old, pattern)


def variants(pattern: str, context: Context) -> Iterator[tuple[str, str]]:
    """Patterns near to ``pattern`` that compile, with the name of the change."""
    pieces = _PIECE.findall(pattern)
    if "".join(pieces) != pattern:
        pieces = list(pattern)
    seen = {pattern}
    for new, key in _raw(pieces, context):
        if new in seen:
            continue
        seen.add(new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(new)
        except (re.error, OverflowError, RecursionError):
            continue
        yield new, key


def _raw(pieces: list[str], context: Context) -> Iterator[tuple[str, str]]:
    def joined(i: int, piece: str) -> str:
        return "".join([*pieces[:i], piece, *pieces[i + 1 :]])

    whole = "".join(pieces)
    for i, piece in enumerate(pieces):
        if piece in ("*", "+", "?"):
            for other in ("*", "+", "?", "", piece + "?"):
                yield joined(i, other), "quantifier"
        elif piece in ("*?", "+?", "??"):
            for other in (piece[0], "*?", "+?"):
                yield joined(i, other), "quantifier"
        elif piece.startswith("{"):
            numbers = [int(n) for n in re.findall(r"\d+", piece)]
            for n in numbers:
                for step in (1, -1):
                    yield joined(i, piece.replace(str(n), str(max(0, n + step)), 1)), "count"
            if len(numbers) == 1:
                yield joined(i, f"{{{numbers[0]},}}"), "count"
                yield joined(i, f"{{0,{numbers[0]}}}"), "count"
                yield joined(i, f"{{1,{numbers[0]}}}"), "count"
            yield from ((joined(i, other), "quantifier") for other in ("+", "*"))
        elif piece in _CLASSES:
            yield from ((joined(i, other), "class") for other in _CLASSES[piece])
        elif piece.startswith("[") and len(piece) > 2:
            for extra in (
                "-",
                "_",
                ".",
                r"\s",
                r"\d",
                r"\w",
                "+",
                "a-z",
                "A-Z",
                "0-9",
                ":",
                "/",
                ",",
                "'",
                "@",
                "%",
                "~",
            ):
                if extra not in piece[1:-1] or (extra == "-" and not piece.endswith("-]")):
                    yield joined(i, f"{piece[:-1]}{extra}]"), "class/add"
            inverted = "[" + piece[2:] if piece.startswith("[^") else "[^" + piece[1:]
            yield joined(i, inverted), "class/invert"
            body = piece[2:-1] if piece.startswith("[^") else piece[1:-1]
            for part in re.findall(r"\\.|.-.|.", body):
                if len(part) < len(body):
                    yield joined(i, piece.replace(part, "", 1)), "class/drop"
        elif piece in ("^", "$", r"\A", r"\Z", r"\b", r"\B"):
            yield joined(i, ""), "anchor"
            if piece == "$":
                yield joined(i, r"\Z"), "anchor"
        if piece.startswith("[") and not piece.startswith("[^") and i + 1 < len(pieces) and pieces[i + 1] in ("+", "*"):
            members = re.findall(r"\\.|.", piece[1:-1])  # a run of one of them, never mixed
            if 1 < len(members) < 5 and not any(m == "-" for m in members[1:-1]):
                each = "|".join(
                    (m if m in "=-_#~/:" else re.escape(m)) + pieces[i + 1]
                    for m in (m.removeprefix("\\") for m in members)
                )
                yield "".join([*pieces[:i], f"(?:{each})", *pieces[i + 2 :]]), "class/unmixed"
        if piece == ")" or i == len(pieces) - 1:
            for look in (r"(?!\d)", r"(?!\w)", r"(?!\s)", r"(?=\s|$)", r"\b"):
                yield (
                    "".join([*pieces[:i], *((look, piece) if piece == ")" else (piece, look)), *pieces[i + 1 :]]),
                    "lookahead",
                )
        if piece == "(":
            yield joined(i, "(?:"), "group"
        elif piece == "(?:":
            yield joined(i, "("), "group"
        if len(piece) == 1 and (piece.isalnum() or piece in " -_:/,.") and piece != ".":
            yield joined(i, piece + "?"), "optional"
            if piece == " ":
                yield from ((joined(i, other), "class") for other in (r"\s+", r"\s*", r"\s"))
        if piece in (")",) or piece.startswith("[") or piece in _CLASSES:
            following = pieces[i + 1] if i + 1 < len(pieces) else ""
            if not following or following[0] not in "*+?{":
                for quantifier in ("?", "*", "+"):
                    yield joined(i, piece + quantifier), "quantifier/add"
        if piece in (".", "+", "*", "?", "^", "$", "|"):
            yield joined(i, "\\" + piece), "escape"
        if len(piece) == 2 and piece[0] == "\\" and piece[1] in ".+*?^$|()[]{}":
            yield joined(i, piece[1]), "unescape"
    for new in (
        f"^{whole}",
        f"{whole}$",
        f"^{whole}$",
        rf"\b{whole}\b",
        f"^(?:{whole})$",
        f"(?i){whole}",
        rf"{whole}\s*",
        rf"\s*{whole}",
    ):
        yield new, "anchor/add"
    for count in range(1, 4):  # stray characters before it, after it, around it
        if len(pieces) > count and all(len(p) == 1 and p.isalnum() for p in pieces[:count]):
            yield "".join(pieces[count:]), "stray"
            if len(pieces) > 2 * count and all(len(p) == 1 and p.isalnum() for p in pieces[-count:]):
                yield "".join(pieces[count:-count]), "stray"
        if len(pieces) > count and all(len(p) == 1 and p.isalnum() for p in pieces[-count:]):
            yield "".join(pieces[:-count]), "stray"
    for value in context.inputs:
        if isinstance(value, str) and 0 < len(value) <= 12:
            yield f"{whole}|{re.escape(value)}", "alternative"
