"""A folder of broken scripts. A script is healed when it ends with status 0 and, where ``NAME.expected`` stands beside
it, prints just that. Other files whose names begin with the script's are its data."""

from __future__ import annotations

import ast
from pathlib import Path

from pytest_selfheal.bench.suites import Loaded
from pytest_selfheal.bench.task import Answer, Malformed, Task, Visible
from pytest_selfheal.errors import UsageError


def load(path: Path, visible: Visible) -> Loaded:
    if not path.is_dir():
        raise UsageError(f"--selfheal-bench-data: {path} is not a folder; the suite scripts needs one with .py files.")
    pairs: list[tuple[Task, Answer]] = []
    malformed: list[Malformed] = []
    for script in sorted(path.glob("*.py")):
        if not script.stem.isidentifier():
            malformed.append(Malformed(script.name, "its name is no module name; rename it to letters, digits and _"))
            continue
        name = script.stem
        expected_file = script.with_suffix(".expected")
        expected = expected_file.read_bytes() if expected_file.is_file() else None
        data = {
            other.name: other.read_bytes()
            for other in sorted(path.glob(f"{name}.*"))
            if other.suffix not in (".py", ".expected") and other.is_file()
        }
        source = script.read_bytes()
        test = _test(name, source, expected if visible == "tests" else None)
        task = Task(name, name, script.name, {script.name: source, **data}, {f"test_{name}.py": test.encode()})
        pairs.append((task, Answer("script", expected=expected, files=data)))
    return pairs, malformed


def _test(name: str, source: bytes, expected: bytes | None) -> str:
    """The visible test: the script runs to its end and prints what it should. It runs in the test's own process, so that
    its failures have a traceback."""
    lines = [] if _main_is_called(source) else ["import runpy"]
    lines += ["from pathlib import Path", "", "import pytest"]
    if _main_is_called(source):
        lines += ["", f"import {name}"]
        run = f"{name}.main()"
    else:
        run = f'runpy.run_module("{name}", run_name="__main__")'
    text = "\n".join(lines)
    text += f"""


@pytest.fixture(autouse=True)
def in_its_folder(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)


def test_{name}(capsys):
    {run}
"""
    if expected is not None:
        shown = expected.decode("utf-8", "replace").replace("\r\n", "\n").splitlines(keepends=True)
        wanted = "\n".join(f"        {line!r}" for line in shown) or "        ''"
        text += f"    assert capsys.readouterr().out == (\n{wanted}\n    )\n"
    return text


def _main_is_called(source: bytes) -> bool:
    """Whether the script only defines things and calls ``main()`` when run; then the test can import it.

    Read from the text where the script does not parse.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        text = source.decode("utf-8", "replace")
        return "def main(" in text and "if __name__ ==" in text
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    guarded = any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body)
    return "main" in names and guarded
