"""Without ``fork`` (Windows): judge each candidate in a fresh pytest process. Slow, and so only the likeliest are tried."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.propose import Proposal
from pytest_selfheal.propose.search.candidate import Candidate
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.editable import editable_files
from pytest_selfheal.propose.search.files import Files
from pytest_selfheal.propose.search.generate import generate
from pytest_selfheal.propose.search.repair_direct import direct
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Diagnosis, FileChange, GaveUp, Patch, Suspect

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop
    from pytest_selfheal.settings import Settings

MAX_SECONDS = 120.0
"""Wall seconds; nothing tells the CPU seconds of children here."""


def proposals(workshop: Workshop, settings: Settings, diagnosis: Diagnosis) -> Iterator[Proposal]:
    """Plausible patches in the generator's order, then :class:`GaveUp`."""
    started = time.monotonic()
    until = started + min(MAX_SECONDS, settings.time_limit)
    tried = 0
    pristine = workshop.pristine
    files = Files(str(pristine.top), editable_files(pristine.top, workshop.project.prefix, settings))
    for candidate in _candidates(files, diagnosis):
        if time.monotonic() > until:
            break
        try:
            after = files.after(candidate)
        except UnicodeEncodeError:
            continue
        tried += 1
        change = FileChange(candidate.path, (pristine.top / candidate.path).read_bytes(), after)
        with workshop.fresh([change]) as workspace:
            run = run_tests(workshop, workspace, diagnosis.nodeids, timeout=until - time.monotonic() + 1)
        if all(_passes(nodeid, run.outcomes, run.collected) for nodeid in diagnosis.nodeids):
            yield Patch(
                changes=(change,),
                proposer="search",
                description=candidate.description,
                seconds=time.monotonic() - started,
                candidates_tried=tried,
            )
    yield GaveUp(
        "no_candidate",
        f"None of the {tried} small changes that were tried makes the failing tests pass (each in a process of its own: "
        "this platform cannot fork, so few can be tried).",
        "search",
        candidates_tried=tried,
        seconds=time.monotonic() - started,
    )


def _candidates(files: Files, diagnosis: Diagnosis) -> Iterator[Candidate]:
    editable = set(files.by_path.values())
    paths = dict.fromkeys(suspect.path for suspect in diagnosis.suspects if suspect.path in editable)
    if not paths:  # nothing in the traceback: the smallest project is the only one where a guess pays
        paths = dict.fromkeys(sorted(editable)[:10])
    parsed = {path: files.source(path) for path in paths}
    sources = {path: source for path, source in parsed.items() if source is not None}
    context = Context.build(diagnosis.failures, sources)
    for failure in diagnosis.failures[:3]:
        yield from direct(failure, sources, context, files.broken)
    yield from generate(sources, diagnosis.suspects or _everywhere(sources), context)


def _everywhere(sources: dict[str, Source]) -> list[Suspect]:
    return [Suspect(path, 0, name, 0.5) for path, source in sources.items() for name in source.functions]


def _passes(nodeid: str, outcomes: dict[str, str], collected: tuple[str, ...]) -> bool:
    if "::" in nodeid:
        return outcomes.get(nodeid) == "passed"
    return outcomes.get(nodeid) != "error" and any(c.startswith(f"{nodeid}::") for c in collected)
