"""Where a suite's data comes from: a local path, our own samples, or a file of a dataset hub, cached and checksummed."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_selfheal.errors import UsageError

SAMPLE: Final = "sample"


@dataclass(frozen=True)
class HubFile:
    """One file of a dataset on the hub."""

    repo: str
    filename: str
    sha256: str
    """Of the version that this project's figures were measured on."""


_PACK = HubFile(
    "bigcode/humanevalpack",
    "data/python/data/humanevalpack.jsonl",
    "b1376d72be4bd016a62ad043d9de3846edb8d63edf1222da802a31330c14c3a7",
)
HUB: Final = {
    "humanevalfix": _PACK,
    "humaneval": _PACK,
    "mbpp": HubFile(
        "Muennighoff/mbpp", "data/mbpp.jsonl", "ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f"
    ),
}
NOT_ON_THE_HUB: Final = {
    "quixbugs": "clone github.com/jkoppel/QuixBugs and give its folder with --selfheal-bench-data PATH",
}


def locate(suite: str, given: str | None) -> tuple[Path, str]:
    """The file or folder of tasks and how to name it to people.

    Raises :class:`UsageError` when it cannot be had, saying what to do instead.
    """
    from pytest_selfheal.bench.suites import BUNDLED

    if given == SAMPLE:
        found = next(path for path in sorted(BUNDLED.iterdir()) if path.stem == suite)
        return found, f"the project's own sample of {suite}"
    if given is not None:
        return Path(given).absolute(), str(Path(given).absolute())
    if suite == "scripts":
        return BUNDLED / "scripts", "the project's own broken scripts"
    if suite in NOT_ON_THE_HUB:
        raise UsageError(f"--selfheal-bench {suite}: the data is not on the hub; {NOT_ON_THE_HUB[suite]}.")
    return _download(suite, HUB[suite]), f"hub:{HUB[suite].repo}/{HUB[suite].filename}"


def _download(suite: str, wanted: HubFile) -> Path:
    advice = (
        f"download {wanted.filename} of the dataset {wanted.repo} elsewhere and give it with --selfheal-bench-data PATH"
    )
    try:
        import huggingface_hub
    except ImportError:
        raise UsageError(
            f"--selfheal-bench {suite}: fetching the data needs huggingface_hub; "
            f"run pip install 'pytest-selfheal[bench]', or {advice}."
        ) from None
    arguments: dict[str, Any] = {"repo_id": wanted.repo, "filename": wanted.filename, "repo_type": "dataset"}
    try:
        # A copy in the cache is as good as the hub's: results must not change because a network came back.
        path = Path(huggingface_hub.hf_hub_download(**arguments, local_files_only=True))
    except Exception:
        try:
            path = Path(huggingface_hub.hf_hub_download(**arguments))
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise UsageError(f"--selfheal-bench {suite}: the hub cannot be reached ({first}); {advice}.") from None
    if fingerprint(path) != wanted.sha256:
        logging.getLogger("pytest_selfheal").warning(
            "%s from the hub is another version than the one our published figures were measured on", wanted.filename
        )
    return path


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files and their names (caches and hidden files left out)."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        parts = file.relative_to(path).parts
        if file.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in parts):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            whole.update(f"{'/'.join(parts)}\0{content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
