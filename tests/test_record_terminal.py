"""The section at the end of a run, on every kind of terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from record_samples import CHANGE, Tree, healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.record.diff import make_diff
from pytest_selfheal.record.screen import Screen, brief, diff_lines, screen_on
from pytest_selfheal.record.terminal import print_report
from pytest_selfheal.types import FileChange


class Stream(io.TextIOWrapper):
    """Standard output of some encoding, and what was written."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    @property
    def written(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def printed(encoding: str = "utf-8", width: int = 80, **outcome: str) -> str:
    stream = Stream(encoding)
    screen = screen_on(stream)
    screen.writer.fullwidth = width
    print_report(screen, run_report([healed_outcome(**outcome), unhealed_outcome()]), Path.cwd())
    return stream.written


def test_a_report_tells_diff_reason_and_next_step() -> None:
    text = printed()
    for words in (
        "0001 healed tests/test_calc.py::test_add, medium confidence",
        "replace - with + in add() in calc.py",
        "-    return a - b",
        "+    return a + b",
        "0002 not healed tests/test_calc.py::test_add: no_candidate",
        "next: try --selfheal-effort thorough",
        "1 of 2 causes healed in 3.0 s, 135 tokens, unknown price",
    ):
        assert words in text
    assert "\x1b" not in text


def test_commands_and_paths_are_meant_for_the_folder_where_the_user_is(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "a b/repo", {"calc.py": b"def add(a, b):\n    return a - b\n"})
    run = tree.record(healed_outcome())
    report = run_report(
        [healed_outcome().but(patch_file="patches/0001-test-add.patch")], directory=str(run.folder), top=str(tree.top)
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for cwd, command in (
        (tree.top, "selfheal apply"),
        (tmp_path, "selfheal apply"),
        (elsewhere, "selfheal -C '../a b/repo' apply"),
    ):
        stream = Stream()
        print_report(screen_on(stream), report, cwd)
        assert f"apply:   {command} " in stream.written
        line = next(line for line in stream.written.splitlines() if line.startswith("or:"))
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(line.partition(":")[2].strip(), shell=True, cwd=cwd, check=True, env=environment)
        assert tree.read("calc.py") == CHANGE.after
        tree.git("checkout", "-q", "calc.py")


def test_lines_fit_the_terminal() -> None:
    text = printed(width=50, description="wide " * 40)
    assert max(len(line) for line in text.splitlines() if "::" not in line) <= 50


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_characters_that_the_terminal_lacks_are_replaced(encoding: str) -> None:
    text = printed(encoding, description="größer → 日本 …", note="ok\x1b[2J\x07\u202e")
    assert "gr" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_colour_is_for_terminals_and_can_be_switched_off() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests'); from record_samples import *; from pathlib import Path\n"
        "from pytest_selfheal.record.screen import screen_on; from pytest_selfheal.record.terminal import print_report\n"
        "print_report(screen_on(sys.stdout), run_report([healed_outcome()]), Path.cwd())\n"
    )
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PY_COLORS", "FORCE_COLOR")}
        text = on_terminal([sys.executable, "-c", code], {**environment, "TERM": "xterm", **variables})
        assert ("\x1b[32m     +    return a + b" in text) is coloured, text


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What a command writes on a pseudo terminal."""
    controller, terminal = pty.openpty()
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        command, stdout=terminal, stderr=terminal, stdin=terminal, env=environment, cwd=root
    ) as process:
        os.close(terminal)
        text = b""
        while True:
            try:
                chunk = os.read(controller, 65536)
            except OSError:  # the other side was closed
                break
            if not chunk:
                break
            text += chunk
        process.wait()
    os.close(controller)
    return text.decode("utf-8", "replace")


def test_a_closed_output_is_dropped_in_a_run_and_ends_a_command() -> None:
    stream = Stream()
    screen, loud = Screen(screen_on(stream).writer), screen_on(stream)
    stream.close()
    screen.line("nobody reads this")
    assert screen.closed
    with pytest.raises(BrokenPipeError):
        loud.line("nor this")


def test_a_diff_is_told_in_twelve_lines_with_changed_lines_whole() -> None:
    before = "".join(f"        line {n}\n" for n in range(60)).encode()
    after = before.replace(b"line 30\n", b"line 30 is long " + b"word " * 40 + b"end\n")
    stream = Stream()
    screen = screen_on(stream)
    screen.writer.fullwidth = 80
    screen.diff(make_diff([FileChange("a.py", before, after)]).decode(), limit=12)
    text = stream.written
    assert "end" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    many = make_diff([FileChange("a.py", before, before.upper())]).decode()
    assert len(brief(list(diff_lines(many)))) > 12
    stream = Stream()
    screen_on(stream).diff(many, limit=12)
    assert len(stream.written.splitlines()) == 12
    assert "more lines" in stream.written


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("words", [1, 20, 100, 2000])
@pytest.mark.parametrize("changes", [1, 2, 30])
def test_a_diff_never_takes_more_than_its_rows_and_shows_old_and_new(width: int, words: int, changes: int) -> None:
    lines = [f"    start {'word ' * words}old{n}" if n % 2 else f"    same {n}" for n in range(2 * changes)]
    before = "".join(f"{line}\n" for line in lines).encode()
    stream = Stream()
    screen = screen_on(stream)
    screen.writer.fullwidth = width
    screen.diff(make_diff([FileChange("a.py", before, before.replace(b"old", b"new"))]).decode(), limit=12)
    rows = stream.written.splitlines()
    assert len(rows) <= 12
    assert max(map(len, rows)) <= width
    if changes == 1:
        assert "old1" in stream.written
        assert "new1" in stream.written


def test_tests_are_named_as_a_shell_here_passes_them_to_pytest(tmp_path: Path) -> None:
    root, nodeid = tmp_path / "repo/packages/one", "tests/test_a.py::T::test_x[a/b::c]"
    for cwd, named in (
        (root, nodeid),
        (tmp_path / "repo", f"packages/one/{nodeid}"),
        (root / "tests", "test_a.py::T::test_x[a/b::c]"),
    ):
        stream = Stream()
        report = run_report([healed_outcome(nodeid=nodeid)], rootdir=str(root), top=str(tmp_path / "repo"))
        print_report(screen_on(stream), report, cwd)
        assert f"0001 healed {named}, medium confidence" in stream.written


def test_removed_lines_that_look_like_headers_are_shown() -> None:
    lines = list(diff_lines(make_diff([FileChange("a.sql", b"-- old note\nx\n", b"++ new note\nx\n")]).decode()))
    assert "--- old note" in lines
    assert "+++ new note" in lines
