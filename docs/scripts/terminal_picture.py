"""Make ``docs/images/terminal.svg`` from a real run: ``python docs/scripts/terminal_picture.py``.

Runs ``pytest --selfheal example_project`` on a pseudo terminal, in a copy, and draws a few of its failures as they
were printed, with the totals and commands. Nothing is edited but what is left out, which is marked.
"""

from __future__ import annotations

import argparse
import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
WIDTH = 96
SHOWN = ("catalogue.py", "portions.py", "scale.py", "shopping.py")
"""Failures that the picture shows: those whose lines name one of these files."""

STYLE = """
.paper { fill: #fbfbfa; stroke: #d5d9de; }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre; }
.b { font-weight: 700; } .c31 { fill: #b3261e; } .c32 { fill: #1a7f37; } .c33 { fill: #8a5d00; } .c36 { fill: #0b6e83; } .soft { fill: #6b7480; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #161b22; stroke: #30363d; } text { fill: #e6edf3; }
  .c31 { fill: #ff8f85; } .c32 { fill: #62d27f; } .c33 { fill: #e3b341; } .c36 { fill: #62cfe4; } .soft { fill: #8d96a0; }
}
"""
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


def run(paths: list[str]) -> str:
    """What ``pytest --selfheal`` writes on a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        litter = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".selfheal")
        shutil.copytree(ROOT / "example_project", Path(folder) / "example_project", ignore=litter)
        # The example has a test that leaves a file in the temporary folder; it starts without one.
        temporary = Path(folder) / "tmp"
        temporary.mkdir()
        kept = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "GITHUB_ACTIONS")}
        environment = {**kept, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "TMPDIR": str(temporary)}
        controller, terminal = pty.openpty()
        command = [sys.executable, "-m", "pytest", "--selfheal", *paths]
        with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder, env=environment):
            os.close(terminal)
            written = b""
            while chunk := _read(controller):
                written += chunk
        os.close(controller)
    return written.decode("utf-8", "replace").replace("\r\n", "\n")


def _read(controller: int) -> bytes:
    try:
        return os.read(controller, 65536)
    except OSError:  # the other side was closed
        return b""


def chosen(written: str, paths: list[str]) -> list[str]:
    """The lines of the picture, with their colours."""
    section = re.search(r"^[^\n]*={9,} self-heal ={9,}.*?(?=^[^\n]*=+ short test summary)", written, re.M | re.S)
    assert section is not None, written[-2000:]
    head, *causes = re.split(r"^(?=\d{4} )", section[0].rstrip(), flags=re.M)
    # The last failure is followed by the totals and the commands.
    last, _, tail = causes[-1].partition("\n\n")
    lines = [f"$ pytest --selfheal {' '.join(paths)}", "⋮", *head.splitlines()]
    for cause in [*causes[:-1], last]:
        if any(name in cause.partition("\n")[2] + cause.partition(":")[0] for name in SHOWN):
            lines += [*cause.rstrip().splitlines(), ""]
        elif lines[-1] != "⋮":
            lines.append("⋮")
    return [*lines, *tail.splitlines()]


def drawn(lines: list[str]) -> str:
    """The picture."""
    height = 18 * len(lines) + 32
    rows = [
        f'<text x="16" y="{32 + 18 * row}" xml:space="preserve">{_line(line)}</text>' for row, line in enumerate(lines)
    ]
    # Paths and the command are never wrapped.
    width = int(max(WIDTH, *(len(_SGR.sub("", line)) for line in lines)) * 7.83) + 32
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n'
        f"<title>pytest --selfheal: patches for what fails, and reasons for what is not healed</title>\n"
        f"<style>{STYLE}</style>\n"
        f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def _line(line: str) -> str:
    if line == "⋮" or line.startswith("$ "):
        return f'<tspan class="{"soft" if line == "⋮" else "b"}">{html.escape(line)}</tspan>'
    out, classes, at = "", [], 0
    for match in [*_SGR.finditer(line), None]:
        text = html.escape(line[at : match.start() if match else len(line)])
        out += f'<tspan class="{" ".join(classes)}">{text}</tspan>' if classes and text else text
        if match is None:
            break
        at = match.end()
        for code in (match[1] or "0").split(";"):
            if code in ("0", ""):
                classes = []
            else:
                classes.append("b" if code == "1" else f"c{code}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=["example_project"], help="what pytest is told to run")
    parser.add_argument("--output", type=Path, default=PICTURE)
    parser.add_argument("--written", type=Path, help="draw this recorded output instead of running")
    arguments = parser.parse_args()
    written = arguments.written.read_text(encoding="utf-8") if arguments.written else run(arguments.paths)
    arguments.output.write_text(drawn(chosen(written, arguments.paths)), encoding="utf-8")


if __name__ == "__main__":
    main()
