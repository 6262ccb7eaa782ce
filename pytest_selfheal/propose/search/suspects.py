"""Suspect lines from what failing and passing tests execute, joined with what the failure's own frames tell.

On real projects the function at fault runs in the failing test nearly always, but stands in its traceback seldom.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pytest_selfheal.localize import ochiai
from pytest_selfheal.propose.search.observe import Trace
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Suspect

MAX_FUNCTIONS = 60
DEPTH_DECAY = 0.93
"""How much less suspicious a function is for each project function between it and the test."""
NAMED = 1.25
"""Factor for a function whose name stands in the test's name."""
QUOTED, MOST_QUOTED = 0.3, 3
"""What each text that the failure quotes adds to a function in which it stands, and how many count."""
COMMON = 4
"""A text that stands in more functions of a file says nothing of any of them."""
UNTOUCHED = 0.1
"""Suspiciousness of the module level of a file that was imported, but of which the failing tests ran no function."""
MODULE_LEVEL = 0.25
"""Suspiciousness of a file's module level (constants, class attributes, signatures), relative to its best function."""


def suspects(
    failing: Sequence[Trace],
    passing: Sequence[Trace],
    known: Iterable[Suspect],
    sources: Mapping[str, Source],
    absolute: Mapping[str, str],
    test_names: Iterable[str],
    messages: Iterable[str] = (),
) -> tuple[Suspect, ...]:
    """Suspects for :func:`~pytest_selfheal.propose.search.generate.generate`, most suspicious first.

    ``absolute`` maps paths of ``sources`` to the real paths that traces use; ``messages`` are the failures' own words.
    """
    said = frozenset(text for message in messages for text in _QUOTED.findall(message[:20_000]))
    words = {word for name in test_names for word in name.lower().replace("[", "_").split("_") if len(word) > 2}
    frames: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, int], float] = {}
    for suspect in known:
        if suspect.path in sources:
            name = sources[suspect.path].function_at(suspect.line) if suspect.line else suspect.function
            key = (suspect.path, name)
            frames[key] = max(frames.get(key, 0.0), suspect.score)
            if suspect.line:
                lines[suspect.path, suspect.line] = suspect.score
    ranked: list[tuple[float, str, str, dict[int, float], str]] = []
    for path, source in sources.items():
        real = absolute[path]
        scores = _line_scores(real, failing, passing)
        depths = _depths(real, failing)
        quoted = _quoting(source, said)
        best_of_file = 0.0
        for qualname, node in source.functions.items():
            if ".<locals>." in qualname:
                continue
            first = node.body[0].lineno
            own = {n: s for n, s in scores.items() if first <= n <= (node.end_lineno or first)}
            framed = frames.get((path, qualname), 0.0)
            if not own and not framed:
                continue
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            score = max(own.values(), default=0.3) * DEPTH_DECAY ** depths.get(start, 3)
            if words & set(node.name.lower().strip("_").split("_")):
                score *= NAMED
            score *= 1.0 + QUOTED * min(quoted.get(qualname, 0), MOST_QUOTED)
            # A frame of the traceback adds to what coverage says; on its own it says little.
            score = score * (0.6 + 0.4 * framed)
            for (where, line), value in lines.items():
                if where == path and first <= line <= (node.end_lineno or first):
                    own[line] = max(own.get(line, 0.0), 0.6) + 0.4 * value
            best_of_file = max(best_of_file, score)
            ranked.append((score, path, qualname, own, "runs in the failing tests" if own else "in the traceback"))
        if not best_of_file:
            ranked.append((UNTOUCHED, path, "<module>", {}, "is imported"))
        else:
            ranked.append((MODULE_LEVEL * best_of_file, path, "<module>", {}, "module level"))
    ranked.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    found: list[Suspect] = []
    for score, path, qualname, own, why in ranked[:MAX_FUNCTIONS]:
        top = max(own.values(), default=1.0) or 1.0
        found.append(Suspect(path, 0, qualname, score, why))
        for line, value in sorted(own.items()):
            found.append(Suspect(path, line, qualname, score * value / top, why))
    return tuple(found)


_QUOTED = re.compile(r"'(\w[^'\n]{2,60})'")


def _quoting(source: Source, said: frozenset[str]) -> dict[str, int]:
    """How many of the quoted texts stand in each function of a file as literals of their own."""
    if not said:
        return {}
    holders: dict[str, set[str]] = {}
    for qualname, node in source.functions.items():
        for child in ast.walk(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str) and child.value in said:
                holders.setdefault(child.value, set()).add(qualname.split(".<locals>.")[0])
    return dict(Counter(name for names in holders.values() if len(names) <= COMMON for name in names))


def shares(
    failing: Sequence[Trace], passing: Sequence[Trace], absolute: Mapping[str, str]
) -> dict[str, dict[int, float]]:
    """By file and line: which share of the tests that run it fail (0..1)."""
    found: dict[str, dict[int, float]] = {}
    for path, real in absolute.items():
        failed = Counter(line for trace in failing for line in trace.lines.get(real, ()))
        passed = Counter(line for trace in passing for line in trace.lines.get(real, ()))
        if passed:
            found[path] = {line: count / (count + passed[line]) for line, count in failed.items() if passed[line]}
    return found


def _line_scores(real: str, failing: Sequence[Trace], passing: Sequence[Trace]) -> dict[int, float]:
    failed_with: dict[int, int] = {}
    passed_with: dict[int, int] = {}
    for traces, counts in ((failing, failed_with), (passing, passed_with)):
        for trace in traces:
            for line in trace.lines.get(real, ()):
                counts[line] = counts.get(line, 0) + 1
    return {n: ochiai(count, len(failing), passed_with.get(n, 0)) for n, count in failed_with.items()}


def _depths(real: str, failing: Sequence[Trace]) -> dict[int, int]:
    found: dict[int, int] = {}
    for trace in failing:
        for (path, line), depth in trace.depths.items():
            if path == real:
                found[line] = min(found.get(line, 99), depth)
    return found


def executed_files(traces: Iterable[Trace]) -> dict[str, float]:
    """Real paths of the files that ran, with the share of all executed lines that were theirs."""
    counts: dict[str, int] = {}
    for trace in traces:
        for path, lines in trace.lines.items():
            if lines:
                counts[path] = counts.get(path, 0) + len(lines)
    total = math.fsum(counts.values()) or 1.0
    return {os.path.realpath(path): count / total for path, count in counts.items()}
