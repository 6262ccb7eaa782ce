"""A child ends as soon as its results are told: no summary is written for nobody, and what was started is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.run import ChildRun, run_tests

CONFTEST = """\
import atexit



def tell(word):
    with open({told!r}, "a") as file:
        print(word, file=file)


atexit.register(tell, "atexit")


def pytest_sessionfinish():
    tell("sessionfinish")


def pytest_terminal_summary():
    tell("summary")


def pytest_unconfigure():
    tell("unconfigure")
"""


def told(folder: Path, test: str, **more: object) -> tuple[ChildRun, list[str]]:
    file = folder / "told.txt"
    (folder / "project").mkdir()
    (folder / "project" / "conftest.py").write_text(CONFTEST.replace("{told!r}", repr(str(file))))
    (folder / "project" / "test_m.py").write_text(test)
    with workshop_at(folder / "project") as workshop:
        run = run_tests(workshop, workshop.pristine, None, tmp=folder, **more)  # type: ignore[arg-type]
    return run, file.read_text().split()


@pytest.mark.parametrize("test", ["def test(): pass\n", "def test(): assert False\n", "import nothing_of_that_name\n"])
def test_cleanups_run_and_summaries_do_not(tmp_path: Path, test: str) -> None:
    run, words = told(tmp_path, test)
    assert run.finished
    assert run.exit_status == (0 if test.endswith("pass\n") else 1)
    assert words == ["sessionfinish", "unconfigure", "atexit"]


def test_a_child_with_a_plugin_of_ours_ends_as_pytest_does(tmp_path: Path) -> None:
    run, words = told(tmp_path, "def test(): pass\n", plugins=["pytest_selfheal.judge.coverage_child"])
    assert run.finished
    assert words == ["sessionfinish", "summary", "unconfigure", "atexit"]


def test_a_thread_that_does_not_end_holds_nobody_up(tmp_path: Path) -> None:
    run, _ = told(
        tmp_path,
        "import threading, time\n\n\ndef test():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n",
    )
    assert run.finished
    assert run.outcomes == {"test_m.py::test": "passed"}
    assert run.seconds < 30
