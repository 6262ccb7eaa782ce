"""What a module imports and never uses was meant to be called: calls of it on what is in scope."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from pytest_selfheal.propose.search.kinds import COLLECTIONS, NUMBERS, Kind
from pytest_selfheal.propose.search.source import Region

_LEAVES = 4
_FORMS: dict[str, tuple[str, ...]] = {
    "math": ("sqrt({n})", "floor({n})", "ceil({n})", "factorial({n})", "log({n})", "log2({n})", "log10({n})", "exp({n})",
             "gcd({n}, {m})", "pow({n}, {m})", "pow({n}, 2)", "pow({n}, 0.5)", "hypot({n}, {m})", "radians({n})",
             "degrees({n})", "isqrt({n})", "fabs({n})", "prod({c})", "fsum({c})"),
    "heapq": ("nlargest({n}, {c})", "nsmallest({n}, {c})", "heappop({c})", "merge({c}, {d})"),
    "collections": ("Counter({c})", "OrderedDict({c})", "deque({c})", "defaultdict(list)", "defaultdict(int)"),
    "itertools": ("chain({c}, {d})", "chain.from_iterable({c})", "combinations({c}, {n})", "permutations({c})",
                  "product({c}, {d})", "groupby({c})", "accumulate({c})", "zip_longest({c}, {d})"),
    "functools": ("reduce(lambda a, b: a * b, {c})", "reduce(lambda a, b: a + b, {c})"),
    "bisect": ("bisect({c}, {n})", "bisect_left({c}, {n})", "bisect_right({c}, {n})"),
    "copy": ("deepcopy({c})", "copy({c})"),
    "statistics": ("mean({c})", "median({c})", "mode({c})", "pstdev({c})"),
    "json": ("dumps({c})", "loads({c})"),
}  # fmt: skip


def library_calls(region: Region, leaves: Sequence[tuple[str, Kind]]) -> Iterator[str]:
    """Calls of imported and unused functions on ``leaves`` (names in scope and their kinds), as source."""
    tree = region.source.tree
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name
                if name not in used:
                    for form in _FORMS.get(alias.name, ()):
                        yield from _on(f"{name}.{form}", leaves)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                if name not in used:
                    own = [form for form in _FORMS.get(node.module or "", ()) if form.startswith(f"{alias.name}(")]
                    for form in own or (f"{alias.name}({{c}})", f"{alias.name}({{n}})", f"{alias.name}({{n}}, {{m}})"):
                        yield from _on(name + form[len(alias.name) :], leaves)


def _on(form: str, leaves: Sequence[tuple[str, Kind]]) -> Iterator[str]:
    numbers = [name for name, kind in leaves if kind in NUMBERS | {"any"}][:_LEAVES]
    collections = [name for name, kind in leaves if kind in COLLECTIONS | {"any", "iterator"}][:_LEAVES]
    slots = [slot for slot in ("n", "m", "c", "d") if f"{{{slot}}}" in form]
    choices = [numbers if slot in "nm" else collections for slot in slots]
    for row in itertools.product(*choices):
        if len(set(row)) == len(row):
            yield form.format(**dict(zip(slots, row, strict=True)))
