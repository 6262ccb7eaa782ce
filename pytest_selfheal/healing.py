"""The run: reproduce → cluster → diagnose → propose, guard, verify (``rounds``) → record. Budgets and order; nothing else."""

from __future__ import annotations

import concurrent.futures
import datetime
import functools
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_selfheal.cluster import cluster, raising_frame
from pytest_selfheal.diagnose import diagnose, missing_service
from pytest_selfheal.errors import SelfhealError
from pytest_selfheal.join import join
from pytest_selfheal.judge import process
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.reproduce import Reproduced, reproduce
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.models import Models
from pytest_selfheal.preparation import Preparation
from pytest_selfheal.project import Project
from pytest_selfheal.propose import Proposer
from pytest_selfheal.remembered import Memory, Remembered
from pytest_selfheal.results import Results
from pytest_selfheal.rounds import Rounds, Tools
from pytest_selfheal.settings import Settings
from pytest_selfheal.settling import Settling
from pytest_selfheal.sightings import Sightings
from pytest_selfheal.surroundings import PytestHooks, parsing_is_quiet, progress_of, signals_interrupt
from pytest_selfheal.triage import Triage, closed
from pytest_selfheal.types import Diagnosis, Failure, Outcome, Patch, RunReport

if TYPE_CHECKING:
    from pytest_selfheal.record.run_dir import Run

logger = logging.getLogger("pytest_selfheal")
logger.addHandler(logging.NullHandler())

RESERVED_SHARE, RESERVED_SECONDS = 0.1, 30.0
"""Of the time for all healing, what is kept for looking at several patches together."""


def heal_run(
    failures: Sequence[Failure], project: Project, settings: Settings, *, config: Any = None, exit_status: int = 1
) -> RunReport:
    """Heal a finished test run: every failure gets an outcome, the run's folder its patches and reports.

    Never writes in the user's tree unless ``settings.apply`` or ``settings.review`` says so. Ctrl-C ends it early with a
    report whose ``stop`` is ``interrupted``. Raises :class:`pytest_selfheal.errors.SelfhealError` when it cannot start.
    """
    process.allow_starting()
    with signals_interrupt(), parsing_is_quiet():
        return _heal_run(failures, project, settings, config, exit_status)


def _heal_run(
    failures: Sequence[Failure], project: Project, settings: Settings, config: Any, exit_status: int
) -> RunReport:
    from pytest_selfheal.record import ci
    from pytest_selfheal.record.report import finish
    from pytest_selfheal.record.run_dir import open_run
    from pytest_selfheal.redact import redactor_for

    settings, no_secrets = ci.without_secrets(settings)
    started = datetime.datetime.now(datetime.timezone.utc)
    clock = time.monotonic()
    seen = {frame.path for failure in failures for link in failure.chain for frame in link.frames}
    seen |= {failure.path for failure in failures}
    redactor = redactor_for(
        settings, (project.top, project.rootdir), (project.rootdir / name for name in sorted(seen) if name)
    )
    run = open_run(
        settings.run_dir(project.rootdir),
        top=project.top,
        rootdir=project.rootdir,
        hide=redactor.hide,
        author=settings.author,
        signoff=settings.signoff,
    )
    try:
        with Workshop(project, settings) as workshop:
            healer = Healer(workshop, run, redactor, config)
            healer.notes += [no_secrets] if no_secrets else []
            stop = healer.work(failures)
            report = RunReport(
                started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
                seconds=time.monotonic() - clock,
                exit_status=exit_status,
                model=settings.model,
                critic=settings.critic,
                strategy=settings.strategy,
                sandbox=workshop.sandbox.name,
                stop=stop,
                outcomes=healer.results.all(),
                top=str(project.top),
                rootdir=str(project.rootdir),
                notes=tuple(healer.notes),
                test_generation=healer.test_generation,
            )
            report = finish(run, report)
            if settings.apply or settings.review:
                report = healer.hand_over(report)
        if config is not None:
            healer.announce(config)
            report = ci.tell(report, config, redactor.hide)
            config.hook.pytest_selfheal_report(report=report)
        return report
    finally:
        if settings.model != "builtin" or settings.critic:
            from pytest_selfheal.propose.model import close

            close()
        process.stop_everything()
        process.allow_starting()  # the next run of this interpreter may begin with a run of its tests
        run.close()


class Healer:
    """The stages of one run, in order."""

    def __init__(self, workshop: Workshop, run: Run, redactor: Any, config: Any) -> None:
        self.workshop = workshop
        self.project = workshop.project
        self.settings = workshop.settings
        self.run = run
        self.config = config
        self._hide = redactor.hide
        self.notes: list[str] = list(workshop.notes)
        self.test_generation: dict[str, Any] | None = None
        self.stop = threading.Event()
        self.deadline = workshop.deadline = time.monotonic() + self.settings.total_time
        self.last_call = self.deadline
        """When work on single causes ends: what is left is for looking at their patches together."""
        self._lock = threading.Lock()
        self._joining = threading.Lock()
        self._open: dict[str, Diagnosis] = {}
        """Causes of this wave that are not done."""
        self._rounds: dict[str, Rounds] = {}
        """Causes that are worked on, or were."""
        self._number = 0
        self._failures: Sequence[Failure] = ()
        self._sightings: Sightings | None = None
        self._tools: dict[str, Tools] = {}
        self._memories: dict[str, Memory] = {}
        self._workers = 1
        """Causes that are worked on at once."""
        self.progress = progress_of(config)
        self.results = Results(run, self.project, self.progress)
        self._models = Models(
            self.settings,
            config,
            self.project.rootdir,
            redactor=redactor,
            trace=run.event,
            note=self.progress.note,
        )
        self._triage = Triage()

    def work(self, failures: Sequence[Failure]) -> str:
        """All stages; returns the run's stop word."""
        self.diagnoses: list[Diagnosis] = []
        try:
            if failures:
                self._first_wave(failures)
                self._second_wave()
                self.notes += [words for words in (self._settling().look_together(),) if words]
            if self.settings.generate_tests:
                self._generate_tests()
        except KeyboardInterrupt:
            self.stop.set()
            self._models.stop()
            process.stop_everything()
            self._interrupt()
            return "interrupted"
        finally:
            self._models.close()
            for tools in self._tools.values():
                tools.affected.close()
            for memory in self._memories.values():
                memory.save()
            self.progress.close()
        if time.monotonic() > self.deadline:
            return "time_limit"
        return "finished"

    # ------------------------------------------------------------------ stages

    def _look_first(self, failures: Sequence[Failure]) -> Sequence[Failure]:
        """A module that does not collect ends pytest before any test runs; then what else passes or fails is found here."""
        ran = [outcome for outcome in self.project.outcomes.values() if outcome not in ("error",)]
        if ran or not all(failure.phase == "collect" for failure in failures):
            return failures
        self.progress.note("no test ran, since a module does not collect: running the others in a copy")
        paths = self._asked_paths()
        first = run_tests(self.workshop, self.workshop.pristine, None, arguments=paths)
        known = {failure.nodeid for failure in failures}
        self.project = replace(
            self.project,
            outcomes={**self.project.outcomes, **first.outcomes},
            durations={**self.project.durations, **first.durations},
        )
        self.workshop.project = self.project
        return [*failures, *(failure for failure in first.failures if failure.nodeid not in known)]

    def _asked_paths(self) -> list[str]:
        """What the user asked pytest to run, as the copy has it."""
        given = getattr(getattr(self.config, "option", None), "file_or_dir", None) or []
        paths = [self.project.invocation_dir / str(name).partition("::")[0] for name in given]
        return [str(self.workshop.pristine.seen(path)) for path in paths if path.exists()]

    def _first_wave(self, failures: Sequence[Failure]) -> None:
        self._remember(self.workshop)
        failures = self._look_first(failures)
        self._failures = failures
        self._models.warm_up()
        preparing = Preparation(
            self.tools(self.workshop),
            self._triage,
            lambda: [self._diagnosis(0, group, self.workshop) for group in cluster(failures)],
            lambda diagnosis: self._known(diagnosis, self.workshop),
            lambda diagnosis: self._models.begin(self.workshop, diagnosis),
        )
        self.progress.note(f"running {len(failures)} failure{'' if len(failures) == 1 else 's'} again, unpatched")
        sightings = Sightings(self.workshop, failures)
        there = sightings.look()
        preparing.wait()
        sightings.confirm(self._seen_before(there))
        self._sightings = sightings
        self._search(there)
        self._models.drop()
        found = sightings.result()
        self._search_without([each.failure for each in found if each.reason is None])
        self._sightings = None  # what comes later is seen again on its own
        for each in found:
            if each.reason is not None:
                self._not_reproduced(each)
        self._settling().join_given_up()

    def _remember(self, workshop: Workshop) -> None:
        if self.settings.strategy == "auto":
            self._memories[str(workshop.folder)] = Memory(workshop, self._hide)

    def _known(self, diagnosis: Diagnosis, workshop: Workshop) -> Patch | None:
        memory = self._memories.get(str(workshop.folder))
        return memory.patch(diagnosis) if memory is not None else None

    def _seen_before(self, failures: Sequence[Failure]) -> list[str]:
        """Failing tests that an earlier run saw in this very code as often as it should, and repaired."""
        groups = [self._diagnosis(0, group, self.workshop) for group in cluster(failures)]
        known = [group for group in groups if self._known(group, self.workshop) is not None]
        return [nodeid for group in known for nodeid in group.nodeids]

    def _confirmed(self, diagnosis: Diagnosis) -> bool:
        return self._sightings is None or self._sightings.hold(diagnosis.failures)

    def _search_without(self, there: Sequence[Failure]) -> None:
        """Where a failure of a cause turned out to come and go, nothing was judged or written: what is left of it begins anew."""
        gone = [diagnosis for diagnosis in self.diagnoses if not self._confirmed(diagnosis)]
        if gone:
            self.diagnoses = [diagnosis for diagnosis in self.diagnoses if diagnosis not in gone]
            seen = {nodeid for diagnosis in gone for nodeid in diagnosis.nodeids}
            left = self._diagnose([failure for failure in there if failure.nodeid in seen], self.workshop)
            self.diagnoses += left
            self.results.joined.update(diagnosis.id for diagnosis in gone)
            self.progress.start(self._number - len(self.results.joined))
            self._heal_all(left, self.workshop)

    def _search(self, failures: Sequence[Failure]) -> None:
        self._number = 0
        self.diagnoses = self._diagnose(failures, self.workshop)
        tools = self.tools(self.workshop)
        tools.deadline = self.last_call = self.deadline
        if len(self.diagnoses) > 1:
            tools.deadline = self.last_call = self.deadline - min(
                RESERVED_SHARE * self.settings.total_time, RESERVED_SECONDS
            )
        self.progress.start(self._number)
        self._models.announce(len(self.diagnoses))
        suspects = [suspect.path for diagnosis in self.diagnoses for suspect in diagnosis.suspects]
        if suspects:
            tools.affected.measure(suspects)
        self._heal_all(self.diagnoses, self.workshop)

    def _not_reproduced(self, seen: Reproduced) -> None:
        if seen.reason in ("flaky", "not_reproduced"):
            for memory in self._memories.values():
                memory.doubt(seen.failure.nodeid)
        [diagnosis] = self._diagnose([seen.failure], self.workshop)
        if seen.reason == "not_reproduced" and (why := missing_service(seen.failure)):
            self.results.finish(closed(diagnosis, "environment", f"{why[0].upper()}{why[1:]}."))
            return
        self.results.finish(closed(diagnosis, seen.reason or "not_reproduced", _sentence(seen.words)))

    def _second_wave(self) -> None:
        """A module that collects again may show failures that nobody could see before."""
        for outcome in self.results.all():
            if outcome.status != "healed" or outcome.verdict is None or outcome.patch is None:
                continue
            new = [failure for failure in outcome.verdict.new_failures if failure.phase != "collect"]
            if not new:
                continue
            base = outcome.patch
            with self.workshop.rebased(base.changes) as workshop:
                workshop.project = replace(
                    self.project,
                    outcomes={**self.project.outcomes, **{f.nodeid: "failed" for f in new}},
                    calls=None,  # they were seen in the code as it was before the first patch
                )
                self._remember(workshop)
                seen = reproduce(workshop, new)
                diagnoses = self._diagnose([each.failure for each in seen if each.reason is None], workshop)
                for each in seen:
                    if each.reason is not None:
                        self._not_reproduced(each)
                self._heal_all(diagnoses, workshop, base=outcome)

    def _settling(self) -> Settling:
        tools = replace(self.tools(self.workshop), deadline=self.deadline)
        return Settling(self.results, tools, self.progress.note)

    def _generate_tests(self) -> None:
        from pytest_selfheal.testgen import generate

        if time.monotonic() > self.deadline:
            self.notes.append("No tests were generated: the time of this run was used up (--selfheal-total-time).")
            return
        self.progress.note("generating tests")
        result = generate(self.workshop, self.results.all(), self.run, self._models.asker())
        self.test_generation = result.summary
        for outcome in result.outcomes:
            self.results.put(outcome)

    # ------------------------------------------------------------------ one cause

    def _diagnose(self, failures: Sequence[Failure], workshop: Workshop) -> list[Diagnosis]:
        found = []
        for group in cluster(failures):
            with self._lock:
                self._number += 1
                number = self._number
            found.append(self._diagnosis(number, group, workshop))
        return found

    def _diagnosis(self, number: int, group: Sequence[Failure], workshop: Workshop) -> Diagnosis:
        return diagnose(
            number,
            group,
            root=str(workshop.pristine.top),
            rootdir=str(workshop.pristine.rootdir),
            prefix=self.project.prefix,
            changed_lines=self._changed_lines,
            is_test_file=self.project.is_test_file,
        )

    @functools.cached_property
    def _changed_lines(self) -> Mapping[str, frozenset[int]]:
        from pytest_selfheal.record.patch import changed_lines

        return changed_lines(self.project.top) if self.project.git else {}

    def _heal_all(self, diagnoses: Sequence[Diagnosis], workshop: Workshop, base: Outcome | None = None) -> None:
        """First what an earlier run has repaired: that needs no search, and it often repairs the other causes as well."""
        self._open = {diagnosis.id: diagnosis for diagnosis in diagnoses}
        known = [diagnosis for diagnosis in diagnoses if self._known(diagnosis, workshop) is not None]
        self._heal_side_by_side(known, workshop, base, searching=False)
        left = [diagnosis for diagnosis in known if diagnosis.id in self._open]
        if left and workshop is self.workshop:
            self._look_again(left)
        self._heal_side_by_side(list(self._open.values()), workshop, base)

    def _look_again(self, diagnoses: Sequence[Diagnosis]) -> None:
        """What was found for these does not hold. So they are seen as often as any before somebody searches."""
        assert self._sightings is not None
        flickering, gone = self._sightings.look_at_spared(
            nodeid for diagnosis in diagnoses for nodeid in diagnosis.nodeids
        )
        for diagnosis in diagnoses:
            left = [each for each in diagnosis.failures if each.key not in flickering]
            if len(left) < len(diagnosis.failures):
                del self._open[diagnosis.id]
                self.diagnoses.remove(diagnosis)
                again = self._diagnose(left, self.workshop)
                self.diagnoses += again
                self._open.update((each.id, each) for each in again)
        for each in gone:
            self._not_reproduced(each)

    def _heal_side_by_side(
        self, diagnoses: Sequence[Diagnosis], workshop: Workshop, base: Outcome | None, searching: bool = True
    ) -> None:
        self._workers = min(self.settings.worker_count, max(1, len(diagnoses)))
        # The work is done in child processes; a thread for each cause only waits for them.
        with concurrent.futures.ThreadPoolExecutor(self._workers, thread_name_prefix="selfheal") as pool:
            ordered = sorted(diagnoses, key=self._turn)
            futures = [pool.submit(self._heal_one, diagnosis, workshop, base, searching) for diagnosis in ordered]
            try:
                for future in concurrent.futures.as_completed(futures):
                    future.result()
            except BaseException:
                self.stop.set()
                self._models.stop()
                process.stop_everything()
                for future in futures:
                    future.cancel()
                raise

    def _turn(self, diagnosis: Diagnosis) -> tuple[bool, bool, int, float]:
        """Endless loops first: started last, they would be waited for alone. Then what is easiest to locate.

        An exception of the code's own shows where to look, several failing tests say more than one, and a quick test runs
        little: what is found there often repairs the other causes as well.
        """
        failure = diagnosis.failure
        place = raising_frame(failure)
        durations = [self.project.durations.get(nodeid, 0.0) for nodeid in diagnosis.nodeids]
        elsewhere = place is None or place.path == failure.path
        return diagnosis.kind != "timeout", elsewhere, -len(diagnosis.nodeids), min(durations, default=0.0)

    def _work_on(self, diagnosis: Diagnosis, workshop: Workshop, searching: bool) -> Outcome:
        from pytest_selfheal.sources import with_sources

        try:
            diagnosis = with_sources(diagnosis)
            outcome = self._triage.before(diagnosis, workshop)
            if outcome is not None:
                return outcome
            proposers: list[Proposer] = []
            if searching:
                stub = self._triage.stub(diagnosis, workshop)
                if stub and not self._models.can_write:
                    words = (
                        f"{stub} is a stub that was never written; writing it needs a model: add --selfheal-model NAME."
                    )
                    return closed(diagnosis, "no_candidate", words)
                proposers = self._models.proposers(workshop, diagnosis, stub is not None)
            elif (known := self._known(diagnosis, workshop)) is not None:
                proposers = [Remembered(known)]
            before = self._rounds.get(diagnosis.id)
            rounds = self._rounds[diagnosis.id] = Rounds(
                self.tools(workshop),
                diagnosis,
                proposers,
                lambda: self._others(diagnosis),
                before.history if before is not None else [],
            )
            outcome = rounds.run()
            if (memory := self._memories.get(str(workshop.folder))) is not None:
                memory.learn(diagnosis, outcome)
            return self._triage.after(outcome, workshop) if searching else outcome
        except SelfhealError:
            raise  # the disk, the sandbox: it concerns every cause
        except Exception as error:  # a fault of ours in one cause must not cost the others
            if os.environ.get("SELFHEAL_DEBUG"):
                raise
            logger.debug("cause %s", diagnosis.id, exc_info=error)
            words = (
                f"self-heal stopped working on it by a fault of its own ({type(error).__name__}: {str(error)[:200]})."
            )
            return closed(diagnosis, "infrastructure", words)

    def _others(self, diagnosis: Diagnosis) -> list[Diagnosis]:
        """Open causes beside one that is worked on."""
        return [other for other in list(self._open.values()) if other.id != diagnosis.id]

    def _heal_one(self, diagnosis: Diagnosis, workshop: Workshop, base: Outcome | None, searching: bool) -> None:
        if self.stop.is_set() or diagnosis.id not in self._open:
            return
        if time.monotonic() > self.last_call and self._confirmed(diagnosis):
            with self._joining:
                self._open.pop(diagnosis.id, None)
            self.results.finish(closed(diagnosis, "time_limit", "The time for all healing of this run was used up."))
            return
        self.progress.update(diagnosis, "diagnosing")
        outcome = self._work_on(diagnosis, workshop, searching)
        if outcome.reason == "interrupted" or not self._confirmed(diagnosis):
            return
        if not searching and outcome.status != "healed":
            return  # it stays open
        with self._joining:
            if self._open.pop(diagnosis.id, None) is None:
                return  # the patch of another cause repaired this one as well
            # What passes now and then would seem to be repaired as well.
            self._open = {other.id: other for other in self._open.values() if self._confirmed(other)}
            if outcome.status == "healed":
                outcome, joined = join(outcome, self._open.values(), self.tools(workshop))
                for other in joined:
                    del self._open[other.id]
                    self.results.joined.add(other.id)
                    if other.id in self._rounds:
                        self._rounds[other.id].dropped.set()
                if joined:
                    self.progress.start(self._number - len(self.results.joined))
        if base is not None and outcome.patch is not None:
            outcome = _on_top_of(outcome, base)
        self.results.finish(outcome)

    def _interrupt(self) -> None:
        told = [*self.diagnoses, *(outcome.diagnosis for outcome in self.results.all())]
        known = {nodeid for diagnosis in told for nodeid in diagnosis.nodeids}
        # What was gone at the first sighting is told at the end of the first wave.
        left = self._diagnose([f for f in self._failures if f.nodeid not in known], self.workshop)
        for diagnosis in (*self.diagnoses, *left):
            if diagnosis.id not in self.results and diagnosis.id not in self.results.joined:
                words = "The run was interrupted before this failure was done."
                self.results.finish(closed(diagnosis, "interrupted", words))

    def announce(self, config: Any) -> None:
        """Tell other plugins of each healed cause, now that none of the patches can be withdrawn any more."""
        for outcome in self.results.healed():
            config.hook.pytest_selfheal_healed(
                failure=outcome.diagnosis.failure, patch=outcome.patch, verdict=outcome.verdict
            )

    def tools(self, workshop: Workshop) -> Tools:
        with self._lock:
            key = str(workshop.folder)
            if key not in self._tools:
                self._tools[key] = Tools(
                    settings=self.settings,
                    workshop=workshop,
                    affected=AffectedTests(workshop.project, workshop.pristine.top, workshop),
                    hooks=PytestHooks(self.config),
                    critic=self._models.critic(),
                    event=self.run.event,
                    progress=self.progress.stage,
                    deadline=self.last_call,
                    stop=self.stop,
                    confirmed=self._confirmed,
                    cores=lambda: self._cores(workshop),
                )
            return self._tools[key]

    def _cores(self, workshop: Workshop) -> int:
        """Cores for each of the causes that are worked on."""
        busy = max(1, min(len(self._open), self._workers))
        return max(1, (os.cpu_count() or 1) // busy) if workshop.sandbox.apart else 1

    # ------------------------------------------------------------------ consent

    def hand_over(self, report: RunReport) -> RunReport:
        """``--selfheal-review`` asks, ``--selfheal-apply`` writes; with both, only what was agreed to is written."""
        from pytest_selfheal.record.consent import hand_over

        return hand_over(self.run, report, self.settings, self.config, self.another_round)

    def another_round(self, outcome: Outcome, reason: str) -> Outcome | None:
        """The model's next patch for a cause whose patch a person rejected for ``reason``; ``None`` without a model."""
        if self.settings.model == "builtin" or outcome.includes:
            return None
        from pytest_selfheal.record.report import write_outcome

        history = [replace(each, feedback=reason) if each.verdict == "healed" else each for each in outcome.attempts]
        # The person's own time does not count.
        tools = replace(self.tools(self.workshop), deadline=time.monotonic() + self.settings.time_limit)
        model = self._models.proposers(self.workshop, outcome.diagnosis)[-1:]
        rounds = Rounds(tools, outcome.diagnosis, model, history=history, usage=outcome.usage)
        return write_outcome(self.run, rounds.run(), self.project)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] if words else words


def _on_top_of(outcome: Outcome, base: Outcome) -> Outcome:
    """A second-wave patch, made on top of another: whole on its own when both change the same file."""
    from pytest_selfheal.record.patch import make_diff

    assert outcome.patch is not None
    assert base.patch is not None
    first = {change.path: change for change in base.patch.changes}
    if not any(change.path in first for change in outcome.patch.changes):
        return outcome
    merged = dict(first)
    for change in outcome.patch.changes:
        before = first[change.path].before if change.path in first else change.before
        merged[change.path] = replace(change, before=before)
    changes = tuple(merged[path] for path in sorted(merged))
    return outcome.but(
        patch=replace(outcome.patch, changes=changes),
        diff=make_diff(changes).decode("utf-8", "replace"),
        includes=(base.diagnosis.id,),
    )
