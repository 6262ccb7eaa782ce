"""Process exit: code that ends the interpreter ends the judge with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, dump, starts_with

_HARD = (
    *("os._exit", "os.abort", "os.kill", "os.killpg", "signal.raise_signal", "signal.pthread_kill", "signal.alarm"),
    *("signal.setitimer", "signal.signal", "faulthandler", "atexit", "os.execv", "os.execve", "os.execvp", "os.execl"),
    *("os.execlp", "os.execle", "os.execlpe", "os.execvpe", "posix._exit", "_thread.interrupt_main", "pytest.exit"),
)
_SOFT = ("sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit", "builtins.KeyboardInterrupt")


def check(facts: Facts) -> str | None:
    hard = facts.new(_hard)
    if hard:
        return f"new code {hard[0].words}, which can end the test process or take over its signals"
    soft = facts.new(_soft)
    if (
        soft
        and not (facts.tests.expected_exceptions & {"SystemExit", "KeyboardInterrupt"})
        and not facts.tests.mentions("SystemExit")
    ):
        return f"new code {soft[0].words}, which no failing test asks for"
    return None


def _hard(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name) and starts_with(module.origin(node), _HARD):
            yield Finding(f"hard {module.origin(node)}", f"uses {module.origin(node)}", node.lineno)


def _soft(module: Module) -> Iterator[Finding]:
    for call, origin in calls(module):
        if starts_with(origin, _SOFT[:3]):
            yield Finding(f"soft {origin}", f"calls {origin.removeprefix('builtins.')}", call.lineno)
    for node in module.nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if starts_with(module.origin(raised), _SOFT[3:]):
                yield Finding(
                    f"raise {dump(raised)}", f"raises {module.origin(raised).removeprefix('builtins.')}", node.lineno
                )
