"""Edits near a syntax error: tokens put in, taken out or respelled, indentation, habits of other languages."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_selfheal.propose.search.candidate import Edit
from pytest_selfheal.propose.search.distance import distance

_COMPOUND = re.compile(r"\s*(async\s+)?(def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b")

_PAIRS = {"(": ")", "[": "]", "{": "}"}

_HABITS = (
    (re.compile(r"\belse\s+if\b"), "elif"),
    (re.compile(r"\b(elseif|elsif)\b"), "elif"),
    (re.compile(r"&&"), " and "),
    (re.compile(r"\|\|"), " or "),
    (re.compile(r"!(?!=)\s*"), "not "),
    (re.compile(r"\+\+"), " += 1"),
    (re.compile(r"(?<!-)--(?!-)"), " -= 1"),
    (re.compile(r"=>"), ">="),
    (re.compile(r"=<"), "<="),
    (re.compile(r"=!"), "!="),
    (re.compile(r"<>"), "!="),
    (re.compile(r"==="), "=="),
    (re.compile(r"!=="), "!="),
    (re.compile(r"==\s*$"), "="),
    (re.compile(r"\bexcept\s+(\w+)\s*,\s*(\w+)\s*:"), r"except \1 as \2:"),
    (re.compile(r"\bprint\s+(.+?)\s*$"), r"print(\1)"),
    (re.compile(r"\bcatch\b"), "except"),
    (re.compile(r"\bfunction\b"), "def"),
    (re.compile(r"\bnew\s+(?=\w)"), ""),
    (re.compile(r"[“”]"), '"'),
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r";\s*$"), ""),
    (re.compile(r"\bis\s+not\s+in\b"), "not in"),
    (re.compile(r"\bnot\s+is\b"), "is not"),
    (re.compile(r"\{\s*$"), ":"),
    (re.compile(r"\bfor\s+(\w+)\s+of\b"), r"for \1 in"),
)


@dataclass(frozen=True)
class ParseError:
    line: int
    column: int
    message: str
    end: int


def edits_near(text: str, error: ParseError) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    lines = text.splitlines(keepends=True) or [""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    index = min(error.line - 1, len(lines) - 1)
    before = index - 1
    while before > 0 and (not lines[before].strip() or lines[before].lstrip().startswith("#")):
        before -= 1
    spots = [index] + ([before] if before >= 0 else [])
    opened = _unclosed(text)
    spots += [n for n in opened if n not in spots and n < len(lines)]
    yield from _conflict(text)
    for rank, spot in enumerate(spots[:4]):
        yield from _line(lines[spot], starts[spot], error, spot == index, 1.0 if rank == 0 else 0.8)
    yield from _indentation(lines, starts, index, before, error)
    yield from _contextual(text, lines, starts, index, error)


def _content(line: str) -> str:
    """The line without its end, trailing space and comment."""
    bare = line.rstrip("\r\n")
    quote = ""
    for i, char in enumerate(bare):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#":
            bare = bare[:i]
            break
    return bare.rstrip()


def _line(
    line: str, start: int, error: ParseError, own: bool, factor: float
) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    content = _content(line)
    end = start + len(content)

    def put(
        weight: float, at: int, new: str, what: str, upto: int | None = None
    ) -> tuple[float, tuple[Edit, ...], str]:
        return weight * factor, (Edit(at, at if upto is None else upto, new),), what

    if not content.strip():
        return
    if _COMPOUND.match(content) and not content.endswith(":"):
        yield put(0.98 if "expected ':'" in error.message else 0.8, end, ":", "insert ':'")
    for pattern, new in _HABITS:
        for match in pattern.finditer(content):
            replaced = match.expand(new)
            yield put(
                0.7,
                start + match.start(),
                replaced,
                f"replace {match.group()} with {replaced}",
                start + match.end(),
            )
    surplus = (
        content.count("(") - content.count(")"),
        content.count("[") - content.count("]"),
        content.count("{") - content.count("}"),
    )
    for (opening, closing), extra in zip(_PAIRS.items(), surplus, strict=True):
        if extra > 0:
            place = end - 1 if content.endswith(":") else end
            yield put(0.9, place, closing, f"insert '{closing}'")
            if content.endswith(":"):
                yield put(0.4, end, closing, f"insert '{closing}'")
            for match in re.finditer(r"[\w\])}'\"]+", content):
                yield put(0.5, start + match.end(), closing, f"insert '{closing}'")
            yield from (
                put(0.6, start + i, "", f"delete '{opening}'", start + i + 1)
                for i, c in enumerate(content)
                if c == opening
            )
        elif extra < 0:
            places = [i for i, c in enumerate(content) if c == closing]
            for rank, i in enumerate(reversed(places)):
                yield put(
                    0.85 - 0.05 * rank,
                    start + i,
                    "",
                    f"delete '{closing}'",
                    start + i + 1,
                )
            for match in re.finditer(r"[\w'\"\[({]+", content):
                yield put(0.4, start + match.start(), opening, f"insert '{opening}'")
    for i, char in enumerate(content):  # a bracket of the wrong kind
        if char in ")]}" and "does not match" in error.message:
            for other in ")]}":
                if other != char:
                    yield put(
                        0.8,
                        start + i,
                        other,
                        f"replace '{char}' with '{other}'",
                        start + i + 1,
                    )
    for quote in "'\"":
        if content.count(quote) % 2:
            for place in sorted(
                {
                    end,
                    *(start + m.start() for m in re.finditer(r"[,)\]}:\s]", content)),
                },
                reverse=True,
            ):
                yield put(0.7, place, quote, f"insert {quote}")
            for match in re.finditer(r"(?<![\w'\"])\w", content):
                yield put(0.3, start + match.start(), quote, f"insert {quote}")
            yield from (
                put(0.3, start + i, "", f"delete {quote}", start + i + 1) for i, c in enumerate(content) if c == quote
            )
            other = "'" if quote == '"' else '"'
            yield from (
                put(
                    0.6,
                    start + i,
                    quote,
                    f"replace {other} with {quote}",
                    start + i + 1,
                )
                for i, c in enumerate(content)
                if c == other
            )
    yield from _words(content, start, error, factor)
    column = error.column if own else len(content)
    yield from _tokens(content, start, column, factor, error)


def _words(content: str, start: int, error: ParseError, factor: float) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    """Misspelled keywords, keywords used as names, ``=`` for ``==`` and back."""
    for match in re.finditer(r"[A-Za-z_]\w*", content):
        word = match.group()
        span = (start + match.start(), start + match.end())
        if keyword.iskeyword(word):
            if word not in ("None", "True", "False"):
                yield 0.25 * factor, (Edit(span[1], span[1], "_"),), f"rename {word}"
            continue
        for known in keyword.kwlist:
            far = distance(word, known, 2.5)
            if far < 2.5 and far < len(known) and len(word) > 1:
                first = not content[: match.start()].strip()
                yield (
                    (0.9 - 0.2 * far + 0.1 * first) * factor,
                    (Edit(*span, known),),
                    f"replace {word} with {known}",
                )
        for known in (
            "return",
            "not",
            "in",
            "and",
            "or",
            "import",
            "def",
            "if",
            "for",
            "raise",
            "else",
            "is",
            "lambda",
        ):
            if word.startswith(known) and len(word) > len(known):
                at = span[0] + len(known)
                yield (
                    0.6 * factor,
                    (Edit(at, at, " "),),
                    f"insert a space after {known}",
                )
    condition = re.match(r"\s*(if|elif|while|assert|return)\b", content)
    for match in re.finditer(r"(?<![=!<>+\-*/%&|^:])=(?!=)", content):
        weight = 0.9 if condition or "==" in error.message else 0.4
        yield (
            weight * factor,
            (Edit(start + match.start(), start + match.end(), "=="),),
            "replace = with ==",
        )
        yield (
            0.3 * factor,
            (Edit(start + match.start(), start + match.end(), ":"),),
            "replace = with :",
        )
        yield (
            0.2 * factor,
            (Edit(start + match.start(), start + match.end(), ":="),),
            "replace = with :=",
        )
    for match in re.finditer(r"==", content):
        yield (
            0.3 * factor,
            (Edit(start + match.start(), start + match.end(), "="),),
            "replace == with =",
        )
    for match in re.finditer(r":(?!=)", content):
        yield (
            0.3 * factor,
            (Edit(start + match.start(), start + match.end(), "="),),
            "replace : with =",
        )
        yield (
            0.2 * factor,
            (Edit(start + match.start(), start + match.end(), ","),),
            "replace : with ,",
        )


def _tokens(
    content: str, start: int, column: int, factor: float, error: ParseError
) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    """Any token deleted, and small ones inserted between any two, the nearer to the error the likelier."""
    spans = [(m.start(), m.end()) for m in re.finditer(r"\w+|\s+|\*\*=?|//=?|[<>=!+\-*/%&|^]=|->|:=|\S", content)]
    solid = [s for s in spans if content[s[0] : s[1]].strip()]
    comma = 0.6 if "comma" in error.message else 0.3
    for a, b in solid:
        near = 1.0 / (1.0 + 0.2 * abs(a - column))
        token = content[a:b]
        if len(solid) > 1 and token not in "()[]{}":
            yield (
                (0.2 + 0.3 * near) * factor,
                (Edit(start + a, start + b, ""),),
                f"delete {token}",
            )
        for text, weight in (
            (", ", comma),
            (":", 0.25),
            (" in ", 0.25),
            ("(", 0.1),
            (")", 0.2),
            ("]", 0.2),
            ("}", 0.2),
            (".", 0.15),
            (" + ", 0.1),
            (" = ", 0.15),
            (" and ", 0.1),
            (" as ", 0.12),
            (" import ", 0.12),
            (" else None", 0.05),
            ("def ", 0.12 if not content[:a].strip() else 0.0),
            (" if ", 0.1),
            (" for ", 0.1),
            (" not", 0.05),
            ("pass", 0.1),
            ("None", 0.08),
            ("*", 0.02),
        ):
            if text[0] == " " and content[a - 1 : a] == " ":
                text = text[1:] + ("" if text.endswith(" ") else " ")
            if weight:
                yield (
                    (weight * (0.4 + 0.6 * near)) * factor,
                    (Edit(start + a, start + a, text),),
                    f"insert {text.strip()}",
                )
                if b == len(content) or text.strip() in ")]},:":
                    yield (
                        (weight * (0.4 + 0.6 * near)) * factor,
                        (
                            Edit(
                                start + b,
                                start + b,
                                text.rstrip() if text != " = " else text,
                            ),
                        ),
                        f"insert {text.strip()}",
                    )


def _indentation(
    lines: list[str], starts: list[int], index: int, before: int, error: ParseError
) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    line = lines[index]
    old = line[: len(line) - len(line.lstrip(" \t"))]
    wanted: dict[str, float] = {}
    relevant = (
        "indent" in error.message
        or "expected" in error.message
        or "outside" in error.message
        or "invalid syntax" in error.message
    )
    weight = 0.85 if "indent" in error.message else 0.5
    if not relevant:
        return
    if before >= 0:
        previous = lines[before]
        base = previous[: len(previous) - len(previous.lstrip(" \t"))]
        deeper = base + "    "
        wanted[deeper if _content(previous).endswith(":") else base] = weight
        wanted.setdefault(base, weight * 0.6)
        wanted.setdefault(deeper, weight * 0.6)
    for other in reversed(lines[max(0, index - 40) : index]):
        if other.strip():
            indent = other[: len(other) - len(other.lstrip(" \t"))]
            wanted.setdefault(indent, weight * 0.5)
    for indent, likely in wanted.items():
        if indent != old:
            yield (
                likely,
                (Edit(starts[index], starts[index] + len(old), indent),),
                "indent the line",
            )
            last = index
            while (
                last + 1 < len(lines) and lines[last + 1].startswith(old) and lines[last + 1].strip() and len(old) > 0
            ) or (last + 1 < len(lines) and not old and lines[last + 1].strip() and not lines[last + 1][0].isalnum()):
                last += 1
            if last > index:
                edits = tuple(Edit(starts[i], starts[i] + len(old), indent) for i in range(index, last + 1))
                yield likely * 0.9, edits, "indent the lines"
    if "expected an indented block" in error.message and before >= 0:
        base = lines[before][: len(lines[before]) - len(lines[before].lstrip(" \t"))]
        yield (
            0.4,
            (Edit(starts[before + 1], starts[before + 1], f"{base}    pass\n"),),
            "insert pass",
        )
    if "\t" in old or any("\t" in x[: len(x) - len(x.lstrip())] for x in lines):
        edits = tuple(
            Edit(
                starts[i],
                starts[i] + len(x) - len(x.lstrip(" \t")),
                x[: len(x) - len(x.lstrip(" \t"))].expandtabs(4),
            )
            for i, x in enumerate(lines)
            if "\t" in x[: len(x) - len(x.lstrip(" \t"))]
        )
        if edits:
            yield (
                0.8 if "inconsistent use of tabs" in error.message else 0.2,
                edits,
                "spaces instead of tabs",
            )


def _contextual(
    text: str, lines: list[str], starts: list[int], index: int, error: ParseError
) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    """``await`` or ``async for`` in a plain function, ``try`` without handler, defaults before other parameters."""
    if (
        "outside async function" in error.message
        or "'await' outside" in error.message
        or "asynchronous" in error.message
    ):
        for i in range(index, -1, -1):
            match = re.match(r"(\s*)def\b", lines[i])
            if match:
                at = starts[i] + len(match.group(1))
                yield 0.95, (Edit(at, at, "async "),), "an async function"
                break
        for match in re.finditer(r"\bawait\s+|\basync\s+", lines[index]):
            yield (
                0.5,
                (Edit(starts[index] + match.start(), starts[index] + match.end(), ""),),
                f"delete {match.group().strip()}",
            )
    if ("default" in error.message and "argument" in error.message) or "parameter without a default" in error.message:
        for match in re.finditer(r"(\w+)\s*=\s*[^,()]+,\s*(\w+)(?=\s*[,)])", lines[index]):
            first, second = match.group().rsplit(",", 1)
            edit = Edit(
                starts[index] + match.start(),
                starts[index] + match.end(),
                f"{second.strip()}, {first}",
            )
            yield 0.7, (edit,), "exchange the parameters"
            end = starts[index] + match.end()
            yield 0.5, (Edit(end, end, "=None"),), "default None"
    if "expected 'except' or 'finally'" in error.message:
        for i in range(index, -1, -1):
            match = re.match(r"(\s*)try\s*:", lines[i])
            if match:
                yield (
                    0.4,
                    (
                        Edit(
                            starts[index],
                            starts[index],
                            f"{match.group(1)}finally:\n{match.group(1)}    pass\n",
                        ),
                    ),
                    "insert finally",
                )
                break
    if "global declaration" in error.message or "nonlocal" in error.message:
        yield (
            0.5,
            (Edit(starts[index], starts[index + 1], ""),),
            "delete the declaration",
        )


def _conflict(text: str) -> Iterator[tuple[float, tuple[Edit, ...], str]]:
    """Markers of a merge that was not finished: one side or the other throughout."""
    blocks = list(
        re.finditer(
            r"^<<<<<<< .*\n((?:.*\n)*?)(?:\|\|\|\|\|\|\| .*\n(?:.*\n)*?)?=======\n((?:.*\n)*?)>>>>>>> .*(?:\n|$)",
            text,
            re.MULTILINE,
        )
    )
    if blocks:
        for side, name in ((1, "first"), (2, "second")):
            yield (
                0.99 - 0.01 * side,
                tuple(Edit(b.start(), b.end(), b.group(side)) for b in blocks),
                f"keep the {name} side of the merge",
            )


def _unclosed(text: str) -> list[int]:
    """Indices of the lines of brackets that are still open at the end, innermost first."""
    stack: list[tuple[str, int]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.OP and token.string in _PAIRS:
                stack.append((token.string, token.start[0] - 1))
            elif token.type == tokenize.OP and token.string in ")]}" and stack:
                stack.pop()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return [line for _, line in reversed(stack)][:2]
