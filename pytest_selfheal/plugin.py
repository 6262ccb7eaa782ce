"""The pytest entry point: options, ini keys and hookspecs; everything else is registered only when a flag asks for it."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

# The first of these sees to it that the others, and all that the user's run loads later, need not be compiled anew.
from pytest_selfheal import as_installed as as_installed
from pytest_selfheal import hookspecs
from pytest_selfheal.errors import UsageError
from pytest_selfheal.settings import OPTIONS, Settings, resolve

# As the interpreter was started, before pytest and conftest files add to it: what a child has to find again.
STARTED_WITH = tuple(sys.path)

CHILD = "pytest_selfheal.judge.child"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("self-heal", "self-heal")
    for option in OPTIONS:
        default = f" (default: {option.default})" if option.default not in (None, False, ()) else ""
        variable = f" [env: {option.variable}]" if option.env else ""
        text = (option.help + default + variable).replace("%", "%%")
        if option.spelling is not None:
            if option.is_switch:
                group.addoption(option.spelling, dest=option.dest, action="store_true", default=False, help=text)
            else:
                action = "append" if option.repeatable else "store"
                group.addoption(
                    option.spelling, dest=option.dest, action=action, metavar=option.metavar, default=None, help=text
                )
        kind: Any = "linelist" if option.repeatable else "string"
        parser.addini(option.dest, help=option.help, type=kind, default=[] if option.repeatable else "")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin(CHILD):
        return  # a child of ours: its judge is the only part of us that works there
    settings = read_settings(config)
    if settings.bench:
        from pytest_selfheal.bench.plugin import BenchPlugin

        config.pluginmanager.register(BenchPlugin(config, settings), "selfheal-bench")
        return
    if not (settings.selfheal or settings.generate_tests) or config.option.collectonly:
        return
    from pytest_selfheal.session import SelfhealPlugin

    config.pluginmanager.register(SelfhealPlugin(config, settings), "selfheal-session")


def read_settings(config: pytest.Config) -> Settings:
    """The run's settings; a wrong value is pytest's usage error (exit 4)."""
    command_line = {option.dest: getattr(config.option, option.dest, None) for option in OPTIONS}
    ini = {option.dest: config.getini(option.dest) for option in OPTIONS}
    try:
        return resolve(command_line, os.environ, ini, config.inipath.name if config.inipath else "ini file")
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
