"""A model's reply → edits: tolerant of fences, prose, JSON, diffs, line numbers; never guessing between two readings.

This module only reads what was said. Which bytes that means in which file is :mod:`.resolve`'s business.
"""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_selfheal.propose.model.source import parse

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["diagnosis", "kind", "function", "edits"],
    "properties": {
        "diagnosis": {"type": "string", "description": "root cause in two or three sentences"},
        "kind": {"type": "string", "description": "syntax, import, name, type, attribute, value, index, key, logic, …"},
        "function": {"type": "string", "description": "qualified name of the function at fault"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "code", "search", "replace"],
                "properties": {
                    "path": {"type": "string"},
                    "code": {"type": "string", "description": "whole new definitions and imports, or empty"},
                    "search": {"type": "string", "description": "lines as they are, when code is empty"},
                    "replace": {"type": "string", "description": "lines as they should be, when code is empty"},
                },
            },
        },
    },
}
"""The reply for providers that enforce a schema; the same content as the textual form."""


@dataclass(frozen=True)
class Rewrite:
    """Whole definitions (and imports) of a file."""

    path: str | None
    code: str


@dataclass(frozen=True)
class Swap:
    """Some lines of a file and what they should become."""

    path: str | None
    search: str
    replace: str


Edit = Rewrite | Swap


@dataclass(frozen=True)
class Reply:
    diagnosis: str
    kind: str
    function: str
    edits: tuple[Edit, ...]


class Unusable(Exception):
    """The reply is no patch; ``str()`` says why in words that help the model to do better."""


LONGEST = 200_000
"""Characters; what is longer is a model in a loop."""

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.S | re.I)
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^\n`]*)$", re.M)
_PATH = r"[^\s`'\"*<>|:]+\.(?:pyi|pyx|py|toml|cfg|ini|json|ya?ml|txt|md|html|sql|csv)"
_FILE_LINE = re.compile(
    r"^[ \t]*(?:#|//|--)?[ \t]*\**(?:FILE|PATH|FILENAME)\**[ \t]*:[ \t]*[`'\"*]*([^`'\"*\n]+?)[`'\"*]*[ \t]*$", re.I
)
_BARE_PATH = re.compile(
    rf"^[ \t]*(?:#+|//|\*+|-)?[ \t]*(?:[Ii]n |[Uu]pdated? |[Ff]ile )?[`'\"*]*({_PATH})[`'\"*]*:?[ \t]*\**:?$"
)
_SWAP = re.compile(
    r"^[ \t]*<{5,9}[ \t]*(?:SEARCH|ORIGINAL|HEAD)?[^\n]*\n(.*?)^[ \t]*={5,9}[ \t]*\n(.*?)^[ \t]*>{5,9}[^\n]*$",
    re.S | re.M,
)
_OTHER_LANGUAGES = frozenset(
    ("bash", "sh", "shell", "console", "text", "txt", "output", "pytb", "traceback", "pycon", "plaintext", "markdown")
)
_FIELD = r"^[ \t#>*-]*\**{}\**[ \t]*:[ \t]*\**[ \t]*"
_FIELD_END = r"(?=^[ \t#>*-]*\**(?:DIAGNOSIS|KIND|FUNCTION|FIX|PATCH|CODE)\**[ \t]*:|^[ \t]*(?:```|~~~|<{5,9} )|\Z)"


def read(text: str) -> Reply:
    """Raises :class:`Unusable`."""
    text = _THINKING.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\x00", "")
    if not text.strip():
        raise Unusable("the reply was empty")
    if len(text) > LONGEST:
        raise Unusable(f"the reply is longer than {LONGEST} characters")
    edits: tuple[Edit, ...]
    if (data := _json(text)) is not None:
        edits = tuple(_json_edits(data))
        told = {name: str(data.get(name) or "") for name in ("diagnosis", "kind", "function")}
    else:
        edits = tuple(_edits(text))
        told = {name: _field(name, text) for name in ("diagnosis", "kind", "function")}
        told["diagnosis"] = told["diagnosis"] or _prose(text)
    if not edits:
        raise Unusable("there was no code in it: no fenced block with a definition and no SEARCH/REPLACE block")
    diagnosis = " ".join(told["diagnosis"].split())[:800]
    return Reply(diagnosis, told["kind"].strip(" .*`")[:40].lower(), told["function"].strip(" .*`"), edits)


def diagnosis_of(text: str) -> str:
    """The diagnosis of a reply whose patch is unusable, as far as there is one."""
    text = _THINKING.sub("", text)
    return " ".join((_field("diagnosis", text) or _prose(text)).split())[:800]


def _field(name: str, text: str) -> str:
    found = re.search(_FIELD.format(name) + r"(.*?)" + _FIELD_END, text, re.S | re.M | re.I)
    if found is None:
        return ""
    value = found.group(1).strip()
    if name != "diagnosis":
        return value.partition("\n")[0].strip()
    if not found.group(0).lstrip().startswith("#"):
        return value
    # A comment in the code block: it ends where the code begins.
    first, *rest = value.split("\n")
    more = itertools.takewhile(lambda line: line.lstrip().startswith("#") and not _FILE_LINE.match(line), rest)
    return " ".join([first, *(line.strip(" \t#") for line in more)])


def _prose(text: str) -> str:
    before = _FENCE.split(text, maxsplit=1)[0]
    return before.strip() if not re.search(r"^\s*(def|class|import|from) ", before, re.M) else ""


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json(text: str) -> dict[str, Any] | None:
    """The object that carries edits, if the reply is one (perhaps in a fence, perhaps with a word around it)."""
    if '"edits"' not in text:
        return None
    start, stop = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : stop + 1], strict=False)
    except (ValueError, RecursionError):
        raise Unusable("the JSON object does not parse") from None
    if not isinstance(data, dict) or not isinstance(data.get("edits"), list):
        raise Unusable("the JSON object has no list of edits")
    return data


def _json_edits(data: dict[str, Any]) -> Iterator[Edit]:
    for edit in data["edits"]:
        if not isinstance(edit, dict):
            raise Unusable("an edit is not an object")
        path = edit.get("path")
        path = path.strip() or None if isinstance(path, str) else None
        code, search, replace = (edit.get(name) or "" for name in ("code", "search", "replace"))
        if not all(isinstance(value, str) for value in (code, search, replace)):
            raise Unusable("code, search and replace must be texts")
        code, search, replace = (value.replace("\r\n", "\n") for value in (code, search, replace))
        if code.strip():
            yield from _block(code, "python", path)
        elif search.strip() or replace.strip():
            yield Swap(path, search.strip("\n"), replace.strip("\n"))


# --- text -----------------------------------------------------------------------------------------------------------


def _edits(text: str) -> Iterator[Edit]:
    blocks = list(_blocks(text))
    if not blocks and not _SWAP.search(text):
        loose = _loose_code(text)
        if loose:
            yield Rewrite(_path_in(text), loose)
        return
    inside = [edit for body, info, before in blocks for edit in _block(body, info, _path_from(info, before))]
    yield from inside
    if not any(isinstance(edit, Swap) for edit in inside):
        # SEARCH/REPLACE blocks that stand outside of any fence, or around fences.
        for found in _SWAP.finditer(_without_fences(text) if not blocks else _outside(text)):
            path = _path_above(found.string[: found.start()])
            yield Swap(path, _strip_fences(found.group(1)), _strip_fences(found.group(2)))


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Fenced blocks: body, info string, the text before; an unclosed last fence runs to the end."""
    position = 0
    while opening := _FENCE.search(text, position):
        indent, mark, info = opening.groups()
        closing = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.M).search(text, opening.end())
        stop = closing.start() if closing else len(text)
        body = text[opening.end() + 1 : stop]
        if indent:
            body = "\n".join(line.removeprefix(indent) for line in body.split("\n"))
        yield body.rstrip("\n"), info.strip(), text[position : opening.start()]
        position = closing.end() if closing else len(text)


def _outside(text: str) -> str:
    return re.sub(r"^([ \t]*)(`{3,}|~{3,})[^\n]*\n.*?(^[ \t]*\2[ \t]*$|\Z)", "", text, flags=re.S | re.M)


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)


def _strip_fences(body: str) -> str:
    return "\n".join(line for line in body.split("\n") if not _FENCE.match(line)).strip("\n")


def _path_from(info: str, before: str) -> str | None:
    """A path in the info string (```` ```python src/a.py ````, ``title="src/a.py"``) or on the line above."""
    found = re.search(rf"(?:^|[\s:=\"'])({_PATH})\b", info)
    return found.group(1) if found else _path_above(before)


def _path_above(before: str) -> str | None:
    lines = [line for line in before.split("\n") if line.strip() and not _FENCE.match(line)]
    return _path_line(lines[-1]) if lines else None


def _path_line(line: str) -> str | None:
    found = _FILE_LINE.match(line) or _BARE_PATH.match(line)
    return found.group(1).strip() if found else None


def _path_in(text: str) -> str | None:
    return next((path for line in text.split("\n") if (path := _path_line(line))), None)


def _block(body: str, info: str, path: str | None) -> Iterator[Edit]:
    language = re.split(r"[\s:{]", info.lower(), maxsplit=1)[0]
    if _SWAP.search(body):
        end = 0
        for found in _SWAP.finditer(body):
            path = _path_in(body[end : found.start()]) or path
            end = found.end()
            yield Swap(path, found.group(1).strip("\n"), found.group(2).strip("\n"))
        return
    if re.search(r"^<{5,9} ?(SEARCH|ORIGINAL)", body, re.M):
        raise Unusable("a SEARCH/REPLACE block is not complete")
    if language in ("diff", "patch") or re.search(r"^@@ .*@@", body, re.M):
        yield from _diff(body, path)
        return
    if language in _OTHER_LANGUAGES or (language == "json" and not path):
        return
    for part, code in _parts(body, path):
        if code.strip():
            yield Rewrite(part, readable(code))


def _parts(body: str, path: str | None) -> Iterator[tuple[str | None, str]]:
    """A block may hold several files, each under its own ``# FILE:`` line."""
    lines: list[str] = []
    for n, line in enumerate(body.split("\n")):
        found = _FILE_LINE.match(line) if line.lstrip().startswith(("#", "//", "FILE", "File")) else None
        found = found or (_BARE_PATH.match(line) if n == 0 and line.lstrip().startswith("#") else None)
        if found:
            if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
                yield path, "\n".join(lines)
            path, lines = found.group(1).strip(), []
        else:
            lines.append(line)
    yield path, "\n".join(lines)


def _diff(body: str, path: str | None) -> Iterator[Swap]:
    """The hunks of a unified diff as swaps; line numbers are ignored, models get them wrong."""
    old: list[str] = []
    new: list[str] = []
    for line in [*body.split("\n"), "@@"]:
        if line.startswith(("--- ", "+++ ", "diff --git", "index ")):
            name = line[4:].split("\t")[0].strip()
            if line.startswith("+++ ") and name != "/dev/null":
                path = name[2:] if name.startswith(("a/", "b/")) else name
            continue
        if line.startswith("@@"):
            if old != new:
                yield Swap(path, "\n".join(old), "\n".join(new))
            old, new = [], []
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif not line.startswith("\\"):
            shared = line[1:] if line.startswith(" ") else line
            old.append(shared)
            new.append(shared)


_NUMBERED = re.compile(r"^[ \t]*\d+[ \t]*(?:[|:│>][ ]?|[ ]{1,2}|$)")


def readable(code: str) -> str:
    """Code that parses, if a mechanical slip of form is all that is wrong with it; else the code as it is."""
    for form in _forms(code):
        if parse(form) is not None:
            return form.strip("\n")
    return code.strip("\n")


def _forms(code: str) -> Iterator[str]:
    yield code
    yield textwrap.dedent(code)
    lines = code.strip("\n").split("\n")
    full = [line for line in lines if line.strip()]
    if full and all(_NUMBERED.match(line) for line in full):
        yield textwrap.dedent("\n".join(_NUMBERED.sub("", line) for line in lines))
    if full and all(line.lstrip().startswith((">>>", "...")) for line in full):
        yield "\n".join(re.sub(r"^\s*(>>>|\.\.\.) ?", "", line) for line in lines)
    # The first line lost its indentation: the rest is a method.
    for width in (4, 8, 2):
        yield textwrap.dedent("\n".join([" " * width + lines[0], *lines[1:]]))
    yield textwrap.dedent(code.expandtabs(4))
    yield textwrap.dedent(
        code.replace("\u00a0", " ").replace("\u201c", '"').replace("\u201d", '"').replace("\u2019", "'")
    )


def _loose_code(text: str) -> str | None:
    """The longest run of lines that parses and defines something, in a reply without fences."""
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if re.match(r"\s*(def|async def|class|import|from|@)\b|\s*@\w", line)]
    for start in starts[:20]:
        for stop in range(len(lines), start, -1):
            if lines[stop - 1].strip():
                code = "\n".join(lines[start:stop])
                tree = parse(textwrap.dedent(code))
                if tree is not None and re.search(r"^\s*(async def|def|class) ", code, re.M):
                    return textwrap.dedent(code)
            if len(lines) - stop > 200:
                break
    return None
