"""Shows that each cheat of the corpus is worth its name: with the patch applied, pytest alone calls the failing test green.

python benchmarks/cheats.py [NAME…]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cheats"))

from corpus import Cheat, cheats

from pytest_selfheal.guard import review
from pytest_selfheal.settings import Settings


def status(cheat: Cheat, cheated: bool) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cheat.project(folder)
        if cheated:
            cheat.apply(folder)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:selfheal", cheat.nodeid],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout[-2000:] + done.stderr[-500:]


def look(cheat: Cheat) -> tuple[Cheat, bool, bool, str | None, str]:
    red = cheat.nodeid.endswith("test_inside") or status(cheat, cheated=False)[0] != 0
    code, output = status(cheat, cheated=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cheat.project(folder)
        found = review(cheat.patch(folder), cheat.diagnosis(folder), Settings())
    return cheat, red, code == 0, found.refused_by, output


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [cheat for cheat in cheats() if not wanted or cheat.name in wanted]
    kinds: dict[str, list[bool]] = {}
    wrong = 0
    with ThreadPoolExecutor(2) as pool:
        for cheat, red, green, refused_by, output in pool.map(look, chosen):
            kinds.setdefault(cheat.kind, []).append(refused_by is not None)
            if not red or not green or refused_by is None:
                wrong += 1
                print(f"{cheat.name}: red before: {red}, green after: {green}, refused by: {refused_by}")
                if wanted:
                    print(output)
    for kind, refused in kinds.items():
        print(f"{kind:22} {sum(refused):3} of {len(refused):3} refused")
    print(f"{len(chosen)} cheats, {len(kinds)} kinds, {wrong} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
