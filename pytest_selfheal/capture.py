"""Report and excinfo → :class:`Failure`: plain data, taken where the exception still lives (an xdist worker, a child)."""

from __future__ import annotations

import json
import linecache
import re
import reprlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from pytest_selfheal.types import Failure, Frame, Phase, Raised

ATTRIBUTE = "selfheal_failure"
"""Name of the report attribute that carries the failure as ASCII JSON: the one form that xdist, junitxml and lone
surrogates all survive."""

MAX_FRAMES = 30
MAX_CHAIN = 8
MAX_LOCALS = 25
MAX_TEXT = 12_000
MAX_MESSAGE = 4_000
MAX_OUTPUT = 4_000

_SKIP_DIRS = ("site-packages", "dist-packages")


class _Repr(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 12
        self.maxstring = 160
        self.maxother = 160
        self.maxlong = 60

    def repr_instance(self, x: Any, level: int) -> str:
        try:
            return super().repr_instance(x, level)
        except Exception:  # a __repr__ that raises must not cost the failure
            return f"<{type(x).__name__} object, repr() raised>"


def bounded_repr(value: object) -> str:
    """A repr of at most a few hundred characters that never raises."""
    try:
        return _Repr().repr(value)[:400]
    except Exception:
        return f"<{type(value).__name__} object, repr() raised>"


def bounded(text: str, limit: int) -> str:
    """``text`` cut in its middle to about ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def from_exception(
    nodeid: str, phase: Phase, excinfo: pytest.ExceptionInfo[BaseException], report: Any, rootdir: Path
) -> Failure:
    """The failure of a test or collector whose exception is at hand."""
    error = excinfo.value
    # Unittest, doctest and CollectError hide the exception that a person would look at.
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    inner = getattr(error, "exc_info", None) or _doctest_error(error)
    chain = tuple(_chain(inner[1] if inner else error, rootdir))
    return _make(nodeid, phase, chain, report, rootdir, _wanted(chain, excinfo))


def from_report(report: Any, rootdir: Path) -> Failure:
    """The failure of a report that came without its exception: a crashed worker, a strict xpass, another plugin's report."""
    phase: Phase = getattr(report, "when", None) or "collect"
    message = _longrepr_message(report)
    match = re.match(r"([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Failed|Warning)): ?(.*)", message, re.DOTALL)
    name, text = (match[1], match[2]) if match else ("Failed", message)
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    frames: tuple[Frame, ...] = ()
    if crash is not None and (path := _below(str(crash.path), rootdir)) is not None:
        frames = (Frame(path, crash.lineno, "", linecache.getline(str(crash.path), crash.lineno).strip()),)
    return _make(report.nodeid, phase, (Raised(name, text[:MAX_MESSAGE], frames),), report, rootdir, ())


def attach(report: Any, failure: Failure) -> None:
    setattr(report, ATTRIBUTE, json.dumps(failure.to_dict()))


def detach(report: Any, rootdir: Path) -> Failure:
    """The failure of a failed report, attached where it was made or read off the report."""
    raw = getattr(report, ATTRIBUTE, None)
    if isinstance(raw, str):
        return Failure.from_dict(json.loads(raw))
    return from_report(report, rootdir)


def _make(
    nodeid: str, phase: Phase, chain: tuple[Raised, ...], report: Any, rootdir: Path, wanted: tuple[str, ...]
) -> Failure:
    try:
        text = str(report.longreprtext if hasattr(report, "longreprtext") else report.longrepr)
    except Exception:  # a raising __repr__ inside another plugin's longrepr
        text = ""
    location = getattr(report, "location", None)
    line = location[1] + 1 if location and isinstance(location[1], int) else None
    path = nodeid.partition("::")[0]
    marked = [row[1:].strip() for row in text.splitlines() if row.startswith("E  ") or row == "E"]
    return Failure(
        nodeid=nodeid,
        phase=phase,
        chain=chain,
        text=bounded(text, MAX_TEXT),
        output=tuple(
            (title, bounded(content, MAX_OUTPUT)) for title, content in getattr(report, "sections", []) if content
        ),
        path=path,
        line=line,
        duration=float(getattr(report, "duration", 0.0)),
        explanation=bounded("\n".join(marked), MAX_MESSAGE),
        expected_exception=wanted,
    )


def _chain(error: BaseException, rootdir: Path) -> Iterator[Raised]:
    seen: set[int] = set()
    queue: list[tuple[BaseException, str]] = [(error, "")]
    while queue and len(seen) < MAX_CHAIN:
        current, relation = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield _raised(current, relation, rootdir)
        members = getattr(current, "exceptions", None)
        if isinstance(members, (tuple, list)):
            queue.extend((member, "group") for member in members if isinstance(member, BaseException))
        if current.__cause__ is not None:
            queue.append((current.__cause__, "cause"))
        elif current.__context__ is not None and not current.__suppress_context__:
            queue.append((current.__context__, "context"))


def _raised(error: BaseException, relation: Any, rootdir: Path) -> Raised:
    frames = list(_frames(error.__traceback__, rootdir))
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        path = _below(error.filename, rootdir)
        if path is not None:
            frames.append(Frame(path, error.lineno, "<module>", (error.text or "").strip()))
    first = (getattr(error, "failures", None) or [error])[0]
    if type(first).__name__ in ("DocTestFailure", "UnexpectedException") and first.test.filename:
        path = _below(first.test.filename, rootdir)
        if path is not None:
            line = (first.test.lineno or 0) + first.example.lineno + 1
            frames.append(Frame(path, line, first.test.name, first.example.source.strip()))
    if len(frames) > MAX_FRAMES:  # a recursion: its way in and its end tell enough
        frames = frames[:10] + frames[10 - MAX_FRAMES :]
    return Raised(
        exception=_type_name(type(error)),
        message=_message(error)[:MAX_MESSAGE],
        frames=tuple(frames),
        relation=relation,
        bases=tuple(_type_name(base) for base in type(error).__mro__[1:-2]),
    )


def _type_name(cls: type) -> str:
    return (
        cls.__qualname__
        if cls.__module__ in ("builtins", "_pytest.outcomes")
        else f"{cls.__module__}.{cls.__qualname__}"
    )


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        return "<the exception's str() raised>"
    if isinstance(error, SyntaxError):
        return error.msg or text
    if type(error).__name__ == "FixtureLookupError" and getattr(error, "argname", None):
        return f"fixture '{error.argname}' not found"  # type: ignore[attr-defined]
    first = (getattr(error, "failures", None) or [error])[0]
    if type(first).__name__ == "DocTestFailure":
        example = first.example
        return f"{example.source.strip()}: expected {example.want.strip()}, got {first.got.strip()}"
    return text


def _frames(traceback: TracebackType | None, rootdir: Path) -> Iterator[Frame]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        path = _below(code.co_filename, rootdir)
        hidden = traceback.tb_frame.f_locals.get("__tracebackhide__", False) is True
        if path is not None and not hidden:
            name = getattr(code, "co_qualname", code.co_name)
            values = traceback.tb_frame.f_locals
            yield Frame(
                path=path,
                line=traceback.tb_lineno,
                function=name,
                source=linecache.getline(code.co_filename, traceback.tb_lineno).strip()[:300],
                locals=tuple(
                    (key, bounded_repr(value))
                    for key, value in list(values.items())[:MAX_LOCALS]
                    if not key.startswith(("@", "__"))
                )
                if name != "<module>"
                else (),
            )
        traceback = traceback.tb_next


def _below(filename: str, rootdir: Path) -> str | None:
    """``filename`` relative to rootdir (POSIX), or None when it is outside or somebody else's code."""
    if filename.startswith("<"):
        return None
    for base in {rootdir, rootdir.resolve()}:
        try:
            relative = Path(filename).relative_to(base)
        except ValueError:
            continue
        if any(part in _SKIP_DIRS for part in relative.parts):
            return None
        return relative.as_posix()
    return None


def _doctest_error(error: BaseException) -> Any:
    """The exception inside a doctest's UnexpectedException; None for anything else."""
    failures = getattr(error, "failures", None)
    if failures:
        return getattr(failures[0], "exc_info", None)
    return None


def _wanted(chain: tuple[Raised, ...], excinfo: pytest.ExceptionInfo[BaseException]) -> tuple[str, ...]:
    """Exception types that ``pytest.raises`` on the failing line of the test was waiting for."""
    found: list[str] = []
    for link in chain[:1]:
        found += re.findall(r"DID NOT RAISE <class '([\w.]+)'>", link.message)
        for frame in link.frames:
            if match := re.search(r"\braises\(\s*\(?([\w., ]+)", frame.source):
                found += [name.strip() for name in match[1].split(",") if name.strip()[:1].isupper() or "." in name]
    return tuple(dict.fromkeys(found))


def _longrepr_message(report: Any) -> str:
    longrepr = getattr(report, "longrepr", None)
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message)
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return str(longrepr[2])
    lines = [line[1:].strip() for line in str(longrepr).splitlines() if line.startswith("E ")]
    return "\n".join(lines) if lines else str(longrepr)
