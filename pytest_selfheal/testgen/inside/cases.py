"""From chosen candidates to cases: the call as source, and what to assert of arguments that it changes."""

from __future__ import annotations

import inspect

from pytest_selfheal.testgen.inside.candidate import Candidate, Surroundings
from pytest_selfheal.testgen.inside.evaluate import FIRST_ITEMS, Evaluator
from pytest_selfheal.testgen.inside.gather import Gatherer
from pytest_selfheal.testgen.inside.render import Unrenderable
from pytest_selfheal.testgen.job import Case, Name

_After = tuple[tuple[int, str, str], ...]


class Writer:
    """Makes cases of one subject."""

    def __init__(self, around: Surroundings, evaluator: Evaluator, gatherer: Gatherer) -> None:
        self._around = around
        self._evaluator = evaluator
        self._subject = evaluator.subject
        self._promised = gatherer.promised

    def case(self, candidate: Candidate, kills: frozenset[int], covers: frozenset[tuple[int, int]]) -> Case:
        answer, given = candidate.answer, candidate.input
        call = self._subject.template(given)
        imports = candidate.imports | given.imports | {self._subject.import_name}
        if inspect.iscoroutinefunction(self._subject.function):
            call, imports = f"asyncio.run({call})", imports | {("asyncio", "")}
        if answer.endless:
            call, imports = f"list(itertools.islice({call}, {FIRST_ITEMS}))", imports | {("itertools", "")}
        elif answer.iterated:
            call = f"list({call})"
        after, more = self._after(candidate)
        who = self._promised.get(given.key, ("", None))[0]
        return Case(
            input=given,
            call=call,
            kind="raises" if answer.outcome == "raises" else "value",
            expected=candidate.expected,
            approximate=candidate.approximate,
            after=after,
            imports=frozenset(imports | more),
            fails_before=candidate.differs,
            kills=kills,
            covers=covers,
            backed="docstring" if who == "docstring" else "tests" if who else "",
        )

    def _after(self, candidate: Candidate) -> tuple[_After, frozenset[Name]]:
        """Arguments that the call changes, or that only the old code changed."""
        answer = candidate.answer
        same_value = candidate.before.partition(", then [")[0] == answer.text.partition(", then [")[0]
        only_before = candidate.differs and same_value
        found: list[tuple[int, str, str]] = []
        imports: set[Name] = set()
        for i, (value, changed) in enumerate(zip(answer.after, answer.changed, strict=False)):
            if not changed and not (only_before and isinstance(value, (list, dict, set, bytearray))):
                continue
            renderer = self._around.renderer()
            for form, thing in (("{0}", value), ("vars({0})", getattr(value, "__dict__", None))):
                if thing is None:
                    continue
                try:
                    source = renderer.render(thing)
                except Unrenderable:
                    continue
                if self._evaluator.says(source, renderer.imports, thing):
                    found.append((i, form, source))
                    imports |= renderer.imports
                    break
        return tuple(found), frozenset(imports)
