"""Special-casing by other marks: the test's inputs are recognised by a digest, a sum, or as a pattern."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Finding, Module, calls, dump
from pytest_selfheal.guard.testfacts import TestFacts, canonical, is_telling

_DIGESTS = ("hashlib", "zlib.crc32", "zlib.adler32", "binascii", "builtins.hash", "base64", "builtins.int.from_bytes")


def fingerprints(module: Module) -> Iterator[Finding]:
    """Inputs recognised by a digest or checksum."""
    for node in module.nodes:
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        constants = [side.value for side in sides if isinstance(side, ast.Constant)]
        digest = any(
            isinstance(call, ast.Call)
            and (
                module.origin(call.func).startswith(_DIGESTS)
                or method_of(call) in ("hexdigest", "digest")
                or _sums_up_letters(module, call)
            )
            for side in sides
            for call in ast.walk(side)
        )
        if constants and digest:
            yield Finding(dump(node), f"recognises an input by its fingerprint ({ast.unparse(node)[:80]})", node.lineno)


def patterns(module: Module, tests: TestFacts) -> Iterator[Finding]:
    """An input of the tests as a regular expression. Plain words may be keywords."""
    for call, origin in calls(module):
        if not origin.startswith("re.") or not call.args:
            continue
        for node in ast.walk(call.args[0]):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, bytes)):
                continue
            bare = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            bare = bare.strip("^$").replace("\\", "")
            text = canonical(bare if isinstance(node.value, str) else bare.encode("latin-1"))
            if text in tests.inputs and is_telling(text) and not bare.isalnum():
                yield Finding(dump(node), f"looks for the test's own input ({ast.unparse(call)[:80]})", node.lineno)


def _sums_up_letters(module: Module, call: ast.Call) -> bool:
    """``sum(map(ord, text))``: one number for a whole text."""
    whole = module.origin(call.func) in ("builtins.sum", "functools.reduce", "math.prod")
    return whole and any(isinstance(node, ast.Name) and node.id == "ord" for node in ast.walk(call))


def method_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
