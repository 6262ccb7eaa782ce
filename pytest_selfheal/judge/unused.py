"""Pytest plugins that came along with our own dependencies, where the project has no use for them: children do without.

litellm brings anyio, whose pytest plugin imports asyncio and a backend when it is loaded, a quarter of what it takes to start
a child. Who names nothing of such a plugin anywhere, and has no test that uses one of its fixtures, never asked for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_selfheal.project import Project

BROUGHT_ALONG: Final = {"anyio": ("anyio", "free_tcp_port", "free_udp_port")}
"""Plugin → words of which its markers, options and fixtures have at least one in their names."""
TEXTS: Final = frozenset((".py", ".pyi", ".ini", ".cfg", ".toml", ".txt", ".rst", ".md"))
"""Files in which a project can ask for a plugin: code, settings, requirements, doctests."""


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
    outside = (
        [project.inipath] if project.inipath is not None and not project.inipath.is_relative_to(project.top) else []
    )
    for path in [*outside, *(Path(folder) / name for folder, _, names in os.walk(top) for name in names)]:
        if path.suffix in TEXTS:
            try:
                yield path.read_bytes()
            except OSError:
                # Nobody can say what is in it: as if it had all the words.
                yield b" ".join(word.encode() for words in BROUGHT_ALONG.values() for word in words)
