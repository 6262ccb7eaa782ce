"""What runs in the scorer's own process. Standard library only, and nothing of the plugin beyond this folder.

Started by :mod:`pytest_selfheal.bench.isolate`: the job is a JSON file that is removed as soon as it is read, the
answer one JSON line on an inherited pipe. Each piece of foreign code runs in a fork of its own, so that it can neither
change the next piece nor speak for this process.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def main(job_file: str) -> None:
    """Run the job and send its result."""
    path = Path(job_file)
    job: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    channel = int(os.environ.pop("SELFHEAL_CHANNEL"))
    os.set_inheritable(channel, False)
    answer = importlib.import_module(f"{__name__}.{job['work']}").work(job)
    with os.fdopen(channel, "w", encoding="ascii") as stream:
        stream.write(json.dumps({"nonce": job["nonce"], **answer}) + "\n")
    sys.stdout.flush()
