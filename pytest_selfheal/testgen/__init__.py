"""Tests for changed logic that earn their place (``--generate-tests``).

:func:`generate` is the only door. With healed causes, each one's patch gets regression tests; without any, functions that
changed since ``--selfheal-base`` get tests as a patch of new files. The code under test is never edited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_selfheal.types import Outcome

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop
    from pytest_selfheal.record.run_dir import Run
    from pytest_selfheal.testgen.model import Asker


@dataclass(frozen=True)
class Generated:
    """What came of it."""

    outcomes: tuple[Outcome, ...]
    """Those given, the healed ones with their tests in the patch."""
    summary: dict[str, Any]
    """For :attr:`pytest_selfheal.types.RunReport.test_generation`; JSON data."""


def generate(workshop: Workshop, outcomes: tuple[Outcome, ...], run: Run, asker: Asker | None = None) -> Generated:
    """Generate, judge and write tests. Patch files in the run's folder are rewritten where tests were added.

    ``asker``: the model that proposes tests where exploring finds none.
    """
    from pytest_selfheal.testgen.healed import all_healed

    if workshop.settings.selfheal:
        return _with_usage(all_healed(workshop, outcomes, run, asker), asker)
    from pytest_selfheal.testgen.changed import all_changed

    return _with_usage(all_changed(workshop, outcomes, run, asker), asker)


def _with_usage(generated: Generated, asker: Asker | None) -> Generated:
    """What the model's proposals cost, in the summary."""
    if asker is None:
        return generated
    usage = asker.usage
    spent = {"tokens": usage.prompt_tokens + usage.completion_tokens, "cost_usd": usage.cost_usd}
    return Generated(generated.outcomes, {**generated.summary, **spent})
