"""How long it takes to heal tests that never end: each a project of two files with a time limit of two seconds.

    python benchmarks/endless.py
    python benchmarks/endless.py --only "sleeping loop"

Prints a line for each: healing seconds, candidates tried, and the line that came in.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECTS = {
    "loop": (
        "def digits(n):\n    count = 0\n    while n >= 0:\n        n //= 10\n        count += 1\n    return count\n",
        "from m import digits\n\n\ndef test_it():\n    assert digits(7) == 1\n    assert digits(123) == 3\n",
    ),
    "queue": (
        "import queue\nimport threading\n\n\ndef squares(numbers):\n    todo, done = queue.Queue(), queue.Queue()\n\n"
        "    def work():\n        for _ in range(len(numbers) - 1):\n            done.put(todo.get() ** 2)\n\n"
        "    threading.Thread(target=work, daemon=True).start()\n    for number in numbers:\n        todo.put(number)\n"
        "    return [done.get() for _ in numbers]\n",
        "from m import squares\n\n\ndef test_two():\n    assert squares([1, 2]) == [1, 4]\n\n\n"
        "def test_three():\n    assert squares([3, 2, 1]) == [9, 4, 1]\n\n\ndef test_none():\n    assert squares([]) == []\n",
    ),
    "semaphore": (
        "import asyncio\n\n\nasync def gather_in_turn(jobs, limit):\n    gate = asyncio.Semaphore(limit - 1)\n\n"
        "    async def one(job):\n        async with gate:\n            return await job()\n\n"
        "    return await asyncio.gather(*[one(job) for job in jobs])\n",
        "import asyncio\n\nfrom m import gather_in_turn\n\n\nasync def job():\n    await asyncio.sleep(0)\n    return 1\n\n\n"
        "def test_one():\n    assert asyncio.run(gather_in_turn([job], 1)) == [1]\n\n\n"
        "def test_three():\n    assert asyncio.run(gather_in_turn([job] * 3, 2)) == [1] * 3\n",
    ),
    "sleeping loop": (
        "import time\n\n\ndef wait_for(ready, attempts=5):\n    tried = 0\n    while tried >= 0:\n        if ready():\n"
        "            return True\n        tried += 1\n        time.sleep(0.01)\n    return False\n",
        "from m import wait_for\n\n\ndef test_never():\n    assert wait_for(lambda: False, attempts=3) is False\n"
        "    assert wait_for(lambda: False, attempts=1) is False\n\n\ndef test_at_once():\n    assert wait_for(lambda: True)\n\n\n"
        "def test_third():\n    answers = iter([False, False, True])\n    assert wait_for(lambda: next(answers), attempts=3)\n",
    ),
}


def healed(name: str) -> str:
    code, tests = PROJECTS[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\ntimeout = 2\n")
        (folder / "m.py").write_text(code)
        (folder / "test_m.py").write_text(tests)
        subprocess.run(
            [sys.executable, "-m", "pytest", "--selfheal", "-q"], cwd=folder, capture_output=True, check=False
        )
        run = folder / ".selfheal" / "latest"
        [failure] = json.loads((run / "report.json").read_text())["failures"]
        trace = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
        patch = (run / failure["patch"]).read_text() if failure["patch"] else ""
    added = [line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return f"{name}: {failure['status']} in {trace[-1]['t']:.1f} s, {failure['candidates_tried']} candidates; {' '.join(added)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(PROJECTS))
    for name in parser.parse_args().only or PROJECTS:
        print(healed(name), flush=True)


if __name__ == "__main__":
    main()
