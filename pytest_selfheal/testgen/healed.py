"""Every healed cause of a run, side by side as they were healed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.testgen import Generated, summary
from pytest_selfheal.testgen.model import Asker
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.regression import Healed, with_tests
from pytest_selfheal.types import Outcome

if TYPE_CHECKING:
    from pytest_selfheal.record.run_dir import Run


def all_healed(workshop: Workshop, outcomes: tuple[Outcome, ...], run: Run, asker: Asker | None = None) -> Generated:
    """Regression tests for each healed cause; a cause whose patch a later one contains gets none of its own."""
    from pytest_selfheal.record.patch import list_files
    from pytest_selfheal.record.report import write_outcome

    contained = {earlier for outcome in outcomes for earlier in outcome.includes}
    healed = [o for o in outcomes if o.status == "healed" and o.patch is not None and o.diagnosis.id not in contained]
    places = Places(workshop.project, workshop.pristine.top, list_files(workshop.project.top))
    affected = AffectedTests(workshop.project, workshop.pristine.top)

    def one(outcome: Outcome) -> Healed:
        try:
            return with_tests(workshop, places, outcome, affected, asker)
        except SelfhealError as error:
            run.event("tests", id=outcome.diagnosis.id, error=str(error))
        except Exception as error:  # a fault of ours must not cost the repair that is there already
            if os.environ.get("SELFHEAL_DEBUG"):
                raise
            run.event("tests", id=outcome.diagnosis.id, error=f"{type(error).__name__}: {error}")
        return Healed(outcome, [])

    with ThreadPoolExecutor(max(1, workshop.settings.worker_count), thread_name_prefix="selfheal-tests") as pool:
        done = list(pool.map(one, healed))
    functions = []
    changed: dict[str, Outcome] = {}
    for each in done:
        functions += each.functions
        for function in each.functions:
            run.event("tests", id=each.outcome.diagnosis.id, **function)
        if each.outcome.generated_tests:
            changed[each.outcome.diagnosis.id] = write_outcome(run, each.outcome, workshop.project)
    result = tuple(changed.get(outcome.diagnosis.id, outcome) for outcome in outcomes)
    files = [path for outcome in result for path in outcome.generated_tests]
    nothing = "no function was changed in a way that could be tested" if healed else "nothing was healed"
    notes = () if functions else (f"No tests were generated: {nothing}.",)
    return Generated(result, summary.report(functions, "regression", files, notes))
