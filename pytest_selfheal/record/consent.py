"""After the run: ``--selfheal-review`` asks, ``--selfheal-apply`` writes; with both, only what was agreed to is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.record.journal import Result, apply_patches
from pytest_selfheal.record.report import finish
from pytest_selfheal.record.stored import load_run

if TYPE_CHECKING:
    from pytest_selfheal.record.review import Again
    from pytest_selfheal.record.run_dir import Run
    from pytest_selfheal.settings import Settings
    from pytest_selfheal.types import RunReport


def hand_over(run: Run, report: RunReport, settings: Settings, config: Any, again: Again | None = None) -> RunReport:
    """Ask and write as the settings say; what came of it goes into the report's notes, for the terminal.

    ``again`` makes another patch of a cause whose patch a person rejected with a reason. Never raises for a patch that does not fit: the run's result stands.
    """
    stored = load_run(run.folder)
    if not report.healed:
        return report
    if settings.review:
        from pytest_selfheal.record.review import review_in_run

        reviewed = review_in_run(stored, report, config, again)
        return finish(run, reviewed) if reviewed.outcomes != report.outcomes else reviewed
    try:
        result = apply_patches(stored, stored.select([]))
    except SelfhealError as error:
        return with_notes(report, f"Not applied: {error}")
    run.event("applied", ids=sorted(result.done), refused=result.refused)
    return with_notes(report, *told(result))


def refusal(settings: Settings, config: Any) -> str:
    """Why this run cannot begin: questions are asked for and nobody can answer them. Empty: it can.

    Told before the first second is spent on healing. Standard input and output must not be captured any more.
    """
    if not settings.review:
        return ""
    from pytest_selfheal.record.review import has_terminal

    if has_terminal() and (config is None or config.pluginmanager.hasplugin("terminalreporter")):
        return ""
    return (
        "nothing was healed: --selfheal-review asks about each patch and needs a terminal (and is never asked in CI). "
        "Without it, patches are written beside the tree; 'selfheal review' asks about them later."
    )


def told(result: Result) -> list[str]:
    """What was applied, merged and refused, a sentence each."""
    sentences = []
    if result.done:
        sentences += [f"Applied {id} to {', '.join(paths)}" for id, paths in result.done.items()]
        sentences.append("Next: run the tests.")
    if result.merged:
        sentences.append(f"Merged with later edits: {', '.join(result.merged)}; run the tests.")
    if result.already:
        sentences.append(f"There already: {', '.join(result.already)}.")
    sentences += [f"Not applied: {id}: {why}" for id, why in result.refused.items()]
    return sentences


def with_notes(report: RunReport, *sentences: str) -> RunReport:
    return replace(report, notes=(*report.notes, *sentences))
