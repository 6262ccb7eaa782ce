"""What kind of fault a cluster of failures shows, where it may sit, and whether anybody should try to mend it. Pure functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_selfheal.localize import suspects
from pytest_selfheal.types import Diagnosis, Failure, Kind

_KINDS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    (("SyntaxError", "IndentationError", "TabError"), "syntax"),
    (("ModuleNotFoundError", "ImportError"), "import"),
    (("NameError", "UnboundLocalError"), "name"),
    (("AttributeError",), "attribute"),
    (("TypeError",), "type"),
    (("IndexError",), "index"),
    (("KeyError",), "key"),
    (("RecursionError",), "recursion"),
    (("AssertionError", "Failed", "doctest.DocTestFailure"), "logic"),
    (
        ("ConnectionError", "ConnectionRefusedError", "TimeoutError", "socket.gaierror", "PermissionError"),
        "environment",
    ),
    (("ValueError", "UnicodeError", "UnicodeDecodeError", "UnicodeEncodeError", "ZeroDivisionError"), "value"),
    (("ArithmeticError", "OverflowError", "LookupError"), "value"),
)


def kind_of(failure: Failure) -> Kind:
    """The failure's kind, from the reported exception and its bases."""
    if failure.exception == "Failed" and failure.message.startswith("Timeout "):
        return "timeout"
    if not failure.chain:
        return "runtime"
    first = failure.chain[0]
    for name in (first.exception, *first.bases):
        for names, kind in _KINDS:
            if name in names:
                return kind
    return "runtime"


def diagnose(
    number: int,
    failures: Sequence[Failure],
    *,
    root: str,
    rootdir: str,
    prefix: str = "",
    changed_lines: Mapping[str, frozenset[int]] | None = None,
    is_test_file: Callable[[str], bool] = lambda path: False,
) -> Diagnosis:
    """One cluster's diagnosis. ``prefix`` leads from top to rootdir; paths in the result are relative to top."""
    failure = failures[0]
    kind = kind_of(failure)
    places = suspects(failures, prefix=prefix, changed_lines=changed_lines or {}, is_test_file=is_test_file)
    return Diagnosis(
        id=f"{number:04d}",
        failures=tuple(failures),
        kind=kind,
        suspects=places,
        summary=_summary(failure, len(failures)),
        root=root,
        rootdir=rootdir,
    )


def _summary(failure: Failure, count: int) -> str:
    first_line = failure.message.strip().splitlines()[0][:160] if failure.message.strip() else ""
    exception = failure.exception.rpartition(".")[2] or "failure"
    what = f"{exception}: {first_line}" if first_line else exception
    place = failure.innermost
    where = f" at {place.path}:{place.line}" if place else ""
    others = f" ({count} tests)" if count > 1 else ""
    return f"{what}{where}{others}"


_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def missing_package(failure: Failure, project_modules: Iterable[str]) -> str | None:
    """The third-party package that is not installed, when that is the failure's whole cause.

    A name that is close to a module of the project, or of the standard library, is a misspelling and not a missing
    package.
    """
    for link in failure.chain:
        if link.exception not in ("ModuleNotFoundError", "ImportError"):
            continue
        match = _NO_MODULE.search(link.message)
        if not match:
            continue
        name = match[1]
        package = name.partition(".")[0]
        known = {module.partition(".")[0] for module in project_modules} | set(sys.stdlib_module_names)
        if package in known or any(near(package, other) for other in known):
            return None
        return package
    return None


_NO_FIXTURE = re.compile(r"fixture '([^']+)' not found")


def missing_fixture(failure: Failure) -> tuple[str, str | None] | None:
    """The fixture that nobody provides, and the existing one that it is probably a misspelling of."""
    if not failure.exception.endswith("FixtureLookupError") or not (match := _NO_FIXTURE.search(failure.message)):
        return None
    listed = re.search(r"available fixtures: (.*)", failure.text)
    names = listed[1].split(", ") if listed else []
    return match[1], next((name for name in names if near(name, match[1])), None)


_SERVICE = re.compile(
    r"Connection refused|Name or service not known|Temporary failure in name resolution|Network is unreachable|"
    r"No route to host|could not connect to server|No such file or directory: '([^']+)'",
    re.IGNORECASE,
)


def missing_service(failure: Failure) -> str | None:
    """A sentence about a service or a file outside the project that the test needs; None when nothing points there."""
    for link in failure.chain:
        names = (link.exception, *link.bases)
        if not any(name.rpartition(".")[2] in ("OSError", "ConnectionError", "gaierror") for name in names):
            continue
        match = _SERVICE.search(link.message)
        if match and match[1] is None:
            return f"a service is not reachable ({link.message.strip().splitlines()[0][:120]})"
        if match and match[1].startswith("/") and not match[1].startswith("/tmp"):
            return f"the file {match[1]} does not exist on this machine"
    return None


def near(first: str, second: str) -> bool:
    """Whether two names differ as a slip of the finger would: edit distance 1 (2 from seven letters on)."""
    limit = 2 if min(len(first), len(second)) >= 7 else 1
    return first != second and edit_distance(first, second, limit) <= limit


def edit_distance(first: str, second: str, limit: int) -> int:
    """Optimal string alignment distance (insertion, deletion, substitution, swap of neighbours), cut off above ``limit``.

    Damerau, CACM 7(3), 1964, in the restricted form of Wagner and Fischer's table.
    """
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        before, last, row = row, before, [i] + [0] * len(second)
        for j, b in enumerate(second, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]
