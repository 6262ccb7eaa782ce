"""Helper of the operators' tests: what a family makes of a piece of code."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from pytest_selfheal.propose.search.candidate import apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators import FAMILIES
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure, Raised


def variants(
    family: str, before: str, tests: str = "", function: str = "", failures: Sequence[Failure] = ()
) -> list[str]:
    """Every text that a family proposes for the first function (or the named one)."""
    text = textwrap.dedent(before).lstrip("\n")
    source = Source("code.py", text)
    context = Context.build(failures, {"code.py": source}, [textwrap.dedent(tests)] if tests else [])
    region = source.region(function or next(iter(source.functions), "<module>"))
    assert region is not None
    propose = next(f.propose for f in FAMILIES if f.name == family)
    drafts = list(propose(region, context))
    for draft in drafts:
        assert draft.key == family or draft.key.startswith(family + "/"), draft.key
    return [apply(text, draft.edits) for draft in drafts]


def check(
    family: str, before: str, after: str, tests: str = "", function: str = "", failures: Sequence[Failure] = ()
) -> None:
    """The family turns ``before`` into exactly ``after``, and all else that it proposes is Python."""
    found = variants(family, before, tests, function, failures)
    wanted = textwrap.dedent(after).lstrip("\n")
    assert wanted in found, f"{family} made {len(found)} variants, none of them\n{wanted}\nfirst:\n{found[:3]}"
    broken = [text for text in found if not _parses(text)]
    assert len(broken) <= len(found) // 50, broken[0]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def failed(exception: str, message: str, wanted: tuple[str, ...] = ()) -> Failure:
    """A failure with one exception."""
    return Failure("test_code.py::test", "call", (Raised(exception, message),), expected_exception=wanted)
