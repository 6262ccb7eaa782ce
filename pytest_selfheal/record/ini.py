"""The project's settings for the ``selfheal`` command: the ini file and the environment, without starting pytest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_selfheal.settings import OPTIONS, Settings, resolve

_NAMES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def read_settings(folder: Path, **given: str | None) -> Settings:
    """Settings as pytest would read them in ``folder``; ``given`` are options from a command line, by their ``dest``.

    Raises :class:`pytest_selfheal.errors.UsageError` for a wrong value.
    """
    values, name = _ini(folder.resolve())
    return resolve({key: value for key, value in given.items() if value is not None}, os.environ, values, name)


def _ini(folder: Path) -> tuple[dict[str, Any], str]:
    from _pytest.config.findpaths import load_config_dict_from_file

    for here in (folder, *folder.parents):
        for name in _NAMES:
            if not (here / name).is_file():
                continue
            try:
                found: Mapping[str, Any] | None = load_config_dict_from_file(here / name)
            except Exception:  # not ours to complain of: pytest will
                continue
            if found is not None:
                return _ours(found), name
    return {}, "ini file"


def _ours(found: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for option in OPTIONS:
        if option.dest in found:
            raw = getattr(found[option.dest], "value", found[option.dest])
            if option.repeatable and isinstance(raw, str):
                raw = [line.strip() for line in raw.splitlines() if line.strip()]
            values[option.dest] = raw
    return values
