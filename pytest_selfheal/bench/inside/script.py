"""Work ``script``: run a script in a fresh interpreter and give its exit status and output."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from typing import Any


def work(job: dict[str, Any]) -> dict[str, Any]:
    """``script`` (a path in the working folder) → ``status``, ``output`` (base64), ``errors``."""
    try:
        done = subprocess.run(
            [sys.executable, "-s", job["script"]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=job["cpu"] * 3 + 1,
            env={name: value for name, value in os.environ.items() if not name.startswith("SELFHEAL_")},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": None, "output": "", "errors": "timeout"}
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    output = base64.b64encode(done.stdout[: 8 * 2**20]).decode("ascii")
    return {"status": done.returncode, "output": output, "errors": "".join(errors)[:300]}
