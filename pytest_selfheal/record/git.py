"""How git is called: through GitPython, deaf to the user's configuration and environment, never writing the user's index.

Two ways, and each names its repository itself, so that a ``GIT_DIR`` or ``GIT_INDEX_FILE`` that a git hook exported
cannot lead us astray: :func:`in_repo` works on one repository, :func:`anywhere` on plain files (``git apply``,
``git merge-file``), for which the folder is no repository even when it lies inside one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pytest_selfheal.errors import GitError

_NEUTRAL = {
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` and `git diff` would rewrite .git/index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EXTERNAL_DIFF": "",
    "GIT_LITERAL_PATHSPECS": "1",  # a file called 'x[1].py' is no pattern
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_OPTIONS = (
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.whitespace=cr-at-eol",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "core.quotePath=true",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    f"core.hooksPath={os.devnull}",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.external=",
    "merge.conflictStyle=merge",
    "log.showSignature=false",
    "commit.gpgSign=false",
)


@dataclass(frozen=True)
class Result:
    """What one call of git gave."""

    status: int
    out: bytes
    err: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def lines(self) -> list[str]:
        """Output lines, decoded as file names are."""
        return os.fsdecode(self.out).splitlines()


@dataclass(frozen=True)
class Repo:
    """A repository with a work tree."""

    top: Path
    git_dir: Path


def available() -> bool:
    """Whether there is a git binary."""
    return shutil.which("git") is not None


def find_repo(path: Path) -> Repo | None:
    """The repository whose work tree holds ``path``; ``None`` without one, without git, or when it ignores ``path``."""
    if not available():
        return None
    path = path.resolve()
    if not any((folder / ".git").exists() for folder in (path, *path.parents)):
        return None
    import git

    try:
        found = git.Repo(path, search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, git.GitCommandError, OSError, ValueError):
        return None
    with found:
        if found.bare or found.working_tree_dir is None:
            return None
        repo = Repo(Path(found.working_tree_dir).resolve(), Path(found.git_dir).resolve())
    if path != repo.top and (
        not path.is_relative_to(repo.top)
        or in_repo(repo, "check-ignore", "-q", str(path), env={"GIT_LITERAL_PATHSPECS": "0"}).ok
    ):
        return None  # a scratch project in an ignored folder belongs to nobody: the repository would list none of it
    return repo


def in_repo(
    repo: Repo, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, own_line_ends: bool = False
) -> Result:
    """Run git on ``repo``, in its top folder. ``env`` adds variables (a temporary ``GIT_INDEX_FILE``, an author).

    ``own_line_ends`` keeps the user's ``core.autocrlf``: for the conversion between work tree and repository.
    """
    where = {
        "GIT_DIR": str(repo.git_dir),
        "GIT_WORK_TREE": str(repo.top),
        "GIT_INDEX_FILE": str(repo.git_dir / "index"),
    }
    return _run(repo.top, arguments, stdin, where | (env or {}), own_line_ends)


def anywhere(folder: Path, *arguments: str, stdin: bytes = b"") -> Result:
    """Run git on plain files in ``folder``, as if no repository and no configuration existed."""
    nothing = os.devnull
    return _run(
        folder, arguments, stdin, {"GIT_DIR": nothing, "GIT_CONFIG_GLOBAL": nothing, "GIT_CONFIG_NOSYSTEM": "1"}
    )


def must(result: Result, doing: str) -> Result:
    """``result`` if git succeeded, else :class:`GitError` with git's own words."""
    if result.ok:
        return result
    words = result.err.strip().splitlines()
    said = words[0].removeprefix("error: ").removeprefix("fatal: ") if words else f"exit status {result.status}"
    raise GitError(f"git could not {doing}: {said}")


def _run(
    folder: Path, arguments: tuple[str, ...], stdin: bytes, env: dict[str, str], own_line_ends: bool = False
) -> Result:
    if not available():
        raise GitError("git is not installed or not on PATH: install it to use this.")
    from git import Git

    kept = _OPTIONS[2:] if own_line_ends else _OPTIONS
    options = [part for option in kept for part in ("-c", option)]
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        try:
            status, out, err = Git(str(folder)).execute(
                ["git", *options, *arguments],
                istream=source,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                env=_NEUTRAL | env,
            )
        except OSError as error:
            raise GitError(f"git could not be started in {folder}: {error.strerror or error}.") from None
    return Result(status, out if isinstance(out, bytes) else str(out).encode(), str(err))
