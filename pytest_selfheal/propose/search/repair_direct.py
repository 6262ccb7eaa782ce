"""Repairs that the failure itself names: syntax, imports, names, attributes, call signatures, operand types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_selfheal.propose.search import repair_direct_attributes as attributes
from pytest_selfheal.propose.search import repair_direct_calls as calls
from pytest_selfheal.propose.search import repair_direct_imports as imports
from pytest_selfheal.propose.search import repair_direct_names as names
from pytest_selfheal.propose.search import repair_direct_syntax as syntax
from pytest_selfheal.propose.search.candidate import Candidate, Draft
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import finish
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure, Raised

Repair = Callable[[Raised, Mapping[str, Source], Context], Iterator[tuple[Source, Draft]]]

_REPAIRS: dict[str, tuple[Repair, ...]] = {
    "ModuleNotFoundError": (imports.missing_module,),
    "ImportError": (imports.missing_import,),
    "NameError": (names.missing_name,),
    "UnboundLocalError": (names.unbound_local, names.missing_name),
    "AttributeError": (attributes.missing_attribute,),
    "TypeError": (calls.arity, calls.operands),
    "KeyError": (names.missing_key,),
}


def direct(
    failure: Failure,
    sources: Mapping[str, Source],
    context: Context,
    broken: Mapping[str, str] | None = None,
) -> Iterator[Candidate]:
    """Candidates, best first. ``broken`` maps paths of files that do not parse to their text (they are no :class:`Source`)."""
    for path, text in (broken or {}).items():
        yield from syntax.repairs(path, text)
    seen: set[tuple[str, object]] = set()
    for link in failure.chain:
        drafts: list[tuple[float, Source, Draft]] = []
        for repair in _REPAIRS.get(link.exception.rpartition(".")[2], ()):
            drafts += [(draft.factor, source, draft) for source, draft in repair(link, sources, context)]
        drafts.sort(key=lambda item: -item[0])
        for factor, source, draft in drafts:
            candidate = finish(source, draft, min(1.0, factor))
            if candidate is not None and (candidate.path, candidate.edits) not in seen:
                seen.add((candidate.path, candidate.edits))
                yield candidate
