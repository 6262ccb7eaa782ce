"""Examples in the docstrings of changed functions, run on the patched code: what the author promised and no test may ask for."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_selfheal.judge.outline import changed
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.types import FileChange


def broken_promise(workshop: Workshop, workspace: Workspace, changes: Sequence[FileChange]) -> str:
    """The name of a changed function whose examples (``>>>``) fail in ``workspace``, or nothing. One child, where there are any."""
    names: dict[str, frozenset[str]] = {}
    for change in changes:
        if not change.before or not change.after or not change.path.endswith(".py") or b">>>" not in change.after:
            continue
        if blocks := changed(change.before, change.after).blocks:
            names[change.path] = blocks
    if not names:
        return ""
    paths = [str(workspace.seen_top / path) for path in names]
    run = run_tests(workshop, workspace, None, arguments=["--doctest-modules", *paths])
    for nodeid, outcome in run.outcomes.items():
        file, _, dotted = nodeid.partition("::")
        touched = names.get(workshop.project.from_top(file), frozenset())
        name = next((name for name in sorted(touched) if dotted.endswith(f".{name}")), None)
        if name is not None and outcome == "failed":
            return name
    return ""
