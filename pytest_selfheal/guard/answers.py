"""Answers written down: new code that holds the very results which the failing tests expect, however it picks among them.

:mod:`.special_casing` looks for the test's *inputs*. A table that is reached by arithmetic (``[13, 34][(n - 7) // 2]``),
a ladder of thresholds or a loop over pairs names none; the answers have to stand somewhere all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Function, Module, dump, is_stub
from pytest_selfheal.guard.testfacts import canonical, is_telling, literal

_MANY = 2
_LONG_TEXT = 14
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def check(facts: Facts) -> str | None:
    groups = [{answer for answer in group if _is_no_mere_word(answer)} for group in facts.tests.answer_groups]
    groups = [group for group in groups if len(group) >= _MANY]
    if not groups or writes_a_stub(facts):
        return None
    new = {finding.key: finding.words for finding in facts.new(_literals)}
    for wanted in groups:
        met = {key: words for key, words in new.items() if key in wanted}
        if len(met) >= _MANY and len(met) * 2 >= len(wanted):
            return f"new code spells out {len(met)} of the {len(wanted)} results that the failing test expects ({_some(met)})"
    return None


def caution(facts: Facts) -> str | None:
    if writes_a_stub(facts):
        return None
    found = [finding for finding in facts.new(_given) if finding.key in facts.tests.answers]
    if found:
        return f"new code gives the result that the failing test expects as a fixed value ({found[0].words[:60]})"
    return None


def _is_no_mere_word(answer: str) -> bool:
    """``'Yes'`` and ``'No'`` stand in honest code."""
    return answer[:1] not in "'\"b" or len(answer) > _LONG_TEXT


def writes_a_stub(facts: Facts) -> bool:
    """Whether bodies are written from nothing, and nothing else changes: that needs words and numbers, which the tests may
    well expect. (A stub that is filled beside another change is no excuse for that one.)"""
    stubs = 0
    for source in facts.sources:
        if source.before is None or source.after is None:
            continue
        after = dict(source.after.functions)
        for name, old in source.before.functions:
            if name not in after or dump(old) == dump(after[name]):
                continue
            if not is_stub(old):
                return False
            stubs += not is_stub(after[name])
    return stubs > 0 or all(source.before is None for source in facts.sources)


def _literals(module: Module) -> Iterator[Finding]:
    """Every plain value of the code, alone or in a collection, and the numbers in texts that hold nothing else of note."""
    documentation = {
        id(node.value) for node in module.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in module.nodes:
        if not isinstance(node, ast.expr) or id(node) in documentation:
            continue
        text = literal(node)
        if text is not None and is_telling(text):
            yield Finding(text, text, node.lineno)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for number in _NUMBER.findall(node.value):
                yield Finding(_canonical_number(number), number, node.lineno)


def _canonical_number(text: str) -> str:
    return canonical(float(text)) if "." in text else canonical(int(text)) if len(text) < 16 else text


def _given(module: Module) -> Iterator[Finding]:
    """Numbers and collections that are returned as they stand. (Words are honest results more often than not.)"""
    for node in module.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            branches = [node.value]
            while branches:
                value = branches.pop()
                if isinstance(value, ast.IfExp):
                    branches += [value.body, value.orelse]
                elif (text := literal(value)) is not None and text[:1] not in "'\"b" and _in_function(module, node):
                    yield Finding(text, text, node.lineno)


def _in_function(module: Module, node: ast.AST) -> bool:
    function = module.enclosing(node)
    return isinstance(function, Function)


def _some(met: dict[str, str]) -> str:
    return ", ".join(sorted(met.values())[:3])
