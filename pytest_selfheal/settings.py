"""Options → one frozen :class:`Settings`, with the reason for each value.

Every option is declared once, in :data:`OPTIONS`; the command line, the ini keys, the environment variables, ``pytest
--help`` and the documentation all come from there. Precedence: command line, environment, ini, default.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pytest_selfheal.errors import UsageError

Parse = Callable[[str], Any]


def _text(raw: str) -> str:
    if not raw.strip():
        raise ValueError("an empty value")
    return raw.strip()


def _count(minimum: int) -> Parse:
    def parse(raw: str) -> int:
        value = int(raw.replace("_", ""))
        if value < minimum:
            raise ValueError(f"less than {minimum}")
        return value

    parse.__name__ = f"a whole number, at least {minimum}"
    return parse


def _number(positive: bool = True) -> Parse:
    def parse(raw: str) -> float:
        value = float(raw)
        if not math.isfinite(value) or value < 0 or (positive and value == 0):
            raise ValueError("out of range")
        return value

    parse.__name__ = "a number above 0" if positive else "a number, at least 0"
    return parse


def _choice(*names: str) -> Parse:
    def parse(raw: str) -> str:
        if raw not in names:
            raise ValueError("unknown")
        return raw

    parse.__name__ = "one of " + ", ".join(names)
    return parse


def _flag(raw: str) -> bool:
    value = raw.strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("neither")


_text.__name__ = "a text that is not empty"
_flag.__name__ = "true or false"


@dataclass(frozen=True)
class Option:
    """One option: its name on the command line (``None``: ini only), how it is read, and what it means."""

    dest: str
    parse: Parse
    default: Any
    help: str
    metavar: str | None = None
    env: bool = False
    repeatable: bool = False
    flag: str | None = ""
    """Spelling on the command line; empty: derived from ``dest``; ``None``: an ini key only."""

    @property
    def spelling(self) -> str | None:
        return "--" + self.dest.replace("_", "-") if self.flag == "" else self.flag

    @property
    def is_switch(self) -> bool:
        return self.parse is _flag

    @property
    def variable(self) -> str:
        return self.dest.upper()


OPTIONS: tuple[Option, ...] = (
    Option(
        "selfheal",
        _flag,
        False,
        "after the run, repair the code under test for each failure; write patches and a report; the working tree stays untouched",
    ),
    Option(
        "selfheal_model",
        _text,
        "builtin",
        "any litellm model name; builtin: the embedded search engine alone, no network, no key",
        "NAME",
        env=True,
    ),
    Option("selfheal_api_base", _text, None, "an OpenAI-compatible or other endpoint for the model", "URL", env=True),
    Option(
        "selfheal_critic",
        _text,
        None,
        "a second model that scores verified patches and gives feedback",
        "NAME",
        env=True,
    ),
    Option(
        "selfheal_strategy",
        _choice("auto", "model"),
        "auto",
        "auto: the embedded engine first, then the model; model: the model alone",
        "auto|model",
    ),
    Option("selfheal_hint", _text, None, "what you want, in words; goes to the model with every prompt", "TEXT"),
    Option(
        "selfheal_effort",
        _choice("fast", "normal", "thorough"),
        "normal",
        "scales the engine's CPU seconds per failure (5/20/60), repeats (2/3/5) and model samples (1/1/3)",
        "fast|normal|thorough",
    ),
    Option("selfheal_attempts", _count(1), 3, "analyze-patch-retry rounds per failure for the model", "N"),
    Option("selfheal_apply", _flag, False, "write validated patches into the working tree"),
    Option("selfheal_review", _flag, False, "show each validated diff and ask: yes / no / edit / skip rest / quit"),
    Option("selfheal_max_cost", _number(False), 1.0, "spend cap of the whole run in USD", "USD"),
    Option(
        "selfheal_max_tokens", _count(0), 500_000, "token cap of the whole run; holds also when no price is known", "N"
    ),
    Option("selfheal_time_limit", _number(), 300.0, "wall-clock cap per failure", "SECONDS"),
    Option("selfheal_total_time", _number(), 1800.0, "wall-clock cap for all healing of the run", "SECONDS"),
    Option(
        "selfheal_test_timeout",
        _number(),
        60.0,
        "a test that runs longer fails as kind timeout, so that an endless loop can be healed",
        "SECONDS",
    ),
    Option(
        "selfheal_sandbox",
        _choice("auto", "bwrap", "process"),
        "auto",
        "how code that a proposer wrote is run",
        "auto|bwrap|process",
    ),
    Option("selfheal_protect", _text, (), "files that no patch may touch (repeatable)", "GLOB", repeatable=True),
    Option("selfheal_allow", _text, (), "the only files that patches may touch (repeatable)", "GLOB", repeatable=True),
    Option("selfheal_dir", _text, ".selfheal", "where runs are kept", "PATH"),
    Option("selfheal_workers", _count(1), None, "failures healed side by side (default: number of CPUs)", "N"),
    Option(
        "generate_tests",
        _flag,
        False,
        "with --selfheal: regression tests for each healed function; alone: tests for logic changed since --selfheal-base that no test covers",
    ),
    Option(
        "selfheal_base",
        _text,
        None,
        "what 'changed' is measured against (default: merge-base with the default branch, else HEAD)",
        "REV",
    ),
    Option(
        "selfheal_bench",
        _choice("humanevalfix", "humaneval", "mbpp", "quixbugs", "scripts"),
        None,
        "collect benchmark tasks as pytest items instead of tests: humanevalfix, humaneval, mbpp, quixbugs, scripts",
        "SUITE",
    ),
    Option(
        "selfheal_bench_data",
        _text,
        None,
        "local file or folder of tasks, or 'sample'; without it the suite is fetched from its hub and cached",
        "PATH",
    ),
    Option(
        "selfheal_bench_visible",
        _choice("tests", "examples", "none"),
        "tests",
        "what the healer may see; scoring always uses the full tests",
        "tests|examples|none",
    ),
    Option("selfheal_bench_output", _text, "selfheal-bench", "where benchmark results go", "DIR"),
    Option("selfheal_bench_runs", _count(1), 1, "repeats for confidence intervals", "N"),
    Option("selfheal_bench_limit", _count(1), None, "first N tasks", "N"),
    Option("selfheal_few_shot", _count(0), 0, "few-shot examples, excluded from scoring", "K"),
    # --- ini keys without an option: what a project, not a person at the keyboard, decides -------------------------
    Option(
        "selfheal_bench_impossible",
        _flag,
        False,
        "benchmark right programs whose tests contradict their documentation; giving up is the right answer",
        flag=None,
    ),
    Option("selfheal_network", _choice("loopback", "host"), "loopback", "network inside the bwrap sandbox", flag=None),
    Option(
        "selfheal_binds",
        _text,
        (),
        "paths outside the project that tests may write to (sockets, data folders)",
        repeatable=True,
        flag=None,
    ),
    Option(
        "selfheal_pass_env",
        _text,
        (),
        "environment variables (globs) handed to tests although they look like credentials",
        repeatable=True,
        flag=None,
    ),
    Option("selfheal_memory", _number(), 4096.0, "memory limit of one test process in MiB", flag=None),
    Option("selfheal_env_file", _flag, False, "read provider keys from a .env file in rootdir", flag=None),
    Option(
        "selfheal_critic_threshold",
        _count(1),
        7,
        "the critic's score (1-10) below which its feedback goes into another round",
        flag=None,
    ),
    Option("selfheal_coder_max_tokens", _count(1), 4096, "completion tokens per call of the coder", flag=None),
    Option("selfheal_critic_max_tokens", _count(1), 1024, "completion tokens per call of the critic", flag=None),
    Option(
        "selfheal_coder_temperature",
        _number(False),
        0.0,
        "the coder's temperature in the first round; it rises with each further round",
        flag=None,
    ),
    Option("selfheal_critic_temperature", _number(False), 0.0, "the critic's temperature", flag=None),
    Option("selfheal_prompt_tokens", _count(500), 6000, "token budget of one prompt", flag=None),
    Option(
        "selfheal_model_params",
        _text,
        (),
        "further parameters for the model, one 'name = JSON value' a line",
        repeatable=True,
        flag=None,
    ),
    Option(
        "selfheal_prices",
        _text,
        (),
        "private prices, one 'model = USD per million input tokens, USD per million output tokens' a line",
        repeatable=True,
        flag=None,
    ),
    Option("selfheal_callbacks", _text, (), "litellm callbacks (langsmith, otel, …)", repeatable=True, flag=None),
    Option("selfheal_cache", _flag, False, "keep identical model calls on disk and do not pay twice", flag=None),
    Option(
        "selfheal_stuck_after",
        _count(2),
        3,
        "identical failure signatures or feedbacks in a row that count as stuck",
        flag=None,
    ),
    Option(
        "selfheal_warn_only",
        _choice("stuck", "truncated"),
        (),
        "safeguards that only warn: stuck, truncated",
        repeatable=True,
        flag=None,
    ),
    Option("selfheal_author", _text, None, "author of commits and mail patches, 'Name <address>'", flag=None),
    Option(
        "selfheal_signoff",
        _flag,
        False,
        "add a Signed-off-by line to commits made by 'selfheal apply --branch'",
        flag=None,
    ),
)

EFFORT_CPU: dict[str, float] = {"fast": 5.0, "normal": 20.0, "thorough": 60.0}
EFFORT_REPEATS: dict[str, int] = {"fast": 2, "normal": 3, "thorough": 5}
EFFORT_SAMPLES: dict[str, int] = {"fast": 1, "normal": 1, "thorough": 3}


@dataclass(frozen=True)
class Settings:
    """What this run may do. Field names are the options' without their ``selfheal_`` prefix."""

    selfheal: bool = False
    model: str = "builtin"
    api_base: str | None = None
    critic: str | None = None
    strategy: Literal["auto", "model"] = "auto"
    hint: str | None = None
    effort: Literal["fast", "normal", "thorough"] = "normal"
    attempts: int = 3
    apply: bool = False
    review: bool = False
    max_cost: float = 1.0
    max_tokens: int = 500_000
    time_limit: float = 300.0
    total_time: float = 1800.0
    test_timeout: float = 60.0
    sandbox: Literal["auto", "bwrap", "process"] = "auto"
    protect: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    dir: str = ".selfheal"
    workers: int | None = None
    generate_tests: bool = False
    base: str | None = None
    bench: str | None = None
    bench_data: str | None = None
    bench_visible: Literal["tests", "examples", "none"] = "tests"
    bench_output: str = "selfheal-bench"
    bench_runs: int = 1
    bench_limit: int | None = None
    few_shot: int = 0
    bench_impossible: bool = False
    network: Literal["loopback", "host"] = "loopback"
    binds: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    memory: float = 4096.0
    env_file: bool = False
    critic_threshold: int = 7
    coder_max_tokens: int = 4096
    critic_max_tokens: int = 1024
    coder_temperature: float = 0.0
    critic_temperature: float = 0.0
    prompt_tokens: int = 6000
    model_params: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()
    cache: bool = False
    stuck_after: int = 3
    warn_only: tuple[str, ...] = ()
    author: str | None = None
    signoff: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where each value that is not a default came from: ``command line``, ``SELFHEAL_MODEL``, ``pytest.ini``."""

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that the embedded engine may spend on one failure."""
        return EFFORT_CPU[self.effort]

    @property
    def repeats(self) -> int:
        """How often a failure must be seen unpatched, and its tests pass patched."""
        return EFFORT_REPEATS[self.effort]

    @property
    def samples(self) -> int:
        """Parallel samples that the model draws in a round."""
        return EFFORT_SAMPLES[self.effort]

    @property
    def worker_count(self) -> int:
        return self.workers or os.cpu_count() or 1

    def run_dir(self, rootdir: Path) -> Path:
        """The folder of all runs, absolute."""
        return rootdir / self.dir


def field_of(option: Option) -> str:
    return option.dest if option.dest in ("selfheal", "generate_tests") else option.dest.removeprefix("selfheal_")


def resolve(
    command_line: Mapping[str, Any], environment: Mapping[str, str], ini: Mapping[str, Any], ini_name: str = "ini file"
) -> Settings:
    """Read all options from their three sources.

    ``command_line`` and ``ini`` map ``dest`` to raw text (a list of texts where repeatable; ``True`` for a switch);
    missing or ``None`` means not given. Raises :class:`UsageError` for a wrong or contradictory value.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for option in OPTIONS:
        name = field_of(option)
        given: list[tuple[Any, str, str]] = []
        if command_line.get(option.dest) not in (None, False):
            given.append((command_line[option.dest], "command line", option.spelling or option.dest))
        if option.env and environment.get(option.variable):
            given.append((environment[option.variable], option.variable, option.variable))
        if ini.get(option.dest) not in (None, "", []):
            given.append((ini[option.dest], ini_name, f"{option.dest} in {ini_name}"))
        if not given:
            values[name] = option.default
            continue
        raw, sources[name], shown = given[0]
        values[name] = _read(option, raw, shown)
    settings = Settings(**values, sources=sources)
    _contradictions(settings)
    return settings


def _read(option: Option, raw: Any, shown: str) -> Any:
    if option.repeatable:
        items = [raw] if isinstance(raw, str) else list(raw)
        return tuple(_read_one(option, item, shown) for item in items)
    return raw if raw is True else _read_one(option, str(raw), shown)


def _read_one(option: Option, raw: str, shown: str) -> Any:
    try:
        return option.parse(raw)
    except (ValueError, OverflowError):
        raise UsageError(f"{shown}: {raw!r} is not valid; give {option.parse.__name__}.") from None


def _contradictions(settings: Settings) -> None:
    asked = settings.sources
    if settings.strategy == "model" and settings.model == "builtin":
        raise UsageError(
            "--selfheal-strategy model needs a model: add --selfheal-model NAME, or leave the strategy at auto."
        )
    if settings.bench and settings.selfheal and asked.get("selfheal") == "command line":
        raise UsageError("--selfheal-bench and --selfheal exclude each other: the benchmark heals its own tasks.")
    for name in ("apply", "review"):
        if asked.get(name) == "command line" and not settings.selfheal:
            raise UsageError(
                f"--selfheal-{name} does nothing without --selfheal: add it, or use 'selfheal {name}' for an earlier run."
            )
    if settings.model_params or settings.prices:
        from pytest_selfheal.propose.model.params import validate

        validate(settings)
    if settings.bench_data not in (None, "sample") and not Path(str(settings.bench_data)).exists():
        raise UsageError(
            f"--selfheal-bench-data: {settings.bench_data!r} does not exist; give a file or folder of tasks, "
            "or 'sample' for a few small ones that come with the plugin."
        )


_KNOWN = {f.name for f in fields(Settings)}
assert all(field_of(option) in _KNOWN for option in OPTIONS)
