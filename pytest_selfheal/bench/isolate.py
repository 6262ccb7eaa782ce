"""Start the scorer's own process: sandboxed, apart from the healer, one interpreter start a task."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_selfheal.judge.environment import child_environment
from pytest_selfheal.judge.process import launch
from pytest_selfheal.judge.sandbox import View, choose
from pytest_selfheal.settings import Settings

PACKAGE_PARENT = Path(__file__).resolve().parents[2]
START = (
    "import sys; sys.path[:] = [sys.argv[1], *filter(None, sys.path)]; "
    "from pytest_selfheal.bench.inside import main; del sys.path[0]; main(sys.argv[2:])"
)
GRACE = 20.0
"""Wall seconds that a loaded machine may add."""
Step = dict[str, Any]
"""``work`` names the module of ``inside/`` that does it; the rest is for that module."""


def run(steps: Sequence[Step], settings: Settings, files: Mapping[str, bytes] | None = None) -> list[dict[str, Any]]:
    """Let ``inside/`` do the steps, one after the other, in a folder of its own that holds ``files``.

    No step sees what an earlier one was given. Each answer is its step's result, or ``{"reason": …}`` alone when it
    came to none.
    """
    # /tmp is hidden inside the sandbox; only this folder is seen.
    box = Path(tempfile.mkdtemp(prefix="selfheal-score-"))
    try:
        write(box, files or {})
        cpu = min(settings.test_timeout, 20.0)
        nonces = [secrets.token_hex(16) for _ in steps]
        jobs = [str(box / f".job{number}") for number in range(len(steps))]
        for step, nonce, job in zip(steps, nonces, jobs, strict=True):
            limits = {"cpu": cpu, "memory_mib": settings.memory}
            Path(job).write_text(json.dumps({"nonce": nonce, **limits, **step}), encoding="utf-8")
        sandbox, _ = choose(settings, box)
        view = View(copy=box, original=box)
        env = child_environment(settings)
        env["PYTHONHASHSEED"] = "0"  # the order of sets must be the same for the reference and the healed module
        for name in ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONWARNINGS"):
            env.pop(name, None)
        argv = [sys.executable, "-s", "-c", START, str(PACKAGE_PARENT), *jobs]
        messages: list[dict[str, Any]] = []
        timeout = len(steps) * 8 * cpu + GRACE
        ended = launch(sandbox.wrap(argv, view, env), cwd=box, env=env, timeout=timeout, on_message=messages.append)
    finally:
        shutil.rmtree(box, ignore_errors=True)
    reason = f"the scorer's process ended with status {ended.status}: {ended.output.strip()[-300:]}"
    if ended.timed_out:
        reason = "timeout"
    # One answer a step, in order and with its nonce: whatever else was written into the channel makes all void.
    spoken = [message.pop("nonce", None) for message in messages]
    if ended.flooded or spoken != [nonce for nonce in nonces if nonce in spoken]:
        return [{"reason": reason} for _ in steps]
    said = dict(zip(spoken, messages, strict=True))
    return [said.get(nonce, {"reason": reason}) for nonce in nonces]


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` below ``folder``. Raises ``ValueError`` for a path that leads out of it."""
    for name, content in files.items():
        target = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"{name!r} leads out of the folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
