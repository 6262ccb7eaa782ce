"""What runs in the scorer's own process. Standard library only, and nothing of the plugin beyond this folder.

Started by :mod:`pytest_selfheal.bench.isolate`: each step's job is a JSON file that is removed as soon as it is read, its
answer one JSON line on an inherited pipe. Each step but the last is a fork, so that nothing of it (the reference) is in
the memory that a later step (the healed module) starts from; and each piece of foreign code runs in a fork of its own,
so that it can neither change the next piece nor speak for this process.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

INPUTS = ".inputs"
"""Where a step leaves its ``inputs`` for a later one whose own are ``None``."""


def main(job_files: list[str]) -> None:
    """Do the steps and send their results."""
    channel = int(os.environ.pop("SELFHEAL_CHANNEL"))
    os.set_inheritable(channel, False)
    for job_file in job_files[:-1]:
        if not hasattr(os, "fork"):  # pragma: no cover - Windows
            _step(job_file, channel)
        elif pid := os.fork():
            os.waitpid(pid, 0)
        else:
            try:
                _step(job_file, channel)
            finally:
                os._exit(0)
    _step(job_files[-1], channel)
    sys.stdout.flush()


def _step(job_file: str, channel: int) -> None:
    path = Path(job_file)
    job: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    left = path.with_name(INPUTS)
    if job.get("inputs", ()) is None:
        job["inputs"] = json.loads(left.read_text(encoding="utf-8")) if left.exists() else []
        left.unlink(missing_ok=True)
    answer = importlib.import_module(f"{__name__}.{job['work']}").work(job)
    if "inputs" in answer:
        left.write_text(json.dumps(answer["inputs"]), encoding="utf-8")
    with os.fdopen(os.dup(channel), "w", encoding="ascii") as stream:
        stream.write(json.dumps({"nonce": job["nonce"], **answer}) + "\n")
