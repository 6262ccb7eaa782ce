"""Run the embedded engine on a project that is written on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from project_helpers import workshop_at

from pytest_selfheal.diagnose import diagnose
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.propose import Proposal
from pytest_selfheal.propose.search.proposer import SearchProposer
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import GaveUp, Likely, Patch


def proposals(
    folder: Path, files: Mapping[str, str | bytes], count: int = 1, settings: Settings | None = None, only: str = ""
) -> list[Proposal]:
    """The engine's first ``count`` proposals for the failures (of the test ``only``) of a project with these files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    settings = settings or Settings(sandbox="process", effort="fast")
    limited = "timeout" in str(files.get("pytest.ini"))
    with workshop_at(folder, settings, import_roots=(folder.resolve(),), project_timeout=limited) as workshop:
        first = run_tests(workshop, workshop.pristine, None)
        project = workshop.project
        object.__setattr__(project, "outcomes", first.outcomes)
        object.__setattr__(project, "durations", first.durations)
        assert first.failures, first.output
        diagnosis = diagnose(
            1,
            [failure for failure in first.failures if failure.nodeid.endswith(only)],
            root=str(workshop.pristine.top),
            rootdir=str(workshop.pristine.rootdir),
            is_test_file=lambda path: path.rpartition("/")[2].startswith(("test_", "conftest")),
        )
        found: list[Proposal] = []
        engine = SearchProposer(workshop, settings).propose(diagnosis, [])
        for proposal in engine:
            if isinstance(proposal, Likely):
                continue
            found.append(proposal)
            if len(found) == count:
                break
        engine.close()  # type: ignore[attr-defined]
    return found


def patch(folder: Path, files: Mapping[str, str | bytes], settings: Settings | None = None, only: str = "") -> Patch:
    """The engine's first proposal, which has to be a patch."""
    (first,) = proposals(folder, files, settings=settings, only=only)
    assert isinstance(first, Patch), first
    return first


def gave_up(folder: Path, files: Mapping[str, str | bytes], settings: Settings | None = None) -> GaveUp:
    (first,) = proposals(folder, files, settings=settings)
    assert isinstance(first, GaveUp), first
    return first


def after(found: Patch) -> str:
    """The patched file's text."""
    (change,) = found.changes
    assert change.after is not None
    return change.after.decode()
