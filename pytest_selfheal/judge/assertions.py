"""How many assertions a test executes, before and after a patch: a right fix may run fewer, a wrong one often does.

In a child, pytest's rewritten ``assert`` statements are counted where they have passed; nothing of their operands is
written out for it. In the parent, a test that asserts less than it did lowers the confidence of a patch, with the reason.
A signal, never a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop
    from pytest_selfheal.types import Failure

COUNTING: Final = ("-o", "enable_assertion_pass_hook=true")
"""Arguments of a child that counts."""
MAX_SECONDS = 5.0
"""Other tests that take longer together are not run once more for their count."""


class Counter:
    """Counts the assertions that pass in this process. Make it before the judge's functions are looked at."""

    def __init__(self) -> None:
        self.count: int | None = None
        """``None`` where pytest offers nothing to count by."""
        try:
            from _pytest.assertion import rewrite

            asked = rewrite._check_if_assertion_pass_impl
        except (ImportError, AttributeError):
            return
        self.count = 0

        def count_and_ask() -> bool:
            self.count = (self.count or 0) + 1
            return bool(asked())

        rewrite._check_if_assertion_pass_impl = count_and_ask

    def start(self) -> None:
        """A test begins."""
        if self.count is not None:
            self.count = 0


def fewer(
    failures: Iterable[Failure], before: Mapping[str, int], after: Mapping[str, int], others: Sequence[str]
) -> str:
    """A sentence about the test that asserts less than before the patch, or nothing.

    ``before`` counts what passed up to the failure. A failing test's own assertion has to come on top of that; one of
    ``others``, which passed before, has to execute as many as it did.
    """
    wanted: dict[str, int] = {}
    for failure in failures:
        if failure.nodeid in before:
            asserted = failure.phase == "call" and failure.exception == "AssertionError" and _is_plain(failure.message)
            wanted[failure.nodeid] = before[failure.nodeid] + asserted
    wanted.update({nodeid: before[nodeid] for nodeid in others if nodeid in before})
    for nodeid, count in wanted.items():
        if nodeid in after and after[nodeid] < count:
            return f"{nodeid} executes {after[nodeid]} assertions instead of {count}"
    return ""


def _is_plain(message: str) -> bool:
    """Of an ``assert`` statement without a message of its own: others may be raised by a helper."""
    return message.lstrip().startswith("assert ")


def unpatched(workshop: Workshop, nodeids: Sequence[str]) -> dict[str, int]:
    """Counts of passing tests in the pristine copy, remembered for the run; empty where that would take long."""
    known: dict[str, Any] = workshop.assertions
    missing = [nodeid for nodeid in nodeids if nodeid not in known]
    if sum(workshop.project.durations.get(nodeid, 0.0) for nodeid in missing) > MAX_SECONDS:
        return {}
    if missing:
        from pytest_selfheal.judge.run import run_tests

        run = run_tests(workshop, workshop.pristine, missing, arguments=COUNTING)
        known.update({nodeid: run.assertions.get(nodeid, 0) for nodeid in missing})
    return {nodeid: known[nodeid] for nodeid in nodeids}
