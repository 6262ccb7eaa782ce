"""The data that travels from stage to stage: frozen, picklable, free of pytest, git and models.

``Failure → Diagnosis → Patch → Verdict → Outcome → RunReport``: each stage takes the one before and returns the next.
Paths are POSIX strings relative to the *top* (the git top level, or rootdir without git) unless a field says otherwise.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Phase = Literal["call", "setup", "teardown", "collect"]
Kind = Literal[
    "syntax",
    "import",
    "name",
    "type",
    "attribute",
    "value",
    "index",
    "key",
    "logic",
    "timeout",
    "recursion",
    "runtime",
    "environment",
]
Status = Literal["healed", "unhealed", "skipped"]
VerdictKind = Literal["healed", "still_failing", "regressed", "guarded", "malformed", "duplicate", "error"]
Confidence = Literal["high", "medium", "low"]
StopReason = Literal[
    "healed",
    "attempts_exhausted",
    "no_candidate",
    "flaky",
    "not_reproduced",
    "environment",
    "stuck",
    "truncated",
    "infrastructure",
    "cost_limit",
    "token_limit",
    "time_limit",
    "guarded",
    "rejected",
    "test_suspect",
    "interrupted",
]

CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


def is_doctest(nodeid: str) -> bool:
    """Whether a nodeid names the examples of a docstring or a text file: what follows the file is a dotted name."""
    path, _, rest = nodeid.partition("::")
    name = rest.partition("[")[0]
    module = re.split(r"[/.]", path.removesuffix(".py"))[-1]
    return bool(rest) and "::" not in rest and ("." in name or name == module)


def lower(first: Confidence, second: Confidence) -> Confidence:
    """The lower of two confidences."""
    return min(first, second, key=CONFIDENCES.index)


@dataclass(frozen=True)
class Frame:
    """One frame of a traceback."""

    path: str
    """Relative to rootdir when below it (POSIX), else absolute."""
    line: int
    """1-based line that was executing."""
    function: str
    """Qualified name where the interpreter knows it (3.11), else the plain name; ``<module>`` at module level."""
    source: str
    """The line's text, stripped."""
    locals: tuple[tuple[str, str], ...] = ()
    """Names and bounded reprs."""


@dataclass(frozen=True)
class Raised:
    """One exception of a chain."""

    exception: str
    """Type name; ``module.Name`` for anything that is not a builtin."""
    message: str
    frames: tuple[Frame, ...] = ()
    """Outermost first; only frames of files below rootdir (the tests' own included)."""
    relation: Literal["", "cause", "context", "group"] = ""
    """How it hangs on the exception before it in the chain."""
    bases: tuple[str, ...] = ()
    """Names of the type's bases, nearest first."""


@dataclass(frozen=True)
class Failure:
    """One failed report of pytest, as plain data."""

    nodeid: str
    phase: Phase
    chain: tuple[Raised, ...]
    """The reported exception first, then its causes and the members of an exception group."""
    text: str = ""
    """What pytest printed of it (bounded)."""
    output: tuple[tuple[str, str], ...] = ()
    """Captured sections: title and (bounded) content."""
    path: str = ""
    """The test file (for a collection error: the collected file), relative to rootdir."""
    line: int | None = None
    """1-based line of the test's definition."""
    duration: float = 0.0
    """Seconds."""
    explanation: str = ""
    """The assertion rewriter's explanation: pytest's lines marked ``E``."""
    expected_exception: tuple[str, ...] = ()
    """Type names that the failing line wanted (``pytest.raises``)."""

    @property
    def exception(self) -> str:
        return self.chain[0].exception if self.chain else ""

    @property
    def message(self) -> str:
        return self.chain[0].message if self.chain else ""

    @property
    def innermost(self) -> Frame | None:
        """The deepest frame below rootdir of the reported exception."""
        return self.chain[0].frames[-1] if self.chain and self.chain[0].frames else None

    @property
    def signature(self) -> str:
        """What must be the same for two failures to be *the same failure* when a test is run again.

        Phase, exception types, raising place and the message without what may differ from run to run
        (addresses, numbers of seconds, temporary folders).
        """
        place = self.innermost
        parts = [
            self.phase,
            *(link.exception for link in self.chain),
            f"{place.path}:{place.line}" if place and not _is_timeout(self) else "",
            "" if _is_timeout(self) else stable(self.message),
        ]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]

    @property
    def key(self) -> tuple[str, str]:
        """The test and the :attr:`signature`: a test may have several failures."""
        return self.nodeid, self.signature

    def to_dict(self) -> dict[str, Any]:
        """Plain data that survives xdist's serialiser and JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Failure:
        chain = tuple(
            Raised(
                exception=link["exception"],
                message=link["message"],
                frames=tuple(
                    Frame(**{**frame, "locals": tuple((k, v) for k, v in frame["locals"])}) for frame in link["frames"]
                ),
                relation=link["relation"],
                bases=tuple(link["bases"]),
            )
            for link in data["chain"]
        )
        output = tuple((title, content) for title, content in data["output"])
        rest = {k: v for k, v in data.items() if k not in ("chain", "output", "expected_exception")}
        return cls(chain=chain, output=output, expected_exception=tuple(data["expected_exception"]), **rest)


def _is_timeout(failure: Failure) -> bool:
    return failure.message.startswith("Timeout ")


_VOLATILE = re.compile(
    r"0x[0-9a-fA-F]+|(?:/[^\s'\"]*)?/(?:tmp|var/folders)/[^\s'\"]*|\b\d+\.\d+s\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"
)


def stable(text: str) -> str:
    """``text`` without addresses, temporary paths, UUIDs and times in seconds."""
    return _VOLATILE.sub("~", text)


@dataclass(frozen=True)
class Suspect:
    """A place that may hold the fault."""

    path: str
    line: int
    function: str
    score: float
    """Suspiciousness in 0..1; comparable within one diagnosis only."""
    why: str = ""


@dataclass(frozen=True)
class Excerpt:
    """Source to show beside a diagnosis: a suspect function, or as much of a long one as matters."""

    path: str
    function: str
    """Qualified name."""
    first: int
    """1-based line of the first one shown."""
    text: str
    line: int
    """The suspicious one."""


@dataclass(frozen=True)
class Diagnosis:
    """What is known of one cause before anybody proposes a change: the failures that share it, and the suspects."""

    id: str
    """``0001``, … in the order of the run."""
    failures: tuple[Failure, ...]
    kind: Kind
    suspects: tuple[Suspect, ...]
    """Most suspicious first."""
    summary: str
    """One sentence for people."""
    root: str = ""
    """Absolute path of the pristine copy's top; read sources from here, never write."""
    rootdir: str = ""
    """pytest's rootdir inside that copy, absolute."""
    sources: tuple[Excerpt, ...] = ()
    """The likeliest suspect functions, most suspicious first."""

    @property
    def failure(self) -> Failure:
        """The representative failure."""
        return self.failures[0]

    @property
    def nodeids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(failure.nodeid for failure in self.failures))


@dataclass(frozen=True)
class FileChange:
    """Bytes of one file before and after; ``None`` where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Usage:
    """What a proposal cost. ``cost_usd`` is ``None`` when the price is unknown, never 0."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True)
class Patch:
    """A proposed change, complete and unjudged."""

    changes: tuple[FileChange, ...]
    proposer: str
    """``search``, ``model`` or the name of another plugin's proposer."""
    description: str
    """One line for people: what was changed (``replace < with <= in parse()``)."""
    diagnosis: str = ""
    """Root cause in words, where the proposer knows it."""
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    candidates_tried: int = 0
    confidence: Confidence = "medium"
    """The proposer's own; verification can only lower it."""
    alternatives: tuple[Alternative, ...] = ()
    """Other plausible patches that behave differently from this one."""
    note: str = ""
    """What a person should know: e.g. the input on which alternatives differ."""
    cpu_seconds: float = 0.0

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)


@dataclass(frozen=True)
class Alternative:
    """A plausible patch that was not chosen, and how to tell it from the chosen one."""

    changes: tuple[FileChange, ...]
    description: str
    distinguishing_input: str = ""
    """E.g. ``clamp(5, 5) → 5 here, 4 in the chosen patch``."""


@dataclass(frozen=True)
class Rejected:
    """A proposal that never became a patch: malformed, a duplicate, or an error worth a place in the history."""

    verdict: VerdictKind
    reason: str
    proposer: str
    diagnosis: str = ""
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True)
class GaveUp:
    """A proposer's last word: why it stops."""

    reason: StopReason
    words: str
    proposer: str
    candidates_tried: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    evidence: tuple[str, ...] = ()
    """Findings that later proposers and the report can use."""


@dataclass(frozen=True)
class Likely:
    """The patch that will probably be proposed, should its proposer find no better one: it may be verified meanwhile."""

    patch: Patch


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one patch."""

    kind: VerdictKind
    reason: str
    failing_now_pass: tuple[str, ...] = ()
    still_failing: tuple[Failure, ...] = ()
    regressed: tuple[str, ...] = ()
    affected_pass: int = 0
    repeats: int = 0
    confidence: Confidence = "high"
    """An upper bound for the confidence of the patch."""
    new_failures: tuple[Failure, ...] = ()
    """What fails in a module that could not be collected before."""
    scope: str = ""
    """Which other tests were re-run, and why these (``import closure of shop/cart.py: 12 tests``)."""
    guards: tuple[str, ...] = ()
    """Names of the guards that looked at the patch and let it pass."""
    sandbox: str = "process"
    seconds: float = 0.0
    asked: tuple[str, ...] = ()
    """Ids of other causes whose tests were run along."""
    repaired: tuple[str, ...] = ()
    """Those of them whose tests passed each time, as the failing ones did."""


@dataclass(frozen=True)
class Attempt:
    """One line of history: a proposal and what became of it."""

    n: int
    proposer: str
    model: str | None
    diagnosis: str
    diff: str
    verdict: VerdictKind
    reason: str
    description: str = ""
    critic_score: int | None = None
    feedback: str = ""
    """What the critic or a person said of it; goes into the next round."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    patch: Patch | None = None
    result: Verdict | None = None
    refused_by: str = ""
    """The guard that refused it, where ``verdict`` is ``guarded``."""

    def to_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "proposer": self.proposer,
            "model": self.model,
            "diagnosis": self.diagnosis,
            "diff": self.diff,
            "verdict": self.verdict,
            "reason": self.reason,
            "critic_score": self.critic_score,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost_usd": self.usage.cost_usd,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Outcome:
    """How the work on one cause ended."""

    diagnosis: Diagnosis
    status: Status
    reason: StopReason
    words: str
    """The reason in a sentence, and what a person could try next."""
    attempts: tuple[Attempt, ...] = ()
    patch: Patch | None = None
    verdict: Verdict | None = None
    confidence: Confidence | None = None
    diff: str = ""
    """Unified diff of the healed patch as it was verified (paths relative to the top)."""
    candidates_tried: int = 0
    usage: Usage = field(default_factory=Usage)
    critic_usage: Usage = field(default_factory=Usage)
    """The critic's part of ``usage``."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    evidence: tuple[str, ...] = ()
    """Signals for people: why the test is suspect, what flickered, what is missing."""
    includes: tuple[str, ...] = ()
    """Ids of earlier patches that this one contains (a second wave in the same file)."""
    patch_file: str | None = None
    """Relative to the run's folder, once it is written."""
    generated_tests: tuple[str, ...] = ()

    def but(self, **changes: Any) -> Outcome:
        return replace(self, **changes)


@dataclass(frozen=True)
class RunReport:
    """All that one run found, as written to ``report.json``."""

    started: str
    """UTC, ISO 8601, with ``Z``."""
    seconds: float
    exit_status: int
    model: str
    critic: str | None
    strategy: str
    sandbox: str
    stop: str
    outcomes: tuple[Outcome, ...]
    directory: str = ""
    """The run's folder, absolute."""
    top: str = ""
    """Absolute path of the git top level (rootdir without git)."""
    rootdir: str = ""
    notes: tuple[str, ...] = ()
    """Sentences for people that concern the whole run."""
    test_generation: dict[str, Any] | None = None

    @property
    def healed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == "healed")

    @property
    def usage(self) -> Usage:
        total = Usage()
        for outcome in self.outcomes:
            total = total + outcome.usage
        return total
