"""Process exit: code that ends the interpreter ends the judge with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, dump, is_stub, starts_with
from pytest_selfheal.types import Failure

_HARD = (
    *("os._exit", "os.abort", "os.kill", "os.killpg", "signal.raise_signal", "signal.pthread_kill", "signal.alarm"),
    *("signal.setitimer", "signal.signal", "faulthandler", "atexit", "os.execv", "os.execve", "os.execvp", "os.execl"),
    *("os.execlp", "os.execle", "os.execlpe", "os.execvpe", "posix._exit", "_thread.interrupt_main", "pytest.exit"),
)
_SOFT = ("sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit", "builtins.KeyboardInterrupt")


_WRITTEN = "new code {}: whoever calls it with such a value loses the whole program, and no failing test asks for that"


def check(facts: Facts) -> str | None:
    hard = facts.new(_hard)
    if hard:
        return f"new code {hard[0].words}, which can end the test process or take over its signals"
    soft = _unasked(facts)
    if soft and not all(_in_reached_stub(facts, finding) for finding in soft):
        return f"new code {soft[0].words}, which no failing test asks for"
    return None


def caution(facts: Facts) -> str | None:
    """An exit in a function that was a stub: it cannot make the tests pass, but is it meant?"""
    soft = _unasked(facts)
    return _WRITTEN.format(soft[0].words) if soft else None


def _unasked(facts: Facts) -> list[Finding]:
    tests = facts.tests
    if tests.expected_exceptions & {"SystemExit", "KeyboardInterrupt"} or tests.mentions("SystemExit"):
        return []
    return facts.new(_soft)


def _in_reached_stub(facts: Facts, finding: Finding) -> bool:
    """Whether the finding is in a function that was a stub whose exception came through to every failing test.

    Where NotImplementedError came through, SystemExit does, and a test that it reaches fails: such an exit hides nothing.
    """
    (source,) = facts.sources if len(facts.sources) == 1 else (None,)
    if source is None or source.before is None or source.after is None or "KeyboardInterrupt" in finding.words:
        return False
    stubs = {name for name, node in source.before.functions if is_stub(node)}
    around = [
        name
        for name, node in source.after.functions
        if name in stubs and node.lineno <= finding.line <= (node.end_lineno or node.lineno)
    ]
    return bool(around) and all(_came_through(failure, around) for failure in facts.diagnosis.failures)


def _came_through(failure: Failure, names: list[str]) -> bool:
    place = failure.innermost
    reached = place is not None and place.function.rpartition(".")[2] in {name.rpartition(".")[2] for name in names}
    return reached and failure.phase == "call" and failure.exception == "NotImplementedError"


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
