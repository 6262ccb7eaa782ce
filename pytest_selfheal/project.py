"""The user's project and how pytest was started in it, as plain data: what a child needs to see the same tests."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_selfheal.calls import Calls

# Destinations of options that a child must not repeat, and why.
_DROPPED = {
    # selection: the child is told its tests by nodeid
    "file_or_dir keyword markexpr deselect ignore ignore_glob pyargs lf failedfirst newfirst stepwise "
    "stepwise_skip stepwise_reset last_failed_no_failures collectonly picked testmon testmon_forceselect "
    "testmon_noselect",
    # stopping early, debugging
    "maxfail usepdb usepdb_cls trace sw",
    # distribution, repetition, order
    "numprocesses dist tx maxprocesses maxworkerrestart loadgroup looponfail rsyncdir rsyncignore "
    "testrunuid px xdist_use_id distload reruns reruns_delay only_rerun rerun_except fail_on_flaky count "
    "repeat_scope randomly_seed random_order_bucket random_order_seed",
    # reports and what they look like
    "verbose quiet no_header no_summary no_fold_skipped reportchars durations durations_min tbstyle "
    "showlocals show_capture full_trace color code_highlight pastebin xmlpath junitprefix htmlpath "
    "self_contained_html css json_report json_report_file json_report_indent json_report_omit "
    "json_report_summary json_report_verbosity report_log instafail tap_files tap_outdir tap_combined "
    "xmlstyle force_short_summary",
    # coverage of the outer run
    "cov_source cov_report cov_config no_cov_on_fail no_cov cov_fail_under cov_append cov_branch "
    "cov_context cov_reset cov_precision",
    # places of the outer run
    "basetemp rootdir inifilename cacheclear cacheshow version help debug",
    # anything that rewrites the tests
    "update_snapshots snapshot_update benchmark_save benchmark_autosave "
    "benchmark_save_data benchmark_json benchmark_compare benchmark_compare_fail benchmark_histogram "
    "force_regen regen_all",
}
DROPPED = frozenset(name for names in _DROPPED for name in names.split())
READING = {"inline_snapshot": frozenset(("disable", "short-report", "report"))}
"""Options whose value is a list of which only this much leaves the tests as they are: a child gets these."""


@dataclass(frozen=True)
class Project:
    """Where the code is and how its tests are run."""

    rootdir: Path
    top: Path
    """git top level, or rootdir without git."""
    git: bool
    inipath: Path | None
    invocation_dir: Path
    pytest_args: tuple[str, ...]
    """The user's options that matter to the tests, each token ready for a child's command line."""
    import_roots: tuple[Path, ...]
    """Entries below top of ``sys.path`` as the interpreter was started with it, in order."""
    python: str
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """First run: nodeid → passed | failed | skipped | xfailed | xpassed | error."""
    durations: Mapping[str, float] = field(default_factory=dict)
    """First run: nodeid → seconds."""
    calls: Calls | None = None
    """First run: which functions each test called; ``None`` where nobody could watch that."""
    project_timeout: bool = False
    """The project sets a test timeout itself (pytest-timeout), which wins over ours."""
    plugins_off: bool = False
    """Plugin autoload is disabled in this run."""
    fixtures: frozenset[str] | None = None
    """First run: fixtures that its tests use; ``None`` where not all tests are known."""

    @property
    def prefix(self) -> str:
        """Path from top to rootdir, POSIX, empty when they are the same."""
        relative = self.rootdir.relative_to(self.top).as_posix()
        return "" if relative == "." else relative

    def is_test_file(self, path: str) -> bool:
        """Whether a file (relative to top) belongs to the tests: named or placed like one, or a conftest."""
        parts = PurePosixPath(path)
        return (
            parts.name == "conftest.py"
            or parts.name.startswith("test_")
            or parts.stem.endswith("_test")
            or any(part in ("test", "tests") for part in parts.parts[:-1])
            or path in self._collected
        )

    @cached_property
    def _collected(self) -> frozenset[str]:
        """Files that tests were collected from, but for doctests of the code itself."""
        from pytest_selfheal.types import is_doctest  # a green run imports this module, and has no use for those types

        return frozenset(
            self.from_top(nodeid.partition("::")[0])
            for nodeid in self.outcomes
            if "::" in nodeid and not is_doctest(nodeid)
        )

    def tracks(self, *paths: Path) -> bool:
        """Whether git has one of these files, by links as well, so that it came with the project; also where it cannot tell."""
        from pytest_selfheal.errors import GitError
        from pytest_selfheal.record import git

        try:
            there = {str(each) for path in paths if path.exists() for each in (path, path.resolve())}
            inside = sorted(name for name in there if Path(name).is_relative_to(self.top))
            if not self.git or not inside or (repo := git.find_repo(self.top)) is None:
                return False
            listed = git.in_repo(repo, "ls-files", "--", *inside)
            return not listed.ok or bool(listed.out.strip())
        except (GitError, OSError):
            return True

    def from_top(self, path: str) -> str:
        """A path relative to rootdir, made relative to top."""
        return os.path.normpath(os.path.join(self.prefix, path)).replace(os.sep, "/")  # noqa: PTH118


def of_config(
    config: pytest.Config, outcomes: Mapping[str, str], durations: Mapping[str, float], started_with: Sequence[str]
) -> Project:
    """Read the project off a configured pytest run."""
    from pytest_selfheal.record.patch import find_top

    rootdir = config.rootpath.resolve()
    top, git = find_top(rootdir)
    invocation_dir = Path(config.invocation_params.dir).resolve()
    return Project(
        rootdir=rootdir,
        top=top,
        git=git,
        inipath=config.inipath.resolve() if config.inipath else None,
        invocation_dir=invocation_dir if invocation_dir.is_relative_to(top) else rootdir,
        pytest_args=tuple(child_args(config)),
        import_roots=import_roots(started_with, invocation_dir, top),
        python=sys.executable,
        outcomes=dict(outcomes),
        durations=dict(durations),
        project_timeout=has_own_timeout(config),
        plugins_off=bool(os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"))
        or bool(getattr(config.option, "disable_plugin_autoload", False)),
    )


def has_own_timeout(config: pytest.Config) -> bool:
    """Whether the project or the user set a pytest-timeout of their own."""
    if getattr(config.option, "timeout", None) is not None and not getattr(config, "_selfheal_timeout", False):
        return True
    if os.environ.get("PYTEST_TIMEOUT"):
        return True
    try:
        return bool(config.getini("timeout"))
    except ValueError:  # pytest-timeout is switched off
        return False


def import_roots(started_with: Iterable[str], cwd: Path, top: Path) -> tuple[Path, ...]:
    """Entries of ``sys.path`` below ``top`` that are not an environment's own."""
    own_prefixes = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    roots: list[Path] = []
    for entry in started_with:
        path = (cwd / entry).resolve()
        if not path.is_relative_to(top) or not path.is_dir() or path in roots:
            continue
        if "site-packages" in path.parts or any(
            path.is_relative_to(prefix) for prefix in own_prefixes if prefix != top
        ):
            continue
        roots.append(path)
    return tuple(roots)


def child_args(config: pytest.Config) -> list[str]:
    """The user's options from addopts, PYTEST_ADDOPTS and the command line, without :data:`DROPPED`, reduced to :data:`READING`."""
    tokens: list[str] = []
    try:
        addopts = config.getini("addopts")
    except (KeyError, ValueError):
        addopts = []
    tokens += addopts if isinstance(addopts, list) else shlex.split(str(addopts))
    tokens += shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    tokens += [str(arg) for arg in config.invocation_params.args]
    parser = getattr(config._parser, "optparser", None)
    actions: dict[str, argparse.Action] = getattr(parser, "_option_string_actions", {})
    return list(_filtered(tokens, actions))


def _filtered(tokens: list[str], actions: Mapping[str, argparse.Action]) -> Iterable[str]:
    i = 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        if token == "--":
            return
        if not token.startswith("-") or token == "-":
            continue  # a path: the child gets its own
        glued, action = _action(token, actions)
        values: list[str] = []
        if action is not None and not glued:
            count = _arity(action)
            while i < len(tokens) and len(values) < count and not (count > 1 and tokens[i].startswith("-")):
                values.append(tokens[i])
                i += 1
        if action is None:
            continue  # unknown here; pytest itself would have refused it
        if action.dest in DROPPED or action.dest.startswith(("selfheal", "generate_tests")):
            continue
        if action.dest == "plugins" and _dropped_plugin(token, values):
            continue
        if (allowed := READING.get(action.dest)) is not None:
            name, _, value = token.partition("=") if glued else (token, "", "".join(values))
            if kept := [word for word in value.split(",") if word in allowed]:
                yield f"{name}={','.join(kept)}"
            continue
        yield token
        yield from values


def _dropped_plugin(token: str, values: list[str]) -> bool:
    """``-p no:terminal`` and our own name are not for a child."""
    name = values[0] if values else token[2:]
    return name in ("no:terminal", "no:cacheprovider") or name.removeprefix("no:").startswith(
        ("pytest_selfheal", "selfheal")
    )


def _action(token: str, actions: Mapping[str, argparse.Action]) -> tuple[bool, argparse.Action | None]:
    """The option of a token, and whether its value is glued to it."""
    if token.startswith("--"):
        name, equals, _ = token.partition("=")
        return bool(equals), actions.get(name)
    name = token[:2]
    action = actions.get(name)
    if len(token) == 2 or action is None:
        return False, action
    return True, action


def _arity(action: Any) -> int:
    """How many tokens after the option belong to it, at most."""
    if action.nargs is None:
        return 1
    if isinstance(action.nargs, int):
        return int(action.nargs)
    return {"?": 1, "*": 1000, "+": 1000}.get(action.nargs, 0)
