"""The complete plugin of docs/extending.md takes part in a real run; so does the test that the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from pytest_selfheal.testing import Example

PAGE = (Path(__file__).parent.parent / "docs/extending.md").read_text("utf-8")
GOOD = '''def initials(name):
    """The first letters of a name's words, upper case, with dots."""
    parts = [part for part in name.replace("-", " ").split() if part[0].isalpha()]
    return "".join(part[0].upper() + "." for part in parts)
'''
TEST = """from names import initials


def test_initials():
    assert initials("ada king-noel") == "A.K.N."
    assert initials("") == ""
"""


def test_the_example_plugin_proposes_and_reports(tmp_path: Path) -> None:
    found = re.search(r'^```python title="conftest.py"\n(.*?)^```', PAGE, re.M | re.S)
    assert found is not None
    files = {
        "names.py": GOOD,
        "test_names.py": TEST,
        "conftest.py": found[1],
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    example = Example(files, tmp_path).git()
    # Half of the function is gone: nothing that small edits could write again.
    example.write({"names.py": "def initials(name):\n    parts = [\n    while"})
    result = example.run("--selfheal", "--selfheal-effort", "fast", "-p", "no:cacheprovider")
    assert result.report["totals"]["healed"] == 1, result.stdout + result.stderr
    assert "take names.py back to the last commit" in result.stdout
    assert "names.py (take-back): ask the owners of test_names.py" in result.stdout


def test_the_example_test_passes(tmp_path: Path) -> None:
    found = re.search(r"^```python\n(from pathlib import Path\n.*?)^```", PAGE, re.M | re.S)
    assert found is not None
    (tmp_path / "test_it.py").write_text(found[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
