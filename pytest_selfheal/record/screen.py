"""What can be printed here: width, colour, and a text's characters made safe for this terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, TextIO
from unicodedata import east_asian_width

from pytest_selfheal.record.diff import parse, split_lines

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ASCII = str.maketrans({"…": "...", "→": "->", "–": "-", "·": "-", "’": "'", "✓": "+", "✗": "x"})


class Screen:
    """pytest's terminal writer, for text that may hold anything. Output that can no longer be written is dropped."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.encoding: str = getattr(writer._file, "encoding", None) or "utf-8"
        self.closed = False
        self.loud = False
        """Raise when the output is closed, rather than fall silent."""

    @property
    def width(self) -> int:
        return max(40, int(self.writer.fullwidth))

    @property
    def live(self) -> bool:
        """Whether lines can be redrawn in place."""
        try:
            return bool(self.writer._file.isatty()) and self.writer.hasmarkup
        except (AttributeError, ValueError):
            return False

    def safe(self, text: str) -> str:
        """``text`` without terminal control sequences and with only characters that the terminal's encoding has."""
        text = _CONTROL.sub("?", text)
        try:
            text.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            encoding = "ascii" if self.encoding.lower() == "ascii" else self.encoding
            try:
                text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
            except LookupError:
                text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
        return text

    def cut(self, text: str, columns: int) -> str:
        """As much of ``text``, made safe, as fits into so many columns; characters of East Asia take two."""
        text = self.safe(text)
        taken = accumulate(2 if east_asian_width(character) in "WF" else 1 for character in text)
        return text[: sum(column <= columns for column in taken)]

    def line(self, text: str = "", **markup: bool) -> None:
        self.write(self.safe(text), **markup)
        self.write("\n")

    def write(self, text: str, **markup: bool) -> None:
        """Write text that is safe already."""
        if self.closed:
            return
        try:
            self.writer.write(text, flush=True, **markup)
        except (OSError, ValueError):  # closed stdout: the reports are on disk
            self._close()

    def separator(self, title: str) -> None:
        if self.closed:
            return
        try:
            self.writer.sep("=", title)
        except (OSError, ValueError):
            self._close()

    def _close(self) -> None:
        self.closed = True
        if self.loud:
            raise BrokenPipeError

    def paragraph(self, text: str, indent: str = "     ", **markup: bool) -> None:
        """``text`` wrapped to the terminal, every line indented."""
        for line in text.splitlines():
            for part in textwrap.wrap(line, self.width - 1 - len(indent), break_on_hyphens=False) or [""]:
                self.line(indent + part, **markup)

    def diff(self, diff: str, indent: str = "     ", limit: int | None = None, name: bool = False) -> None:
        """A unified diff in colour, without git's headers; ``name``: with its file's even when there is only one.

        With ``limit``, a summary of so many rows of the screen at most: little context, without the indentation that
        all lines have, long changed lines wrapped and, where one alone would fill the summary, without their middle.
        """
        lines = list(diff_lines(diff, name))
        if limit is None:
            rows = [[line.expandtabs(4)] for line in lines]
        else:
            rows = _summary(brief(lines), self.width - len(indent) - 1, limit)
        for parts in rows:
            style = {"+": {"green": True}, "-": {"red": True}, "@": {"cyan": True}}.get(parts[0][:1], {})
            for part in parts:
                self.line(indent + part, **style)


def _summary(lines: list[str], room: int, limit: int) -> list[list[str]]:
    """Each line as the rows it takes; ``limit`` rows in all, the last of which says what was left out."""
    changed = sum(line[:1] in ("+", "-") for line in lines)
    each = max(3, (limit - 2) // max(1, changed))
    rows = [_wrapped(line.expandtabs(4), room, each) for line in lines]
    if sum(map(len, rows)) <= limit:
        return rows
    kept, used = 0, 0
    while used + len(rows[kept]) < limit:
        used += len(rows[kept])
        kept += 1
    left = len(rows) - kept
    return [*rows[:kept], [f"… {left} more line{'' if left == 1 else 's'}"]]


def _wrapped(line: str, room: int, limit: int) -> list[str]:
    if len(line) <= room:
        return [line]
    if line[:1] not in ("+", "-"):
        return [line[: room - 1] + "…"]
    rows = textwrap.wrap(line, room, subsequent_indent="      ", drop_whitespace=False)  # the change may be at its end
    return rows if len(rows) <= limit else [rows[0], "      …", *rows[len(rows) - limit + 2 :]]


def brief(lines: list[str], context: int = 2) -> list[str]:
    """The same hunks with less context and without common indentation."""
    result: list[str] = []
    hunk: list[str] = []
    for line in [*lines, "@"]:
        if not line.startswith("@"):
            hunk.append(line)
            continue
        result += _brief_hunk(hunk, context)
        hunk = []
        result.append(line)
    return result[:-1]


def _brief_hunk(hunk: list[str], context: int) -> list[str]:
    changed = [number for number, line in enumerate(hunk) if line[:1] in ("+", "-")]
    if not changed:
        return hunk
    kept = hunk[max(0, changed[0] - context) : changed[-1] + context + 1]
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    indents = [len(line) - 1 - len(line[1:].lstrip()) for line in kept if line[1:].strip() and line[0] != "\\"]
    common = min(indents, default=0)
    return [line[:1] + line[1 + common :] if line[:1] in ("+", "-", " ") else line for line in kept]


def screen_on(stream: TextIO) -> Screen:
    """A screen outside of a pytest run, with pytest's own writer: it knows ``NO_COLOR``, widths and dumb terminals.

    A reader that goes away ends the command that prints.
    """
    from _pytest._io import TerminalWriter

    screen = Screen(TerminalWriter(stream))
    screen.loud = True
    return screen


def diff_lines(diff: str, name: bool = False) -> Iterable[str]:
    """The lines of a diff that people read: a line per file (where it says something), hunks, no index lines."""
    raw = diff.encode("utf-8", "surrogateescape")
    patches = parse(raw)
    several = name or len(patches) > 1 or any(patch.old is None or patch.new is None for patch in patches)
    paths = iter(patches)
    for line in split_lines(raw):
        if line.startswith(b"diff --git "):
            patch = next(paths)
            if several:
                what = " (new file)" if patch.old is None else " (deleted)" if patch.new is None else ""
                yield f"@ {patch.path}{what}"
        elif line.startswith((b"index ", b"--- ", b"+++ ", b"new file mode", b"deleted file mode")) and not _in_hunk(
            line
        ):
            continue
        else:
            yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def _in_hunk(line: bytes) -> bool:
    # A removed line '-- x' reads '--- x'; git's own header names a file with a/ or b/, or /dev/null.
    return line.startswith((b"--- ", b"+++ ")) and not line[4:].startswith((b"a/", b"b/", b'"a/', b'"b/', b"/dev/null"))
