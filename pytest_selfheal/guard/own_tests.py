"""Tests that live beside the code: test functions in source files and examples in docstrings stay as they are."""

from __future__ import annotations

import ast
import contextlib
import doctest
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Function, Module, dump


def check(facts: Facts) -> str | None:
    for source in facts.sources:
        if source.after is None:
            continue
        if source.before is None:
            if not source.new_file:
                continue
            if any(_tests(source.after)):
                return f"{source.path} would add tests; only --generate-tests does that"
            continue
        before, after = dict(_tests(source.before)), dict(_tests(source.after))
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name) and not _is_called_by_tests(facts, name):
                return f"{source.path} would change the test {name}"
        old, new = dict(_examples(source.before)), dict(_examples(source.after))
        for name in old:
            if name in new and not _is_kept(old[name], new[name]):
                return f"{source.path} would change the docstring examples of {name}, which are tests too"
            if name not in new and _still_there(source.after, name):
                return f"{source.path} would remove the docstring examples of {name}, which are tests too"
    return None


def _is_called_by_tests(facts: Facts, name: str) -> bool:
    """Code under test that happens to be called ``test_…``."""
    return name not in facts.tests.names and facts.tests.mentions(f"{name}(")


def _tests(module: Module) -> Iterator[tuple[str, str]]:
    for node in module.nodes:
        if (isinstance(node, Function) and node.name.startswith("test_")) or (
            isinstance(node, ast.ClassDef) and node.name.startswith("Test") and any(_tests_in(node))
        ):
            yield node.name, dump(node)


def _tests_in(node: ast.ClassDef) -> Iterator[Function]:
    return (child for child in node.body if isinstance(child, Function) and child.name.startswith("test"))


def _examples(module: Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name → lines of the examples (prompts and expected output) in each docstring."""
    named: list[tuple[str, ast.Module | ast.ClassDef | Function]] = [("the module", module.tree)]
    named += module.functions
    named += [(node.name, node) for node in module.nodes if isinstance(node, ast.ClassDef)]
    for name, node in named:
        text = ast.get_docstring(node) or ""
        if ">>>" in text:
            with contextlib.suppress(ValueError):  # not examples after all
                found = doctest.DocTestParser().get_examples(text)
                yield name, tuple(f"{example.source}{example.want}" for example in found)


def _is_kept(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Every line of the old examples is still there, in order; more may have come."""
    remaining = iter(new)
    return all(line in remaining for line in old)


def _still_there(module: Module, name: str) -> bool:
    return name == "the module" or name in module.defined or name in dict(module.functions)
