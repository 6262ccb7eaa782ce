"""Unified diffs in git's format, made from bytes and applied to bytes.

Lines end at ``\\n`` alone: a CRLF is a line that ends in ``\\r``, a lone ``\\r`` or form feed is a character like any
other, and no encoding is assumed, so that latin-1 text, a BOM and a missing final newline come through untouched.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from pytest_selfheal.errors import RecordError
from pytest_selfheal.types import FileChange

_CONTEXT = 3
_NO_NEWLINE = b"\\ No newline at end of file\n"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
_UNESCAPES = {letter[1]: bytes([code]) for code, letter in _ESCAPES.items()}


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their ``\\n``; the last may lack it."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def make_diff(changes: Iterable[FileChange]) -> bytes:
    """One git-style unified diff of all ``changes``, paths in order; empty when nothing changes."""
    return b"".join(
        _file_diff(change) for change in sorted(changes, key=lambda c: c.path) if change.before != change.after
    )


def diffstat(changes: Iterable[FileChange]) -> list[tuple[str, int, int]]:
    """``(path, lines added, lines deleted)`` for each changed file, in order of path."""
    stat = []
    for change in sorted(changes, key=lambda c: c.path):
        before, after = split_lines(change.before or b""), split_lines(change.after or b"")
        edits = [op for op in _opcodes(before, after) if op[0] != "equal"]
        stat.append((change.path, sum(j2 - j1 for _, _, _, j1, j2 in edits), sum(i2 - i1 for _, i1, i2, _, _ in edits)))
    return stat


def _file_diff(change: FileChange) -> bytes:
    old, new = quote("a/" + change.path), quote("b/" + change.path)
    head = [b"diff --git " + old + b" " + new + b"\n"]
    if change.before is None:
        head.append(b"new file mode 100644\n")
    elif change.after is None:
        head.append(b"deleted file mode 100644\n")
    head.append(f"index {blob_id(change.before)}..{blob_id(change.after)}\n".encode())
    hunks = list(_hunks(split_lines(change.before or b""), split_lines(change.after or b"")))
    if hunks:
        # The tab ends a name with blanks for `patch`, as git itself writes it.
        tab = b"\t" if any(c in change.path for c in " \t") and not old.startswith(b'"') else b""
        head.append(b"--- " + (b"/dev/null" if change.before is None else old + tab) + b"\n")
        head.append(b"+++ " + (b"/dev/null" if change.after is None else new + tab) + b"\n")
    return b"".join(head + hunks)


def quote(path: str) -> bytes:
    """``path`` as git writes it in headers: in C quotes when it holds anything but printable ASCII."""
    raw = os.fsencode(path)
    if all(32 <= byte < 127 and byte not in (34, 92) for byte in raw):
        return raw
    body = "".join(_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in raw)
    return f'"{body}"'.encode()


def unquote(name: bytes) -> str:
    """The inverse of :func:`quote`."""
    if not name.startswith(b'"'):
        return os.fsdecode(name.split(b"\t")[0])
    text = name.strip().decode("ascii", "surrogateescape")[1:-1]

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8)) if code.isdigit() else _UNESCAPES[code].decode()

    return os.fsdecode(re.sub(r"\\(\d{3}|.)", plain, text).encode("latin-1"))


def blob_id(data: bytes | None) -> str:
    """git's object name of a file with these bytes; zeros where there is no file."""
    if data is None:
        return "0" * 40
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


Opcode = tuple[str, int, int, int, int]


def _opcodes(before: list[bytes], after: list[bytes]) -> list[Opcode]:
    """difflib's opcodes, with the common head and tail cut off first: a small edit of a large file costs nothing."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False)
    codes: list[Opcode] = [("equal", 0, head, 0, head)]
    codes += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle.get_opcodes()]
    codes.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return [code for code in codes if code[1] < code[2] or code[3] < code[4]]


def _hunks(before: list[bytes], after: list[bytes]) -> Iterable[bytes]:
    group: list[Opcode] = []
    for code in _opcodes(before, after):
        tag, i1, i2, j1, j2 = code
        if tag != "equal":
            group.append(code)
            continue
        if not group:
            lead = max(i1, i2 - _CONTEXT)
            group = [("equal", lead, i2, j2 - (i2 - lead), j2)]
        elif i2 - i1 > 2 * _CONTEXT:
            yield _hunk([*group, ("equal", i1, i1 + _CONTEXT, j1, j1 + _CONTEXT)], before, after)
            group = [("equal", i2 - _CONTEXT, i2, j2 - _CONTEXT, j2)]
        else:
            group.append(code)
    if any(code[0] != "equal" for code in group):
        if group[-1][0] == "equal":
            tag, i1, i2, j1, j2 = group[-1]
            group[-1] = (tag, i1, min(i2, i1 + _CONTEXT), j1, min(j2, j1 + _CONTEXT))
        yield _hunk(group, before, after)


def _hunk(group: list[Opcode], before: list[bytes], after: list[bytes]) -> bytes:
    i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
    parts = [f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n".encode()]
    for tag, a1, a2, b1, b2 in group:
        if tag == "equal":
            parts += [_line(b" ", line) for line in before[a1:a2]]
        else:
            parts += [_line(b"-", line) for line in before[a1:a2]]
            parts += [_line(b"+", line) for line in after[b1:b2]]
    return b"".join(parts)


def _range(start: int, end: int) -> str:
    length = end - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + _NO_NEWLINE


@dataclass(frozen=True)
class Hunk:
    """Whole lines before and after, and the 0-based line at which each side starts."""

    old_start: int
    new_start: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


@dataclass(frozen=True)
class FilePatch:
    """What a diff says of one file; ``old`` or ``new`` is ``None`` for a file that appears or goes."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    old_id: str = ""
    """git's object name of the bytes before, which tells whether a file is still as it was; empty when unknown."""
    new_id: str = ""

    @property
    def path(self) -> str:
        return self.new or self.old or ""


def parse(diff: bytes) -> list[FilePatch]:
    """Read a diff as :func:`make_diff` writes it (anything before the first ``diff --git`` is skipped)."""
    patches: list[FilePatch] = []
    lines = split_lines(diff)
    at = 0
    while at < len(lines):
        if not lines[at].startswith(b"diff --git "):
            at += 1
            continue
        # Both names are the same but for their first letter, so the header halves exactly.
        names = lines[at][len(b"diff --git ") : -1]
        old: str | None = unquote(names[(len(names) + 1) // 2 :])[2:]
        new = old
        ids: list[str] = ["", ""]
        at += 1
        while at < len(lines) and not lines[at].startswith((b"@@ ", b"diff --git ", b"-- ")):
            old = None if lines[at].startswith(b"new file mode") else old
            new = None if lines[at].startswith(b"deleted file mode") else new
            if lines[at].startswith(b"index "):
                ids = lines[at].split()[1].decode("ascii", "replace").split("..")
            at += 1
        hunks = []
        while at < len(lines) and (match := _HUNK.match(lines[at])):
            at, hunk = _read_hunk(lines, at + 1, match)
            hunks.append(hunk)
        patches.append(FilePatch(old, new, tuple(hunks), ids[0], ids[-1]))
    return patches


def _read_hunk(lines: list[bytes], at: int, header: re.Match[bytes]) -> tuple[int, Hunk]:
    old_start, old, new_start, new = (int(1 if number is None else number) for number in header.groups())
    before: list[bytes] = []
    after: list[bytes] = []
    while at < len(lines) and (len(before) < old or len(after) < new or lines[at] == _NO_NEWLINE):
        sign, text = lines[at][:1], lines[at][1:]
        if sign == b"\\":
            last = lines[at - 1][:1]
            if last in b" -":
                before[-1] = before[-1][:-1]
            if last in b" +":
                after[-1] = after[-1][:-1]
        if sign in (b" ", b"-"):
            before.append(text)
        if sign in (b" ", b"+"):
            after.append(text)
        at += 1
    # An empty range names the line before it, any other its own first line.
    return at, Hunk(old_start - (old > 0), new_start - (new > 0), tuple(before), tuple(after))


def apply_to(files: Mapping[str, bytes | None], diff: bytes, reverse: bool = False) -> dict[str, bytes | None]:
    """New bytes of every file that ``diff`` names, applied strictly: every line at its very place.

    Raises :class:`RecordError` when a line is not what the diff says.
    """
    result: dict[str, bytes | None] = {}
    for patch in parse(diff):
        path = patch.path
        appears, goes = (patch.new is None, patch.old is None) if reverse else (patch.old is None, patch.new is None)
        content = files.get(path)
        if (content is None) != appears:
            raise RecordError(f"the patch does not fit: {path} {'exists already' if appears else 'does not exist'}.")
        lines = split_lines(content or b"")
        for hunk in patch.hunks:
            old, new = (hunk.after, hunk.before) if reverse else (hunk.before, hunk.after)
            here = hunk.old_start if reverse else hunk.new_start
            if tuple(lines[here : here + len(old)]) != old:
                raise RecordError(f"the patch does not fit {path} at line {here + 1}.")
            lines[here : here + len(old)] = new
        result[path] = None if goes else b"".join(lines)
    return result
