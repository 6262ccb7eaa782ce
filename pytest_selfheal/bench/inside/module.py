"""Foreign source as a module, and the tests that run in its namespace."""

from __future__ import annotations

import random
import sys
from types import ModuleType
from typing import Any

NAME = "solution"


def load(source: str, name: str = NAME) -> dict[str, Any]:
    """The namespace of ``source`` run as a module that can be found under ``name``."""
    module = ModuleType(name)
    module.__file__ = f"{name}.py"
    sys.modules[name] = module
    random.seed(0)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module.__dict__


def run_tests(namespace: dict[str, Any], setup: str, tests: str) -> None:
    """Raises what the tests raise. Random inputs are the same in every run."""
    random.seed(0)
    exec(compile(setup, "<setup>", "exec"), namespace)
    exec(compile(tests, "<tests>", "exec"), namespace)


def name_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300].encode("ascii", "replace").decode()
