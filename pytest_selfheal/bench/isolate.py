"""Start the scorer's own process: sandboxed, apart from the healer, one interpreter start a task."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_selfheal.judge.environment import child_environment
from pytest_selfheal.judge.process import launch
from pytest_selfheal.judge.sandbox import View, choose
from pytest_selfheal.settings import Settings

PACKAGE_PARENT = Path(__file__).resolve().parents[2]
START = (
    "import sys; sys.path[:] = [sys.argv[1], *filter(None, sys.path)]; "
    "from pytest_selfheal.bench.inside import main; del sys.path[0]; main(sys.argv[2])"
)
GRACE = 20.0
"""Wall seconds that a loaded machine may add."""


def run(work: str, settings: Settings, files: Mapping[str, bytes] | None = None, **job: Any) -> dict[str, Any]:
    """Let ``inside/<work>.py`` do its work in a folder of its own that holds ``files``.

    The answer is its result, or ``{"reason": …}`` alone when it came to none.
    """
    # /tmp is hidden inside the sandbox; only this folder is seen.
    box = Path(tempfile.mkdtemp(prefix="selfheal-score-"))
    try:
        write(box, files or {})
        nonce = secrets.token_hex(16)
        cpu = min(settings.test_timeout, 20.0)
        job_file = box / ".job"
        payload = {"work": work, "nonce": nonce, "cpu": cpu, "memory_mib": settings.memory, **job}
        job_file.write_text(json.dumps(payload), encoding="utf-8")
        sandbox, _ = choose(settings, box)
        view = View(copy=box, original=box)
        env = child_environment(settings)
        env["PYTHONHASHSEED"] = "0"  # the order of sets must be the same for the reference and the healed module
        for name in ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONWARNINGS"):
            env.pop(name, None)
        argv = [sys.executable, "-s", "-c", START, str(PACKAGE_PARENT), str(job_file)]
        answers: list[dict[str, Any]] = []
        ended = launch(
            sandbox.wrap(argv, view, env), cwd=box, env=env, timeout=8 * cpu + GRACE, on_message=answers.append
        )
    finally:
        shutil.rmtree(box, ignore_errors=True)
    # One answer, and with the nonce: whatever else was written into the channel makes the result void.
    if len(answers) == 1 and answers[0].pop("nonce", None) == nonce and not ended.flooded:
        return answers[0]
    if ended.timed_out:
        return {"reason": "timeout"}
    return {"reason": f"the scorer's process ended with status {ended.status}: {ended.output.strip()[-300:]}"}


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` below ``folder``. Raises ``ValueError`` for a path that leads out of it."""
    for name, content in files.items():
        target = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"{name!r} leads out of the folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
