"""Whatever a user's project, machine or command line is like: a clear sentence or a right result, and the tree as it was."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_selfheal.testing import Example, Result

CODE = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(5, 0) == 5\n    assert add(-1, 4) == 3\n"
INI = "[pytest]\npythonpath = .\n"
FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "no:cacheprovider")


def project(folder: Path, code: str | bytes = CODE, test: str = TEST, **more: str | bytes) -> Example:
    files: dict[str, str | bytes] = {"calc.py": code, "test_calc.py": test, "pytest.ini": INI}
    return Example({**files, **more}, folder)


def clean(result: Result) -> None:
    """No traceback of ours, no INTERNALERROR."""
    printed = result.stdout + result.stderr
    assert "INTERNALERROR" not in printed
    assert "pytest_selfheal/" not in printed.replace(str(result.folder), "")


def healed(result: Result, count: int = 1, code: int = 1) -> None:
    clean(result)
    assert result.code == code, result.stdout + result.stderr
    assert result.report["totals"]["healed"] == count, result.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--selfheal-attempts", "0"], "--selfheal-attempts"),
        (["--selfheal-attempts", "three"], "--selfheal-attempts"),
        (["--selfheal-max-cost", "-1"], "--selfheal-max-cost"),
        (["--selfheal-time-limit", "nan"], "--selfheal-time-limit"),
        (["--selfheal-effort", "heroic"], "--selfheal-effort"),
        (["--selfheal-sandbox", "docker"], "--selfheal-sandbox"),
        (["--selfheal-model", " "], "--selfheal-model"),
        (["--selfheal-strategy", "model"], "--selfheal-strategy"),
        (["--selfheal-bench", "nothing"], "--selfheal-bench"),
        (["--selfheal-bench-data", "nowhere.jsonl"], "--selfheal-bench-data"),
        (["--selfheal-workers", "0"], "--selfheal-workers"),
    ],
)
def test_a_wrong_option_is_a_usage_error_that_names_it(tmp_path: Path, arguments: list[str], named: str) -> None:
    result = project(tmp_path).run("--selfheal", *arguments)
    assert result.code == 4
    assert named in result.stderr
    clean(result)


def test_apply_without_selfheal_is_a_usage_error(tmp_path: Path) -> None:
    result = project(tmp_path).run("--selfheal-apply")
    assert result.code == 4
    assert "--selfheal" in result.stderr


def test_a_wrong_ini_value_names_the_file(tmp_path: Path) -> None:
    result = project(tmp_path, **{"pytest.ini": INI + "selfheal_attempts = none\n"}).run("--selfheal")
    assert result.code == 4
    assert "selfheal_attempts in pytest.ini" in result.stderr


def test_environment_beats_ini_and_command_line_beats_both(tmp_path: Path) -> None:
    example = project(tmp_path, **{"pytest.ini": INI + "selfheal_model = from-ini\n"})
    unreachable = ["--selfheal-api-base", "http://127.0.0.1:9/v1"]
    wrong = example.run(
        "--selfheal", "--selfheal-strategy", "model", *unreachable, environment={"SELFHEAL_MODEL": "builtin"}
    )
    assert wrong.code == 4, "the environment's builtin must win over the ini key"
    healed(example.run(*FAST, "--selfheal-model", "builtin", environment={"SELFHEAL_MODEL": "openai/none"}))


def test_a_folder_without_git(tmp_path: Path) -> None:
    example = project(tmp_path)
    before = example.bytes()
    healed(example.run(*FAST))
    assert example.bytes() == before


def test_without_a_git_binary(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (tmp_path / "p").mkdir()
    example = project(tmp_path / "p")
    # Nothing but the interpreter is on PATH.
    result = example.run(*FAST, environment={"PATH": str(bin_folder)})
    healed(result)
    assert result.report["sandbox"] in ("process", "bwrap")


def test_a_repository_without_commits(tmp_path: Path) -> None:
    example = project(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    healed(example.run(*FAST))


def test_a_dirty_tree_is_healed_as_it_is_and_stays(tmp_path: Path) -> None:
    example = project(tmp_path, code="def add(a, b):\n    return a + b\n").git()
    example.write({"calc.py": "def add(a, b):\n    # being worked on\n    return a - b\n", "notes.txt": "mine"})
    before, index = example.bytes(), (tmp_path / ".git" / "index").read_bytes()
    result = example.run(*FAST)
    healed(result)
    assert example.bytes() == before
    assert (tmp_path / ".git" / "index").read_bytes() == index
    patch = next((result.run_dir / "patches").glob("*.patch")).read_text()
    assert "being worked on" in patch


def test_a_project_below_the_top_of_its_repository(tmp_path: Path) -> None:
    Example({"README": "top\n"}, tmp_path)
    (tmp_path / "services" / "one").mkdir(parents=True)
    example = project(tmp_path / "services" / "one")
    Example({}, tmp_path).git()
    result = example.run(*FAST)
    healed(result)
    patch = next((result.run_dir / "patches").glob("0*.patch"))
    before = (tmp_path / "services/one/calc.py").read_bytes()
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)
    assert (tmp_path / "services/one/calc.py").read_bytes() == before.replace(b"a - b", b"a + b")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (
            "latin-1",
            "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n\n\ndef add(a, b):\n    return a - b\n".encode("latin-1"),
        ),
        ("bom", b"\xef\xbb\xbfdef add(a, b):\n    return a - b\n"),
        ("crlf", b"def add(a, b):\r\n    return a - b\r\n"),
        ("no final newline", b"def add(a, b):\n    return a - b"),
        ("tabs", b"def add(a, b):\n\treturn a - b\n"),
        ("form feed", b"X = 1\n\x0c\ndef add(a, b):\n    return a - b\n"),
        ("mixed line ends", b"X = 1\r\n\n\ndef add(a, b):\n    return a - b\r\n"),
        ("non-ascii before the fault", "S = 'äöü€'\n\n\ndef add(a, b):\n    return len('€') * a - b\n".encode()),
    ],
)
def test_bytes_are_sacred(tmp_path: Path, name: str, code: bytes) -> None:
    example = project(tmp_path, code=code).git()
    result = example.run(*FAST)
    healed(result)
    patch = next((result.run_dir / "patches").glob("0*.patch"))
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)
    assert (tmp_path / "calc.py").read_bytes() == code.replace(b"a - b", b"a + b")


def test_a_syntax_error_on_the_last_line(tmp_path: Path) -> None:
    # Pytest ends with 2 when a module does not collect; healing never changes that.
    healed(project(tmp_path, code="def add(a, b):\n    return (a + b").run(*FAST), code=2)


def test_nothing_failed(tmp_path: Path) -> None:
    result = project(tmp_path, code="def add(a, b):\n    return a + b\n").run(*FAST)
    assert result.code == 0
    assert not (tmp_path / ".selfheal").exists()
    clean(result)


def test_no_tests(tmp_path: Path) -> None:
    result = Example({"pytest.ini": INI}, tmp_path).run(*FAST)
    assert result.code == 5
    clean(result)


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    result = project(tmp_path).run(*FAST, "nowhere")
    assert result.code == 4
    clean(result)


def test_tests_outside_rootdir(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    outside = Example({"test_far.py": "def test_far():\n    assert 1 == 2\n"}, tmp_path / "elsewhere")
    example = project(tmp_path / "code")
    result = example.run(*FAST, "--rootdir", str(tmp_path / "code"), str(outside.folder), str(example.folder))
    clean(result)
    assert result.code == 1


def test_the_runs_folder_cannot_be_written(tmp_path: Path) -> None:
    example = project(tmp_path)
    (tmp_path / ".selfheal").write_text("a file stands where the folder should be")
    before = example.bytes()
    result = example.run(*FAST)
    assert result.code == 1
    clean(result)
    assert "--selfheal-dir" in result.stdout
    assert example.bytes() == before


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs a mount of its own")
def test_a_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        example = project(tmp_path / "p")
        (small / "fill").write_bytes(b"x" * 60_000)
        result = example.run(*FAST, environment={"TMPDIR": str(small)})
        assert result.code == 1
        clean(result)
        assert "TMPDIR" in result.stdout
        assert not [path for path in small.iterdir() if "selfheal" in path.name]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_interrupted_in_the_middle_of_healing(tmp_path: Path, number: int) -> None:
    example, process = _start_healing(tmp_path)
    before = example.bytes()
    _wait_for(lambda: _events(tmp_path) and _children(process.pid))
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    text = out.decode()
    assert process.returncode == 2, text
    assert "INTERNALERROR" not in text
    assert example.bytes() == before
    assert not _leftovers(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_killed_in_the_middle_of_healing(tmp_path: Path) -> None:
    example, process = _start_healing(tmp_path)
    before = example.bytes()
    _wait_for(lambda: _leftovers(tmp_path) and _children(process.pid))
    process.kill()
    process.communicate(timeout=60)
    assert example.bytes() == before
    _wait_for(lambda: not _processes_in(tmp_path / "tmp"))
    assert _leftovers(tmp_path), "the killed run could not tidy up; else this test shows nothing"
    again = project(tmp_path / "q").run(*FAST, environment={"TMPDIR": str(tmp_path / "tmp")})
    healed(again)
    assert not _leftovers(tmp_path)


SLOW_TEST = TEST + "\n\ndef test_slow():\n    import time\n\n    time.sleep(3)\n    assert add(2, 2) == 4\n"


def _start_healing(folder: Path) -> tuple[Example, subprocess.Popen[bytes]]:
    (folder / "tmp").mkdir()
    (folder / "p").mkdir()
    example = project(folder / "p", test=SLOW_TEST)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *FAST],
        cwd=example.folder,
        env={**_environment(), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return example, process


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SELFHEAL_"))}


def _events(folder: Path) -> bool:
    return bool(list(folder.glob("p/.selfheal/runs/*/trace.jsonl")))


def _leftovers(folder: Path) -> list[str]:
    return [path.name for path in (folder / "tmp").iterdir() if "selfheal" in path.name]


def _children(pid: int) -> bool:
    return any(_field(path, "PPid") == str(pid) for path in Path("/proc").glob("[0-9]*/status"))


def _field(path: Path, name: str) -> str:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name + ":")), "")


def _processes_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in (entry / "cmdline").read_text() and entry.name != str(os.getpid()):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


def _wait_for(condition: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_500_failures_of_one_cause_are_one_piece_of_work(tmp_path: Path) -> None:
    test = (
        "import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', range(500))\ndef test_add(n):\n"
        "    assert add(n, 1) == n + 1\n"
    )
    result = project(tmp_path, test=test).run(*FAST)
    healed(result)
    assert len(result.report["failures"][0]["nodeids"]) == 500


def test_symlinks_inside_the_project(tmp_path: Path) -> None:
    example = project(tmp_path, **{"real/calc2.py": "VALUE = 1\n"})
    (tmp_path / "calc2.py").symlink_to(Path("real") / "calc2.py")
    (tmp_path / "loop").symlink_to(".")
    example.git()
    before = example.bytes()
    healed(example.run(*FAST, "test_calc.py"))
    assert example.bytes() == before


def test_a_submodule(tmp_path: Path) -> None:
    Example({"inner.py": "VALUE = 2\n"}, tmp_path / "library").git()
    example = project(tmp_path / "p", code="from vendored.inner import VALUE\n" + CODE).git()
    subprocess.run(
        [
            "git",
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(tmp_path / "library"),
            "vendored",
        ],
        cwd=example.folder,
        check=True,
        capture_output=True,
    )
    healed(example.run(*FAST))


def test_a_test_tool_of_ours_is_there() -> None:
    assert shutil.which("git"), "these tests need git"
