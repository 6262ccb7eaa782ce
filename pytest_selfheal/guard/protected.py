"""Protected files: tests, their configuration, the build and CI, and what the user named."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Final

from pytest_selfheal.guard.facts import Facts
from pytest_selfheal.types import is_doctest

ALWAYS: Final = (
    # tests and what configures them
    *(
        "tests/",
        "test/",
        "test_*.py",
        "*_test.py",
        "tests.py",
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
    ),
    *(".pytest.toml", "tox.ini", "noxfile.py", ".coveragerc"),
    # the build, the environment
    *("pyproject.toml", "setup.cfg", "setup.py", "MANIFEST.in", "Makefile", "GNUmakefile", "justfile", "Dockerfile*"),
    *("docker-compose*", "requirements*.txt", "constraints*.txt", "Pipfile", "*.lock", "environment.y*ml", ".env*"),
    *(".python-version", ".pre-commit-config.yaml"),
    # CI, version control, our own folder
    *(".github/", ".gitlab-ci.yml", ".gitlab/", ".circleci/", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile"),
    *(".buildkite/", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".git*", ".hg*", ".selfheal/"),
)
"""Without a slash inside, a pattern means a name at any depth; with one at the end, a folder and all below."""


def check(facts: Facts) -> str | None:
    prefix = _rootdir_prefix(facts)
    for path in facts.patch.paths:
        here = _relative(path, prefix)
        if any(matches(path, pattern) for pattern in ALWAYS) or path in _test_files(facts, prefix):
            return f"{path} is protected: tests, configuration and CI files are never changed"
        for pattern in facts.settings.protect:
            if matches(here, pattern):
                return f"{path} is protected by --selfheal-protect {pattern}"
        if facts.settings.allow and not any(matches(here, pattern, anchored=True) for pattern in facts.settings.allow):
            return f"{path} is not among the files that --selfheal-allow names"
    return None


def matches(path: str, pattern: str, anchored: bool = False) -> bool:
    """Whether a POSIX path matches a glob: ``*`` and ``?`` within one name, ``**`` across folders, a folder means all below.

    Unless ``anchored``, a pattern without a slash matches at any depth.
    """
    pattern = pattern.removeprefix("./")
    if not anchored and "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern.rstrip("/"))
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(
        special.get(part)
        or (part.replace("[!", "[^", 1) if part.startswith("[") and len(part) > 2 else re.escape(part))
        for part in parts
    )
    return re.compile(rf"{body}/.*" if pattern.endswith("/") else rf"{body}(?:/.*)?", re.DOTALL)


def _rootdir_prefix(facts: Facts) -> str:
    """From top to rootdir; globs are relative to rootdir, paths to top."""
    top, rootdir = facts.diagnosis.root, facts.diagnosis.rootdir
    if not top or not rootdir:
        return ""
    relative = os.path.relpath(rootdir, top).replace(os.sep, "/")
    return "" if relative == "." else relative


def _relative(path: str, prefix: str) -> str:
    return path[len(prefix) + 1 :] if prefix and path.startswith(prefix + "/") else path


def _test_files(facts: Facts, prefix: str) -> frozenset[str]:
    """The failing tests' own files, whatever they are called; not a module whose docstring examples failed."""
    found = set()
    for failure in facts.diagnosis.failures:
        path = failure.path or failure.nodeid.partition("::")[0]
        documented = is_doctest(failure.nodeid) or "[doctest]" in failure.text
        if path and not documented and failure.phase != "collect":
            found.add(f"{prefix}/{path}" if prefix else path)
    return frozenset(found)
