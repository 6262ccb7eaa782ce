"""The project's own formatter, where it has one: ruff or black with the project's settings, on text alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pytest_selfheal.testgen.write import DEFAULT_WIDTH

SECONDS = 10.0


def line_width(top: Path) -> int:
    """The line length that the project asks for."""
    for name in ("ruff.toml", ".ruff.toml", "pyproject.toml", "setup.cfg", "tox.ini"):
        found = re.search(r"^\s*(?:line[-_]length|max-line-length)\s*=\s*(\d+)", _text(top / name), re.MULTILINE)
        if found:
            return max(60, min(int(found.group(1)), 160))
    return DEFAULT_WIDTH


def formatted(text: str, path: str, top: Path) -> str:
    """``text`` as black or ruff would write it in this project; as it is when neither is configured or installed."""
    settings = _text(top / "pyproject.toml")
    commands: list[list[str]] = []
    if "[tool.ruff" in settings or (top / "ruff.toml").exists() or (top / ".ruff.toml").exists():
        commands = [
            ["ruff", "check", "--select", "I", "--fix", "--quiet", "--exit-zero"],
            ["ruff", "format", "--quiet"],
        ]
        commands = [[*command, "--no-cache", "--stdin-filename", path, "-"] for command in commands]
    elif "[tool.black" in settings:
        commands = [["black", "--quiet", "--stdin-filename", path, "-"]]
    for command in commands:
        text = _run(command, text, top) or text
    return text


def _run(command: list[str], text: str, top: Path) -> str:
    program = shutil.which(command[0], path=str(Path(sys.executable).parent)) or shutil.which(command[0])
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *command[1:]], cwd=top, input=text.encode(), capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
