"""Pytest plugins that came along with our own dependencies, where the project has no use for them: children do without.

litellm brings anyio, whose pytest plugin imports asyncio and a backend when it is loaded: up to a quarter of what it takes to
start a child. Who names nothing of such a plugin anywhere, and has no test that uses one of its fixtures, never asked for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_selfheal.project import Project

BROUGHT_ALONG: Final = {"anyio": ("anyio", "free_tcp_port", "free_udp_port")}
"""Plugin → words of which its markers, options and fixtures have at least one in their names."""
IMPORTED: Final = ("asyncio",)
"""What these plugins import of the standard library: code that has come to rely on it (``concurrent.futures`` without an
import of its own) finds it all the same."""
TEXTS: Final = frozenset((".py", ".pyi", ".ini", ".cfg", ".toml", ".txt", ".rst", ".md"))
"""Files in which a project can ask for a plugin: code, settings, requirements, doctests."""
LARGEST = 2 * 1024 * 1024
"""Bytes beyond which a file is not read."""
UNREAD: Final = b" ".join(word.encode() for words in BROUGHT_ALONG.values() for word in words)
"""In the place of what nobody has read: it may name each of them."""


def unused_plugins(project: Project, top: Path) -> tuple[str, ...]:
    """The plugins that no file below ``top``, no option and no test of ``project`` uses; none where its tests are unknown."""
    if project.fixtures is None:
        return ()
    given = [*project.pytest_args, *project.fixtures, os.environ.get("PYTEST_PLUGINS", "")]
    left = {
        plugin: words
        for plugin, words in BROUGHT_ALONG.items()
        if not any(word in text for word in words for text in given)
    }
    for content in _contents(project, top) if left else ():
        left = {plugin: words for plugin, words in left.items() if not any(word.encode() in content for word in words)}
    return tuple(left)


def _contents(project: Project, top: Path) -> Iterator[bytes]:
    if project.inipath is not None and not project.inipath.is_relative_to(project.top):
        yield _content(project.inipath, top)
    for folder, _, names in os.walk(top):
        for name in names:
            if os.path.splitext(name)[1] in TEXTS:  # noqa: PTH122 - for each file of the project
                yield _content(Path(folder, name), top)


def _content(path: Path, top: Path) -> bytes:
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) and path.resolve().is_relative_to(top.resolve()):
            return b""  # read where it is
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return UNREAD
        return path.read_bytes()
    except (OSError, RuntimeError):  # a loop of links
        return UNREAD
