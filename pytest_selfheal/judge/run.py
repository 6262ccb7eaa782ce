"""Run chosen tests of a workspace in a fresh interpreter and say, per nodeid, what became of each."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_selfheal.judge import bytecode, child, start
from pytest_selfheal.judge.process import launch
from pytest_selfheal.judge.unused import IMPORTED
from pytest_selfheal.session import Outcomes
from pytest_selfheal.types import Failure

if TYPE_CHECKING:
    from pytest_selfheal.judge.workspace import Workshop, Workspace

START_SECONDS = 60.0
"""What a child may need beside its tests: interpreter, plugins, collection."""


@dataclass
class ChildRun:
    """What a child reported. ``outcomes`` has an entry for each test that finished, and for no other."""

    outcomes: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    assertions: dict[str, int] = field(default_factory=dict)
    """Assertions that each test executed and passed, in a run with :data:`.assertions.COUNTING`; else 0."""
    failures: tuple[Failure, ...] = ()
    collected: tuple[str, ...] = ()
    deselected: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """Files of the user's tree that were imported instead of the copy's: the run says nothing about the copy."""
    finished: bool = False
    """pytest came to its own end and said so."""
    exit_status: int | None = None
    """pytest's, as it reported it; the process's own where it did not."""
    timed_out: bool = False
    enough: bool = False
    """Stopped because it had shown all that anybody wanted to know."""
    altered: tuple[str, ...] = ()
    """What takes part in deciding about results, and what of it is not what it was before the project's code ran; only
    the difference to runs of the pristine copy says something. See :mod:`.control`."""
    tampered: str = ""
    """Why the channel cannot be trusted; empty when it can."""
    output: str = ""
    seconds: float = 0.0

    def signatures(self, nodeid: str) -> frozenset[str]:
        return frozenset(failure.signature for failure in self.failures if failure.nodeid == nodeid)


def run_tests(
    workshop: Workshop,
    workspace: Workspace,
    nodeids: Iterable[str] | None,
    *,
    timeout: float | None = None,
    plugins: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    on_message: Callable[[dict[str, Any]], None] | None = None,
    stop: threading.Event | None = None,
    arguments: Iterable[str] = (),
    tmp: Path | None = None,
    control: Iterable[str] = (),
    watched: Iterable[str] = (),
    on_failed: Callable[[str], None] | None = None,
    keep_bytecode: bool = False,
) -> ChildRun:
    """Run ``nodeids`` (relative to rootdir; a file stands for all its tests; ``None``: all tests) in ``workspace``.

    ``plugins`` are further ``-p`` modules of the child, ``config`` JSON data that they read with
    :func:`pytest_selfheal.judge.child.extra`, ``on_message`` gets what they send with
    :func:`pytest_selfheal.judge.child.send`. ``tmp`` is the child's temporary folder, one of its own unless given.
    ``timeout`` is in seconds of wall time for the whole child. The run never
    writes in the user's tree. ``control``: tests that are made to fail behind their last line, so that a forged pass
    shows; one that ran that far counts as passed. ``watched``: tests whose code is
    compared with their source and with what was collected, and of which it is noted who traces them.
    ``on_failed`` gets each test that fails, as soon as it does. ``keep_bytecode``: leave what it compiles in the workspace, for those that are copied from it.
    """
    project, settings = workshop.project, workshop.settings
    control, plugins = list(control), list(plugins)
    asked = None if nodeids is None else list(dict.fromkeys(nodeids))
    box = workshop.child_folder()
    nonce, token = secrets.token_hex(8), f"control {secrets.token_hex(8)}"
    # A project that sets its own limit keeps it; collection and slow tests decide how long a child may take.
    test_timeout = None if project.project_timeout else settings.test_timeout
    if timeout is None:
        expected = sum(project.durations.get(nodeid, 0.0) for nodeid in asked or project.durations)
        timeout = START_SECONDS + 3 * expected + 2 * (test_timeout or 60.0)
    timeout = max(1.0, min(timeout, workshop.deadline - time.monotonic()))
    setup = {
        "nodeids": asked,
        "nonce": nonce,
        "token": token,
        "control": list(control),
        "watched": list(watched),
        "imports": IMPORTED if workshop.unused else (),
        "keep_bytecode": keep_bytecode,
        "alone": not plugins,
        "original": str(project.top),
        "copy": str(workspace.seen_top),
        "test_timeout": test_timeout,
        "fence": workshop.sandbox.fence(workshop.view(workspace, box, tmp)),
        "limits": {
            "memory_mib": settings.memory,
            "file_mib": 1024.0,
            "cpu_seconds": timeout + 5,
            "processes": 4096,
        },
        "extra": dict(config or {}),
    }
    setup_file = box / "setup.json"
    setup_file.write_text(json.dumps(setup), encoding="ascii")
    argv = [project.python, str(Path(start.__file__)), *_arguments(workshop, workspace, box, asked, plugins, arguments)]
    listener = _Listener(nonce, on_message, frozenset(control), token, on_failed)
    env = {**workshop.environment(workspace, box, tmp), child.CONFIG_VARIABLE: str(setup_file)}
    ended = launch(
        workshop.sandbox.wrap(argv, workshop.view(workspace, box, tmp), env),
        cwd=workshop.sandbox_cwd(workspace),
        env=env,
        timeout=timeout,
        on_message=listener,
        stop=stop,
        disk=box,
    )
    with contextlib.suppress(OSError):
        setup_file.unlink()
    run = listener.run
    run.timed_out, run.output, run.seconds = ended.timed_out, ended.output, ended.seconds
    if run.exit_status is None:
        run.exit_status = ended.status
    if ended.filled:
        run.output += "\nStopped because it was filling the disk."
    if ended.flooded and not run.tampered:
        run.tampered = "something else wrote into the result channel"
    if asked is not None:
        _compare(run, asked)
    for nodeid in sorted(listener.control - listener.ran_to_the_end):
        if run.outcomes.get(nodeid) == "passed" and not run.tampered:
            run.tampered = f"{nodeid} was reported as passed although it was made to fail at its end"
    for nodeid, phase in listener.stage.items():
        if run.finished and phase != "teardown" and not run.tampered:
            run.tampered = f"{nodeid} was never torn down"
    if keep_bytecode and workspace.seen_top == workspace.top:
        bytecode.forget_rewritten(workspace.top)  # a copy of this workspace is another folder
    if workspace is workshop.pristine:
        workshop.usual.update(run.altered)
    workshop.release(box)
    return run


def _arguments(
    workshop: Workshop,
    workspace: Workspace,
    box: Path,
    asked: list[str] | None,
    plugins: Iterable[str],
    arguments: Iterable[str],
) -> list[str]:
    project = workshop.project
    args = ["-p", "selfheal"]
    if not project.project_timeout:
        args += ["-p", "timeout"]
    args += ["-p", child.__name__]
    for plugin in plugins:
        args += ["-p", plugin]
    if project.inipath is not None and project.inipath.is_relative_to(project.top):
        args += ["-c", str(workspace.seen(project.inipath))]
    args += [f"--rootdir={workspace.seen_rootdir}", "-o", "addopts=", "-o", f"cache_dir={box / 'cache'}"]
    args += [f"--basetemp={box / 'basetemp'}", "--continue-on-collection-errors", "-q", "--no-header", "--tb=short"]
    args += project.pytest_args
    for plugin in workshop.unused:
        args += ["-p", f"no:{plugin}"]
    args += arguments
    # Files, not nodeids: any odd id works, and the child keeps exactly what was asked.
    files = dict.fromkeys(nodeid.partition("::")[0] for nodeid in asked or ())
    listed = box / "args.txt"
    listed.write_text(
        "".join(f"{_argument(workspace, name, workshop.sandbox_cwd(workspace))}\n" for name in files)
        if asked is not None
        else "",
        encoding="utf-8",
        errors="surrogateescape",
    )
    if files:
        args.append(f"@{listed}")
    return args


def _argument(workspace: Workspace, name: str, cwd: Path) -> str:
    """The path to hand to pytest for a file; a folder whose name pytest would read as a parameter is asked for by its parent."""
    root = workspace.seen_rootdir
    path = root / name
    for parent in (path, *path.parents):
        if "[" in parent.name and parent.is_relative_to(root) and parent != root:
            path = parent.parent
    # The rest of such a name may lie above the folder that pytest is started in.
    return os.path.relpath(path, cwd) if "[" in str(path) else str(path)


class _Listener:
    """Reads the channel: each message has the child's nonce and the next number, else somebody else wrote it."""

    def __init__(
        self,
        nonce: str,
        on_message: Callable[[dict[str, Any]], None] | None,
        control: frozenset[str] = frozenset(),
        token: str = "",
        on_failed: Callable[[str], None] | None = None,
    ) -> None:
        self.nonce = nonce
        self.on_message = on_message
        self.on_failed = on_failed
        self.control = set(control)
        self.token = token
        self.ran_to_the_end: set[str] = set()
        self.expected = 1
        self.run = ChildRun()
        self.tally = Outcomes()
        self.stage: dict[str, str] = {}
        """nodeid → the phase that was reported last."""

    def __call__(self, message: dict[str, Any]) -> None:
        if message.get("nonce") != self.nonce or message.get("seq") != self.expected:
            self._tampered("messages in the result channel do not follow one another")
            return
        self.expected += 1
        if self.run.finished and message.get("is") != "extra":
            self._tampered("a result was reported after the end")
            return
        handler = getattr(self, f"_on_{message.get('is')}", None)
        if handler is not None:
            try:
                handler(message)
            except (KeyError, TypeError, ValueError, AttributeError):
                self._tampered("a message in the result channel is malformed")

    def _tampered(self, words: str) -> None:
        self.run.tampered = self.run.tampered or words

    def _on_tampered(self, message: dict[str, Any]) -> None:
        self._tampered(str(message["words"]))

    def _on_uncontrolled(self, message: dict[str, Any]) -> None:
        self.control.discard(str(message["nodeid"]))

    def _on_extra(self, message: dict[str, Any]) -> None:
        if self.on_message is not None:
            self.on_message(message["data"])

    def _on_collected(self, message: dict[str, Any]) -> None:
        self.run.collected = tuple(message["nodeids"])

    def _on_deselected(self, message: dict[str, Any]) -> None:
        self.run.deselected += tuple(message["nodeids"])

    def _on_modules(self, message: dict[str, Any]) -> None:
        self.run.outside = tuple(message["outside"])

    def _on_finished(self, message: dict[str, Any]) -> None:
        self.run.finished = True
        self.run.altered = tuple(map(str, message["altered"]))
        self.run.exit_status = int(message["exitstatus"])

    def _on_report(self, message: dict[str, Any]) -> None:
        report = _Report(message)
        self._in_order(report)
        if report.nodeid in self.control and report.when == "call" and self._controlled(message):
            self.ran_to_the_end.add(report.nodeid)
            message = {**message, "outcome": "passed", "failure": None}
            report = _Report(message)
        if message["when"] == "collect":
            self.run.outcomes[report.nodeid] = "error"
        else:
            self.tally.add(report)
            if report.nodeid in self.tally.by_nodeid:
                self.run.outcomes[report.nodeid] = self.tally.by_nodeid[report.nodeid]
            self.run.durations[report.nodeid] = self.tally.durations[report.nodeid]
            if report.when == "call" and message.get("assertions") is not None:
                self.run.assertions[report.nodeid] = int(message["assertions"])
        if message.get("failure"):
            self.run.failures += (_sound(Failure.from_dict(message["failure"])),)
        if self.on_failed is not None and self.run.outcomes.get(report.nodeid) in ("failed", "error"):
            self.on_failed(report.nodeid)

    def _controlled(self, message: dict[str, Any]) -> bool:
        """The test ran to its end, where it failed as it was made to."""
        return message["outcome"] == "failed" and self.token in str((message.get("failure") or {}).get("chain", ""))

    def _in_order(self, report: _Report) -> None:
        """Setup, then call (several with subtests), then teardown; again only after a teardown (plugins that rerun)."""
        if report.when == "collect":
            return
        last = self.stage.get(report.nodeid, "")
        allowed = {"setup": ("", "teardown"), "call": ("setup", "call"), "teardown": ("setup", "call")}
        if last not in allowed.get(report.when, ()):
            self._tampered(f"{report.nodeid}: {report.when} was reported after {last or 'nothing'}")
        self.stage[report.nodeid] = report.when


def _sound(failure: Failure) -> Failure:
    """``failure``, when all of it is of the types that it should be. Raises :class:`TypeError`."""
    texts: list[object] = [failure.nodeid, failure.phase, failure.text, failure.path, failure.explanation]
    texts += [*failure.expected_exception, *(part for section in failure.output for part in section)]
    numbers: list[object] = [failure.line or 0, failure.duration]
    for link in failure.chain:
        texts += [link.exception, link.message, link.relation, *link.bases]
        for frame in link.frames:
            texts += [frame.path, frame.function, frame.source, *(part for pair in frame.locals for part in pair)]
            numbers.append(frame.line)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, int | float) for n in numbers):
        raise TypeError("a failure of other types than a failure has")
    return failure


class _Report:
    """A report as :class:`Outcomes` reads it."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.nodeid = str(message["nodeid"])
        self.when = message["when"]
        self.outcome = message["outcome"]
        self.duration = message["duration"]
        self.passed, self.failed, self.skipped = (
            self.outcome == "passed",
            self.outcome == "failed",
            self.outcome == "skipped",
        )
        if message.get("xfail"):
            self.wasxfail = ""


def _compare(run: ChildRun, asked: list[str]) -> None:
    """Nobody may report what was not asked for, or the pass of a test that was never collected."""
    wanted = frozenset(asked)
    collected = frozenset(run.collected)
    for nodeid, outcome in run.outcomes.items():
        known = nodeid in collected or outcome == "error"
        if not known or not (nodeid in wanted or nodeid.partition("::")[0] in wanted or outcome == "error"):
            run.tampered = run.tampered or f"an outcome was reported for {nodeid}, which was not asked for"
