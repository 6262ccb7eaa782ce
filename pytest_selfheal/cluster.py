"""Failures with one likely cause are one piece of work: one cause, one repair, one bill. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_selfheal.types import Failure, Frame


def cluster(failures: Iterable[Failure]) -> tuple[tuple[Failure, ...], ...]:
    """Group failures by cause, each group and the groups themselves in the order of the run.

    The same cause is: the same exception raised by the same line outside the tests; the same broken fixture; the same
    module that cannot be imported. Assertions of a test file are a cause each by test function, whose parametrised
    cases go together.
    """
    failures = tuple(failures)
    causes = {failure.nodeid: cause(failure) for failure in reversed(failures) if failure.phase == "call"}
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        # A teardown that fails after the test itself did is most often a consequence.
        key = causes.get(failure.nodeid) if failure.phase == "teardown" else None
        groups.setdefault(key or cause(failure), []).append(failure)
    return tuple(tuple(group) for group in groups.values())


def cause(failure: Failure) -> tuple[str, ...]:
    """A key that failures of one likely cause share."""
    place = raising_frame(failure)
    if failure.exception.endswith("FixtureLookupError"):
        return ("fixture", failure.message)
    own = place is None or place.path == failure.path
    if failure.phase == "collect":
        root = failure.chain[-1] if failure.chain else None
        if own or place is None:
            # `No module named x` in many test files is one missing module.
            missing = (
                root.message if root and root.exception in ("ModuleNotFoundError", "ImportError") else failure.path
            )
            return ("collect", failure.exception, missing)
        return ("collect", failure.exception, place.path, str(place.line))
    if own or place is None:
        if failure.phase in ("setup", "teardown") and failure.innermost is not None:
            return (failure.phase, failure.exception, failure.innermost.path, failure.innermost.function)
        return ("test", failure.nodeid.partition("[")[0], failure.phase)
    if _timeout(failure):  # wherever the clock caught it
        return ("timeout", place.path, place.function)
    return ("raised", failure.exception, place.path, str(place.line))


def raising_frame(failure: Failure) -> Frame | None:
    """The deepest frame below rootdir of the exception reported, of its first cause where the report itself has none."""
    for link in failure.chain:
        if link.frames:
            return link.frames[-1]
    return None


def _timeout(failure: Failure) -> bool:
    return failure.exception == "Failed" and failure.message.startswith("Timeout ")
