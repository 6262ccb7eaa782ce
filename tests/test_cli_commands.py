"""The ``selfheal`` command from a shell: real processes, exit statuses, one sentence for an error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from record_samples import AFTER, BEFORE, Tree, healed_outcome, unhealed_outcome

from pytest_selfheal.cli import build_parser, main


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE})
    tree.record(healed_outcome(), unhealed_outcome())
    return tree


def selfheal(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest_selfheal", *arguments]
    return subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
        timeout=60,
    )


def test_the_way_from_a_run_to_applied_and_back(tree: Tree) -> None:
    listed = selfheal("list", cwd=tree.top)
    assert listed.returncode == 0, listed.stderr
    assert "0001  healed (medium)" in listed.stdout
    assert "0002  no_candidate" in listed.stdout
    shown = selfheal("show", "1", cwd=tree.top)
    assert "+    return a + b" in shown.stdout
    assert "Other tests re-run and passing: 4" in shown.stdout
    assert "# 0002: not healed" in selfheal("show", "0002", cwd=tree.top).stdout
    assert "Applied 0001 to calc.py" in selfheal("apply", cwd=tree.top).stdout
    assert tree.read("calc.py") == AFTER
    assert "applied" in selfheal("list", cwd=tree.top).stdout
    assert "Took back 0001" in selfheal("undo", cwd=tree.top).stdout
    assert tree.read("calc.py") == BEFORE


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "9"], "there is no failure 0009"),
        (["apply", "9"], "there is no patch 0009"),
        (["undo"], "nothing to undo"),
        (["review"], "needs a terminal"),
        (["-C", "nowhere", "list"], "'nowhere' is not a folder"),
        (["apply", "--branch", "main"], "exists already"),
        (["apply", "--signoff"], "need --branch"),
        (["apply", "--branch", "x", "--author", "nobody"], "is not an author"),
    ],
)
def test_an_error_is_one_sentence_and_exit_status_2(
    tree: Tree, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree.top)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("selfheal: ")
    assert words in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["show"], ["clean", "--keep", "-1"], ["report", "--format", "pdf"]]
)
def test_wrong_usage_is_argparse_s_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: selfheal" in capsys.readouterr().err


def test_without_a_run_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    done = selfheal("list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "run 'pytest --selfheal' first" in done.stderr


def test_runs_are_found_with_c_from_below_and_from_above(tree: Tree, tmp_path: Path) -> None:
    (tree.top / "deep").mkdir()
    for arguments, cwd in ((["-C", str(tree.top)], Path("/")), ([], tree.top / "deep"), ([], tmp_path)):
        assert "0001" in selfheal(*arguments, "list", cwd=cwd).stdout


def test_reports_come_out_in_every_format(tree: Tree) -> None:
    assert json.loads(selfheal("report", "--format", "json", cwd=tree.top).stdout)["version"] == 1
    assert selfheal("report", "--format", "markdown", cwd=tree.top).stdout.startswith("# Self-heal report")
    assert selfheal("report", "--format", "html", cwd=tree.top).stdout.startswith("<!doctype html>")
    assert "1 of 2 causes healed" in selfheal("report", cwd=tree.top).stdout


def test_a_reader_that_goes_away_is_no_error(tree: Tree) -> None:
    command = f"'{sys.executable}' -c 'import time; time.sleep(0.1)' && '{sys.executable}' -m pytest_selfheal report --format html"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; ({command}) | head -c 10"], cwd=tree.top, capture_output=True, check=False
    )
    assert done.stderr == b""


def test_output_that_cannot_be_encoded_is_escaped(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "ünï", {"calc.py": BEFORE})
    tree.record(healed_outcome(description="größer → kleiner"))
    done = selfheal("show", "1", cwd=tree.top, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfer -> kleiner" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_is_130_without_a_traceback(tree: Tree) -> None:
    code = (
        "import os, signal, sys; from pytest_selfheal import cli\n"
        "cli._list = lambda arguments: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(cli.main(['list']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tree.top, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "selfheal: interrupted\n")
    assert signal.SIGINT == 2


def test_a_branch_is_made_beside_the_work(tree: Tree) -> None:
    done = selfheal("apply", "--branch", "fix", "-m", "Mend it", "--author", "A <a@example.org>", cwd=tree.top)
    assert done.returncode == 0, done.stderr
    assert tree.git("log", "-1", "--format=%an: %s", "fix").strip() == "A: Mend it"
    assert tree.read("calc.py") == BEFORE


def test_check_says_what_works_and_fails_on_a_problem(tree: Tree) -> None:
    done = selfheal("check", cwd=tree.top)
    assert done.returncode == 0, done.stdout
    kinds = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert set(kinds) <= {"ok", "note"}
    for word in ("Python", "git", "sandbox", "runs are kept", "builtin"):
        assert word in done.stdout
    tree.write("pytest.ini", "[pytest]\nselfheal_effort = heroic\n")
    done = selfheal("check", cwd=tree.top)
    assert done.returncode == 2
    assert "problem: selfheal_effort in pytest.ini: 'heroic' is not valid" in done.stdout


def test_clean_keeps_what_it_is_told_to(tree: Tree) -> None:
    tree.record(healed_outcome())
    assert "Removed 1 run " in selfheal("clean", "--keep", "1", cwd=tree.top).stdout
    assert "Removed 1 run " in selfheal("clean", cwd=tree.top).stdout
    assert "no runs to remove" in selfheal("clean", cwd=tree.top).stdout


def test_no_command_but_bench_imports_anything_heavy() -> None:
    code = (
        "import sys; from pytest_selfheal.cli import build_parser; build_parser()\n"
        "heavy = {'litellm', 'libcst', 'git', 'coverage', 'jinja2', 'pygments', 'pytest', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_command_has_help() -> None:
    text = build_parser().format_help()
    for command in ("list", "show", "apply", "undo", "review", "report", "check", "clean", "bench"):
        assert f"    {command} " in text


def test_bench_has_commands_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    text = capsys.readouterr().out
    for command in ("summary", "compare", "plot"):
        assert command in text
