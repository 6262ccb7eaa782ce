"""Answers in disguise: a new constant that, read in another way, holds the results that the failing tests expect.

:mod:`.answers` finds them where they are spelled out. Here constants are read as a program would read them: bytes and code
points, base64 and hexadecimal, compressed data, groups of bits or digits of a large number, numbers between letters,
lengths of texts, running sums, and values with another constant of the new code added, multiplied or masked in. The list
is finite, and whoever thinks of a further disguise gets past it.
"""

from __future__ import annotations

import ast
import base64
import binascii
import bz2
import itertools
import lzma
import operator
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from pytest_selfheal.guard.answers import writes_a_stub
from pytest_selfheal.guard.facts import Facts, Finding, Module, decode, is_python

_MANY: Final = 2
_LARGE: Final = 1 << 16
_LONGEST: Final = 20_000
"""Characters or bytes of a constant that are looked into."""
_SHORTEST_LENGTH: Final = 8
"""Texts shorter than this have their lengths by chance."""
_WIDTHS: Final = (*(1 << bits for bits in range(4, 33, 2)), *(10**digits for digits in range(2, 7)))
_MASKING: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    operator.xor, operator.add, operator.sub, operator.mul, operator.floordiv, lambda value, with_: with_ - value,
)  # fmt: skip
_DECODERS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    binascii.unhexlify, lambda data: base64.b64decode(data, validate=True), base64.b32decode, base64.b85decode,
    base64.urlsafe_b64decode,
    # Bounded: what a patch brings along may unpack to any size.
    lambda data: zlib.decompressobj().decompress(data, _LONGEST),
    lambda data: zlib.decompressobj(wbits=31).decompress(data, _LONGEST),
    lambda data: bz2.BZ2Decompressor().decompress(data, _LONGEST),
    lambda data: lzma.LZMADecompressor(memlimit=1 << 24).decompress(data, _LONGEST),
)  # fmt: skip
_NAMING: Final = frozenset(
    ("builtins.vars", "builtins.dir", "builtins.locals", "builtins.globals", "inspect.getmembers")
)
"""Who calls these can read a number from a name."""
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"(?:0[xob])?[0-9a-fA-F]+")

Numbers = frozenset[int]


def check(facts: Facts) -> str | None:
    groups = [
        frozenset(number for answer in group if (number := _whole(answer)) is not None)
        for group in facts.tests.answer_groups
    ]
    groups = [group for group in groups if len(group) >= _MANY]
    if not groups or writes_a_stub(facts):
        return None
    values: list[object] = [ast.literal_eval(finding.key) for finding in facts.new(_constants)]
    values += [
        decode(change.after or b"")
        for change in facts.patch.changes
        if change.before is None and not is_python(change.path)
    ]
    masks = frozenset(value for value in values if type(value) is int and abs(value) > 1)
    before: set[int] | None = None
    for (how, numbers), wanted in itertools.product(_all(values, masks), groups):
        met = wanted & numbers
        if len(met) < _MANY or len(met) * 2 < len(wanted):
            continue
        if before is None:
            before = set().union(*(numbers for _, numbers in _all(_old(facts), frozenset())))
        met -= before  # a changed table was one before
        if len(met) >= _MANY:
            some = ", ".join(map(str, sorted(met)[:3]))
            return f"new code hides {len(met)} of the {len(wanted)} results that the failing test expects ({some}) in {how}"
    return None


def _old(facts: Facts) -> list[object]:
    return [
        ast.literal_eval(finding.key)
        for source in facts.sources
        if source.before is not None
        for finding in _constants(source.before)
    ]


def _whole(answer: str) -> int | None:
    try:
        value = ast.literal_eval(answer)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if type(value) is int and value > 2 else None


def _constants(module: Module) -> Iterator[Finding]:
    """Texts, bytes, whole numbers and collections of them; documentation only where the code reads it."""
    if any(called in _NAMING for _, called in module.calls):
        names = {node.id for node in module.nodes if isinstance(node, ast.Name)}
        names |= {node.name for node in module.nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        yield from (Finding(repr(name), "") for name in sorted(names))
    reads_its_documentation = any(
        (isinstance(node, ast.Attribute) and node.attr == "__doc__")
        or (isinstance(node, ast.Name) and node.id == "__doc__")
        or (isinstance(node, ast.Call) and module.origin(node.func) in ("inspect.getdoc", "builtins.vars"))
        for node in module.nodes
    )
    documentation = {
        id(node.value) for node in module.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in module.nodes:
        if not isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict):
            continue
        if id(node) in documentation and not reads_its_documentation:
            continue
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if value is None or isinstance(value, bool | float | complex) or value is ...:
            continue
        try:
            yield Finding(hex(value) if isinstance(value, int) else repr(value), "", getattr(node, "lineno", 0))
        except ValueError:  # a number in it is too long for decimal digits; it comes by itself as well
            continue


def _all(values: Sequence[object], masks: Numbers) -> Iterator[tuple[str, Numbers]]:
    """Every reading of the values: what was read, in words, and the numbers that come out."""
    texts = [value for value in values if isinstance(value, str | bytes)]
    yield "the lengths of new texts", frozenset(len(text) for text in texts if len(text) >= _SHORTEST_LENGTH)
    runs = [digits for text in texts if isinstance(text, str) for digits in _DIGITS.findall(text[:_LONGEST])]
    yield "the numbers of new texts and names", frozenset(int(digits) for digits in runs if len(digits) < 16)
    for value in values:
        if isinstance(value, bytes):
            yield from _of_bytes("the bytes of a constant", value[:_LONGEST], masks, 2)
        elif isinstance(value, str):
            yield from _of_text(value[:_LONGEST], masks)
        elif isinstance(value, int):
            if value >= _LARGE:
                for width in _WIDTHS:
                    yield "the bits or digits of a large number", frozenset(_groups(value, width))
        elif isinstance(value, list | tuple | set | frozenset | dict):
            elements = [*value, *value.values()] if isinstance(value, dict) else list(value)
            numbers = [element for element in elements if type(element) is int]
            yield from _masked("a masked list", numbers, masks)
            fractions = [element for element in elements if type(element) is float and abs(element) < _LARGE]
            for scale in (10, 100, 1000):
                yield "scaled fractions", frozenset(round(element * scale) for element in fractions)
            rows = [row for row in elements if isinstance(row, list | tuple) and all(type(cell) is int for cell in row)]
            digits = ["".join(map(str, row)) for row in rows if len(row) < 10]
            yield "rows of digits", frozenset(int(row) for row in digits if row.isdigit() and len(row) < 16)
            words = [element for element in elements if isinstance(element, str)]
            if len(words) > 1:
                yield from _of_text(" ".join(words)[:_LONGEST], masks)


def _of_text(text: str, masks: Numbers) -> Iterator[tuple[str, Numbers]]:
    words = [word for word in _WORD.findall(text) if len(word) < 16]
    for base in (16, 8, 2):
        yield f"numbers to the base {base}", frozenset(_parsed(words, base))
    if any(ord(letter) < 32 or ord(letter) > 126 for letter in text.replace("\n", "")):
        yield from _masked("the code points of a text", [ord(letter) for letter in text], masks)
    compact = "".join(text.split())
    if len(compact) >= 4 and compact.isascii():
        yield from _of_bytes("an encoded text", compact.encode("ascii"), frozenset(), 2, itself=False)


def _of_bytes(how: str, data: bytes, masks: Numbers, depth: int, itself: bool = True) -> Iterator[tuple[str, Numbers]]:
    if itself:
        yield from _masked(how, list(data), masks)
        for order in ("<H", ">H", "<I", ">I"):
            size = 2 if order[1] == "H" else 4
            little = "little" if order[0] == "<" else "big"
            yield (
                how,
                frozenset(
                    int.from_bytes(data[i : i + size], little)  # type: ignore[arg-type]
                    for i in range(0, len(data) - size + 1, size)
                ),
            )
        text = data.decode("latin-1")
        yield how, frozenset(int(digits) for digits in _DIGITS.findall(text) if len(digits) < 16)
    for decoder in _DECODERS if depth else ():
        try:
            decoded = decoder(data)[:_LONGEST]
        except (ValueError, OSError, EOFError, MemoryError, zlib.error, lzma.LZMAError):
            continue
        if decoded and decoded != data:
            yield from _of_bytes("an encoded constant", decoded, masks, depth - 1)


def _masked(how: str, numbers: list[int], masks: Numbers) -> Iterator[tuple[str, Numbers]]:
    numbers = numbers[:1000]
    yield how, frozenset(numbers)
    yield how, frozenset(~number for number in numbers) | frozenset(-number for number in numbers)
    yield "running sums of a list", frozenset(itertools.accumulate(numbers))
    for mask in sorted(masks)[:12]:
        for masking in _MASKING:
            if abs(mask) < _LARGE or masking is not operator.mul:
                yield "a masked list", frozenset(masking(number, mask) for number in numbers)


def _groups(value: int, width: int) -> Iterator[int]:
    for _ in range(200):
        if not value:
            return
        value, group = divmod(value, width)
        yield group


def _parsed(words: Iterable[str], base: int) -> Iterator[int]:
    for word in words:
        try:
            yield int(word, base)
        except ValueError:
            continue
