"""Progress lines on a terminal and in a log."""

from __future__ import annotations

import io
import threading
import time
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pytest
from record_samples import diagnosis, healed_outcome, unhealed_outcome

from pytest_selfheal.record.progress import Progress


class Stream(io.StringIO):
    def __init__(self, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self.terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self.terminal


class Config:
    """As much of pytest's config as progress looks at."""

    def __init__(self, stream: Stream, verbosity: int = 0) -> None:
        from _pytest._io import TerminalWriter

        self._tw = TerminalWriter(stream)
        self._tw.hasmarkup = stream.terminal
        self._tw.fullwidth = 120
        self.verbosity = verbosity
        self.pluginmanager = self

    @property
    def rootpath(self) -> Path:
        return Path.cwd() / "packages/one"

    @property
    def invocation_params(self) -> SimpleNamespace:
        return SimpleNamespace(dir=Path.cwd())

    def get_plugin(self, name: str) -> Config:
        return self

    def get_verbosity(self) -> int:
        return self.verbosity


def run_through(stream: Stream, verbosity: int = 0) -> str:
    progress = Progress(Config(stream, verbosity))
    progress.start(2)
    progress.note("looking at 2 failures again")
    progress.update(diagnosis("0001"), "diagnosing")
    progress.update(diagnosis("0002", nodeid="tests/test_long.py::test_" + "long" * 40), "diagnosing")
    time.sleep(0.15)
    progress.stage("0001", "search", candidates=1240, round=2, cost_usd=0.02)
    progress.done(unhealed_outcome("0002"))
    progress.done(healed_outcome("0001"))
    progress.close()
    progress.close()
    return stream.getvalue()


def test_a_log_gets_a_plain_line_for_each_cause_that_is_done() -> None:
    lines = run_through(Stream(terminal=False)).strip().splitlines()
    assert lines == [
        "self-heal: looking at 2 failures again",
        "[1/2] 0002 not healed (no_candidate) in 0.5 s  packages/one/tests/test_calc.py::test_add",
        "[2/2] 0001 healed in 1.5 s  packages/one/tests/test_calc.py::test_add",
    ]


def test_quiet_is_quiet() -> None:
    assert run_through(Stream(terminal=False), verbosity=-1) == ""
    assert run_through(Stream(terminal=True), verbosity=-1) == ""


def test_a_terminal_has_a_live_line_for_each_cause_and_none_at_the_end() -> None:
    text = run_through(Stream(terminal=True))
    assert "1,240 candidates, $0.0200" in text.replace("\n", " ")
    assert screen_after(text) == [
        "self-heal: looking at 2 failures again",
        "[1/2] 0002 not healed (no_candidate) in 0.5 s  packages/one/tests/test_calc.py::test_add",
        "[2/2] 0001 healed in 1.5 s  packages/one/tests/test_calc.py::test_add",
    ]
    live = [line for line in text.split("\n") if "diagnosing" in line]
    assert live
    # A line that wraps could not be erased.
    assert max(len(line.split("\x1b[J")[-1]) for line in live) < 120


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_a_live_line_never_wraps_whatever_its_characters_become(encoding: str) -> None:
    stream = Stream(terminal=True, encoding=encoding)
    progress = Progress(Config(stream))
    progress.start(1)
    progress.update(diagnosis("0001", nodeid="tests/test_größe.py::test_" + "大きさ" * 30), "prüft … → " + "界" * 80)
    progress.close()
    (live,) = [line for line in stream.getvalue().split("\n") if line.startswith("0001")]
    assert 60 < sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in live) < 120


def screen_after(text: str) -> list[str]:
    """What stands on a screen that understands just what progress sends."""
    lines: list[str] = [""]
    at = 0
    while at < len(text):
        if text[at] == "\n":
            lines.append("")
        elif text[at] == "\x1b":
            end = at + 2
            while not text[end].isalpha():
                end += 1
            argument, command = text[at + 2 : end], text[end]
            if command == "A":
                del lines[len(lines) - 1 - int(argument) :]
                lines.append("")
            at = end
        elif text[at] != "\r":
            lines[-1] += text[at]
        at += 1
    return [line for line in lines if line.strip()]


def test_many_threads_and_a_closed_output_do_no_harm() -> None:
    stream = Stream(terminal=True)
    progress = Progress(Config(stream))
    progress.start(40)

    def work(number: int) -> None:
        id = f"{number:04}"
        progress.update(diagnosis(id), "diagnosing")
        progress.stage(id, "verifying")
        if number == 20:
            stream.close()
        progress.done(healed_outcome(id))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "selfheal-progress"]


@pytest.mark.parametrize("terminal", [True, False])
def test_news_of_an_unknown_cause_is_ignored(terminal: bool) -> None:
    progress = Progress(Config(Stream(terminal)))
    progress.stage("9999", "nothing")
    progress.close()
