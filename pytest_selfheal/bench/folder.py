"""The healer's project: a folder of its own with the module and the visible tests, and nothing else."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_selfheal.bench.isolate import write
from pytest_selfheal.bench.suites import source
from pytest_selfheal.bench.task import Task


def _ini(task: Task) -> bytes:
    """Settings of its own, so that no other project's reach the tests."""
    text = "[pytest]\nfilterwarnings =\n"
    if source.TEST_PATH in task.tests:
        # A function under repair may itself be called test_…; it is no test because a test file imports it.
        text += f"python_functions = test_{task.entry_point}\n"
    return text.encode()


@contextlib.contextmanager
def project_of(task: Task) -> Iterator[Path]:
    """A fresh project folder for ``task``; removed afterwards.

    It lies in the temp folder, outside any repository.
    """
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="selfheal-bench-")))
    try:
        write(folder, {"pytest.ini": _ini(task), **task.project()})
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def merged(before: dict[str, bytes], versions: list[dict[str, bytes]]) -> dict[str, bytes]:
    """``before`` with several independent changes; where two change the same place differently, the first stays."""
    from pytest_selfheal.errors import RecordError
    from pytest_selfheal.record.patch import merge3

    result = dict(before)
    for version in versions:
        for path, after in version.items():
            base, ours = before.get(path, b""), result.get(path, b"")
            if ours in (base, after):
                result[path] = after
            else:
                with contextlib.suppress(RecordError):
                    result[path] = merge3(base, ours, after) or ours
    return result
