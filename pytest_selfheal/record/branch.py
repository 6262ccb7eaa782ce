"""``selfheal apply --branch``: a commit on a new branch, made with git's plumbing beside the user's work tree and index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from email.utils import parseaddr
from pathlib import Path

from pytest_selfheal.errors import GitError, RecordError
from pytest_selfheal.record import git
from pytest_selfheal.record.apply import plan
from pytest_selfheal.record.message import FALLBACK_AUTHOR, identity
from pytest_selfheal.record.stored import StoredPatch, StoredRun
from pytest_selfheal.types import FileChange


def commit_on_branch(
    run: StoredRun,
    patches: Sequence[StoredPatch],
    branch: str,
    *,
    author: str | None = None,
    message: str | None = None,
    signoff: bool = False,
) -> str:
    """Commit the patches on a new branch that starts at HEAD; returns the commit's name.

    Neither the work tree nor the index is touched, whatever state they are in. Raises :class:`GitError` for a name that
    is taken or not allowed, a repository without commits, or no repository; :class:`RecordError` for a patch that does
    not fit HEAD.
    """
    repo = git.find_repo(run.top)
    if repo is None:
        raise GitError(f"{run.top} is not in a git repository (or git is missing): apply without --branch.")
    head = _head(repo)
    _check_name(repo, branch)
    planned = plan(patches, run.top, read=lambda path: _in_head(repo, head, path))
    if planned.refused:
        told = "; ".join(f"{id}: {why}" for id, why in planned.refused.items())
        raise RecordError(f"nothing was committed, since not every patch fits the last commit: {told}")
    if not planned.changes:
        raise RecordError("nothing was committed: the last commit has these changes already.")
    chosen = [patch for patch in patches if patch.id in planned.changes]
    tree = _write_tree(repo, head, planned.changes.values())
    author = author or identity(run.top, run.author)
    text = message or default_message(chosen)
    if signoff or run.signoff:
        text = f"{text.rstrip()}\n{'' if _ends_in_trailers(text) else chr(10)}Signed-off-by: {author}"
    commit = _commit(repo, tree, head, text.rstrip() + "\n", author, run.top)
    # Zeros as the old value: created now, or refused when somebody was faster.
    git.must(git.in_repo(repo, "update-ref", f"refs/heads/{branch}", commit, "0" * len(commit)), f"create {branch}")
    return commit


def default_message(patches: Sequence[StoredPatch]) -> str:
    """The patch's own message; for several, a list of their subjects."""
    if len(patches) == 1:
        return f"{patches[0].subject}\n\n{patches[0].message.strip()}"
    lines = [f"Repair {len(patches)} failures of the tests", ""]
    lines += [f"- {patch.subject} ({patch.id})" for patch in patches]
    return "\n".join(lines)


def _ends_in_trailers(text: str) -> bool:
    return text.rstrip().splitlines()[-1].startswith(("Selfheal-", "Signed-off-by:"))


def _head(repo: git.Repo) -> str:
    found = git.in_repo(repo, "rev-parse", "--verify", "-q", "HEAD")
    if not found.ok:
        raise GitError("the repository has no commit yet, so there is nothing to branch from: commit first.")
    return found.lines[0]


def _check_name(repo: git.Repo, branch: str) -> None:
    if branch.startswith("-") or not git.in_repo(repo, "check-ref-format", f"refs/heads/{branch}").ok:
        raise GitError(f"{branch!r} is not a name that git allows for a branch.")
    if git.in_repo(repo, "show-ref", "--verify", "-q", f"refs/heads/{branch}").ok:
        raise GitError(f"a branch {branch!r} exists already: choose another name, or delete it first.")


def _in_head(repo: git.Repo, head: str, path: str) -> bytes | None:
    """A file's bytes as a checkout of HEAD would write them."""
    kind = git.in_repo(repo, "ls-tree", "-z", head, "--", path).out
    if not kind:
        return None
    if not kind.startswith((b"100644 ", b"100755 ")):
        raise RecordError(f"{path} is not a plain file in the last commit.")
    return git.must(
        git.in_repo(repo, "cat-file", "--filters", f"{head}:{path}", own_line_ends=True),
        f"read {path} of the last commit",
    ).out


def _write_tree(repo: git.Repo, head: str, changes: Iterable[tuple[FileChange, ...]]) -> str:
    final: dict[str, bytes | None] = {}
    for patch in changes:
        final.update({change.path: change.after for change in patch})
    with tempfile.TemporaryDirectory(prefix="selfheal-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git.must(git.in_repo(repo, "read-tree", head, env=index), "read the last commit")
        for path, content in final.items():
            if content is None:
                git.must(git.in_repo(repo, "update-index", "--force-remove", "--", path, env=index), f"remove {path}")
                continue
            stored = git.in_repo(
                repo, "hash-object", "-w", "--stdin", f"--path={path}", stdin=content, own_line_ends=True
            )
            blob = git.must(stored, f"store {path}").lines[0]
            listed = git.in_repo(repo, "ls-tree", "-z", head, "--", path).out
            mode = listed[:6].decode() or "100644"
            entry = ["update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"]
            git.must(git.in_repo(repo, *entry, env=index), f"stage {path}")
        return git.must(git.in_repo(repo, "write-tree", env=index), "write the tree").lines[0]


def _commit(repo: git.Repo, tree: str, head: str, message: str, author: str, top: Path) -> str:
    name, address = parseaddr(author)
    if not name or "@" not in address:
        raise RecordError(f"{author!r} is not an author: write 'Name <address>'.")
    committer, committer_address = parseaddr(identity(top, None))
    if f"{committer} <{committer_address}>" == FALLBACK_AUTHOR:
        committer, committer_address = name, address
    who = {
        "GIT_AUTHOR_NAME": name or address,
        "GIT_AUTHOR_EMAIL": address,
        "GIT_COMMITTER_NAME": committer or committer_address,
        "GIT_COMMITTER_EMAIL": committer_address,
    }
    made = git.in_repo(repo, "commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode(), env=who)
    return git.must(made, "write the commit").lines[0]
