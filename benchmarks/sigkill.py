"""Kill a heal-and-apply run at random moments, and look at what is left.

    python benchmarks/sigkill.py [MOMENTS]      # 40 by default; each takes about as long as the run itself

Counts damaged trees (a file that is neither the old nor the new version, anything else changed), processes that are
still there after ten seconds, and runs' folders with which the next command does not work.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_selfheal.testing import Example

OLD = b"def clamp(value, low, high):\n    if value < low:\n        return low\n    if value > high:\n        return low\n    return value\n"
NEW = OLD.replace(b"    if value > high:\n        return low\n", b"    if value > high:\n        return high\n")
FILES = {
    "clamp.py": OLD,
    "test_clamp.py": "from clamp import clamp\n\n\ndef test_above():\n    assert clamp(99, 3, 41) == 41\n\n\ndef test_below():\n    assert clamp(1, 3, 41) == 3\n",
}
COMMAND = (sys.executable, "-m", "pytest", "-q", "--selfheal", "--selfheal-apply", "--selfheal-effort=fast")


def start(folder: Path, temporary: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen(
        COMMAND,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def strays(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def look(folder: Path, temporary: Path) -> list[str]:
    wrong = []
    if (folder / "clamp.py").read_bytes() not in (OLD, NEW):
        wrong.append("clamp.py is damaged")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True).stdout.split(
        "\n"
    )
    others = [line for line in status if line and line[3:] not in ("clamp.py",) and "__pycache__" not in line]
    if [line for line in others if ".pytest_cache" not in line]:
        wrong.append(f"other changes: {others}")
    deadline = time.monotonic() + 10
    while (left := strays(str(temporary))) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        wrong.append(f"processes left: {left}")
    if (folder / ".selfheal").exists():
        for command in (["list"], ["undo"]):
            done = subprocess.run(
                [sys.executable, "-m", "pytest_selfheal", *command], cwd=folder, capture_output=True, text=True
            )
            if "Traceback" in done.stderr or done.returncode not in (0, 1, 2):
                wrong.append(f"selfheal {command[0]}: {done.returncode} {done.stderr[-300:]}")
    return wrong


def main() -> int:
    moments = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    chance = random.Random(5)
    whole = 0.0
    bad = 0
    for n in range(moments + 1):
        with tempfile.TemporaryDirectory() as name:
            folder, temporary = Path(name) / "project", Path(name) / "temporary"
            folder.mkdir()
            temporary.mkdir()
            Example(FILES, folder).git()
            started = time.monotonic()
            process = start(folder, temporary)
            if n == 0:
                process.wait()
                whole = time.monotonic() - started
                print(f"whole run: {whole:.1f} s, healed: {(folder / 'clamp.py').read_bytes() == NEW}")
                continue
            moment = chance.uniform(0.0, whole)
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            wrong = look(folder, temporary)
            if wrong:
                bad += 1
                print(f"{moment:6.2f} s: {'; '.join(wrong)}")
    print(f"{moments} moments, {bad} with something wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
