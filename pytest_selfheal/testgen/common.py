"""What both uses share: exploring in a child, and writing and judging what was found until all that is left holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop, Workspace
from pytest_selfheal.testgen import formatter
from pytest_selfheal.testgen.job import Case, Found, Job, unpack
from pytest_selfheal.testgen.judge import judge, refused
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.write import Subject, write
from pytest_selfheal.types import FileChange

PLUGIN = "pytest_selfheal.testgen.inside.plugin"
ROUNDS = 3
"""So often a file is written anew without the tests that did not hold."""


@dataclass
class Kept:
    """New test files, and what each target got."""

    files: tuple[FileChange, ...] = ()
    tests: dict[str, list[str]] = field(default_factory=dict)
    """Target's label → nodeids of its tests, relative to rootdir."""
    dropped: dict[str, dict[str, str]] = field(default_factory=dict)
    """Target's label → test → why it was dropped."""


def code_files(workshop: Workshop, workspace: Workspace) -> tuple[str, ...]:
    """The project's Python files that are not tests, relative to top."""
    project = workshop.project
    names = (path.relative_to(workspace.top).as_posix() for path in sorted(workspace.top.rglob("*.py")))
    return tuple(name for name in names if not project.is_test_file(name))


def explore(
    workshop: Workshop, workspace: Workspace, job: Job, nodeids: Sequence[str], timeout: float | None = None
) -> list[Found]:
    """Run tests in ``workspace`` under watch, then explore the job's targets; one answer for each target."""
    answers: list[Found] = []

    def on_message(message: dict[str, Any]) -> None:
        if "found" in message:
            answers.append(unpack(message["found"]))

    result = run_tests(
        workshop, workspace, nodeids, plugins=[PLUGIN], config=job.to_json(), on_message=on_message, timeout=timeout
    )
    if result.outside:
        answers = [Found(target, reason="the code is imported from outside the copy") for target in job.targets]
    known = {found.target.label for found in answers}
    missing = [target for target in job.targets if target.label not in known]
    last = next(
        (line.strip()[:160] for line in reversed(result.output.splitlines()) if line.strip()), "it said nothing"
    )
    why = "exploring did not end in time" if result.timed_out else f"the exploring process ended early ({last})"
    return answers + [Found(target, reason=why) for target in missing]


class Settled:
    """Writes and judges the tests of one patch, dropping what does not hold."""

    def __init__(
        self,
        workshop: Workshop,
        places: Places,
        patch: Sequence[FileChange],
        others: Sequence[str],
        reason: Callable[[Found], tuple[str, str]],
        before: bool,
    ) -> None:
        self.workshop = workshop
        self.places = places
        self.patch = patch
        self.others = others
        self.reason = reason
        self.before = before
        self.kept = Kept()

    def settle(self, found: Sequence[Found], near: str = "") -> Kept:
        """All files for the given targets, one for each of their modules."""
        by_module: dict[str, list[Found]] = {}
        for one in found:
            if one.cases:
                by_module.setdefault(one.target.path, []).append(one)
        paths = {path: self.places.file_for(path, near or self.places.near(path)) for path in by_module}
        left = {one.target.label: list(one.cases) for one in found if one.cases}
        for _ in range(ROUNDS):
            files, owners = self._written(by_module, paths, left)
            if not files:
                break
            if not self._judged(files, owners, left):
                continue
            self.kept.files = tuple(files)
            for nodeid, (label, _case) in owners.items():
                self.kept.tests.setdefault(label, []).append(nodeid)
            break
        return self.kept

    def _written(
        self, by_module: dict[str, list[Found]], paths: dict[str, str], left: dict[str, list[Case]]
    ) -> tuple[list[FileChange], dict[str, tuple[str, Case]]]:
        files: list[FileChange] = []
        owners: dict[str, tuple[str, Case]] = {}
        top = self.workshop.pristine.top
        width = formatter.line_width(top)
        for module, group in by_module.items():
            subjects = [
                Subject(one.target.qualname, self.reason(one)[0], tuple(left[one.target.label]), self.reason(one)[1])
                for one in group
                if left[one.target.label]
            ]
            if not subjects:
                continue
            shown = PurePosixPath(module).stem if "/" not in module else module
            written = write(shown, subjects, self._is_own, self.places.imported_as, width)
            text = formatter.formatted(written.text, paths[module], top)
            if why := refused(text, {}):
                for one in group:
                    self._drop(one.target.label, paths[module], why, left)
                continue
            files.append(FileChange(paths[module], None, text.encode()))
            prefix = self.workshop.project.prefix
            file = paths[module].removeprefix(f"{prefix}/") if prefix else paths[module]
            labels = {id(case): one.target.label for one in group for case in left[one.target.label]}
            owners.update({f"{file}::{name}": (labels[id(case)], case) for name, case in written.tests.items()})
        return files, owners

    def _drop(self, label: str, test: str, why: str, left: dict[str, list[Case]]) -> None:
        self.kept.dropped.setdefault(label, {})[test] = why
        left[label] = []

    def _judged(
        self, files: Sequence[FileChange], owners: dict[str, tuple[str, Case]], left: dict[str, list[Case]]
    ) -> bool:
        """Whether all tests hold; those that do not are taken from ``left``."""
        prefix = self.workshop.project.prefix
        verdict = judge(self.workshop, self.patch, files, self.others, before=self.before, prefix=prefix)
        good = True
        for nodeid, (label, case) in owners.items():
            why = verdict.broken or verdict.failed.get(nodeid, "")
            if not why and nodeid not in verdict.passed:
                why = "it was not collected"
            if not why and self.before and case.fails_before and nodeid not in verdict.fails_before:
                why = "it passes on the code before the repair"
            if why:
                good = False
                self.kept.dropped.setdefault(label, {})[nodeid] = why
                left[label] = [other for other in left[label] if other is not case]
        if self.before:
            # A target whose tests all pass on the old code has no regression test: what else it pins is not asked for.
            for label in left:
                if not any(case.fails_before for case in left[label]):
                    good = good and not left[label]
                    left[label] = []
        return good

    def _is_own(self, package: str) -> bool:
        top = self.workshop.pristine.top
        roots = [top, self.workshop.pristine.rootdir, top / "src", self.workshop.pristine.rootdir / "src", top / "lib"]
        return any((root / package).is_dir() or (root / f"{package}.py").is_file() for root in roots)


def marked(found: Iterable[Found]) -> list[Found]:
    """Cases of code whose old version could not be run beside it: each has to prove in the judging that it fails there."""
    return [replace(one, cases=[replace(case, fails_before=True) for case in one.cases]) for one in found]


def read(top: Path, name: str) -> str | None:
    """A source file's text, ``None`` when it cannot be read."""
    from pytest_selfheal.propose.search.files import decode

    try:
        return decode((top / name).read_bytes())
    except (OSError, SyntaxError, ValueError, LookupError):
        return None
