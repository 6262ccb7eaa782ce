"""A patch that passes the tests and breaks what the changed function's docstring promises is not sure."""

from __future__ import annotations

from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.verify import Affected, verify
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Patch, Raised

SOURCE = '''
def double(n):
    """Twice.

    >>> double(5)
    10
    """
    return {body}


def other():
    """
    >>> other()
    'an example that never held'
    """
'''
NODEID = "test_double.py::test_double"


@pytest.mark.parametrize(("body", "confidence"), [("n + n", "high"), ("n * n - n", "low")])
def test_examples_of_changed_functions_are_asked(tmp_path: Path, body: str, confidence: str):
    before, after = (SOURCE.format(body=text).encode() for text in ("n", body))
    (tmp_path / "double.py").write_bytes(before)
    (tmp_path / "test_double.py").write_text(
        "from double import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
    )
    with workshop_at(tmp_path, outcomes={NODEID: "failed"}, plugins_off=True) as workshop:
        root = str(workshop.pristine.top)
        failure = Failure(NODEID, "call", (Raised("AssertionError", "assert 3 == 6"),), path="test_double.py")
        diagnosis = Diagnosis("0001", (failure,), "logic", (), "", root, root)
        patch = Patch((FileChange("double.py", before, after),), "model", "")
        verdict = verify(workshop, patch, diagnosis, Affected((), ""))
    assert (verdict.kind, verdict.confidence) == ("healed", confidence), verdict.reason
    assert ("examples of double do not hold" in verdict.reason) == (confidence == "low")
