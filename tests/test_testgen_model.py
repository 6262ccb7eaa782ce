"""Tests that a model proposes go to the same judges: a real run against a scripted model on loopback."""

from __future__ import annotations

from pathlib import Path

from pytest_selfheal.testgen.model import _code, _without
from pytest_selfheal.testing import Example, ScriptedModel

CODE = '''\
def count_lines(path):
    """Lines of a file that are not empty."""
    with open(path) as file:
        return sum(1 for line in file if line.strip())
'''
EMPTY = "```python\nfrom lines import count_lines\n\n\ndef test_count(tmp_path):\n    count_lines(tmp_path)\n```"
MIXED = """Here it is.
```python
from lines import count_lines


def test_empty_lines_do_not_count(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\\n\\nb\\n")
    assert count_lines(path) == 2


def test_wrong(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\\n")
    assert count_lines(path) == 7


def test_of_nothing():
    assert callable(count_lines)
```
"""


def test_proposals_are_judged_and_errors_are_fed_back(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\nfilterwarnings =\n",
        "tests/test_it.py": "def test_it():\n    assert 1 + 1 == 2\n",
    }
    project = Example(files, tmp_path).git()
    project.write({"lines.py": CODE})
    with ScriptedModel([EMPTY, MIXED]) as model:
        result = project.run("-q", "--generate-tests", *model.options)
        assert len(model.requests) == 2, result.stdout
    first, second = model.requests
    assert "def count_lines(path):" in first.prompt
    assert "`tests/test_it.py`" not in first.prompt, "no test of this module is there to learn from"
    assert "it works with files" in first.prompt
    assert "test_count asserts nothing" in second.last
    generation = result.report["test_generation"]
    [function] = generation["functions"]
    assert function["tests"] == ["tests/test_lines.py::test_empty_lines_do_not_count"]
    reasons = {each["test"].rpartition("::")[2]: each["reason"] for each in function["dropped"]}
    assert reasons["test_wrong"] == "fails when it is repeated"
    assert reasons["test_of_nothing"] == "it covers nothing new or kills no mutant"
    written = (result.run_dir / "tests" / "test_lines.py").read_text("utf-8")
    assert "test_empty_lines_do_not_count" in written
    assert "test_wrong" not in written
    assert generation["tokens"] > 0


def test_the_longest_fenced_block_is_the_file() -> None:
    assert _code("See\n```\nx\n```\nand\n```python\nimport a\nimport b\n```\n") == "import a\nimport b\n"
    assert _code("import a") == "import a\n"


def test_functions_are_removed_with_their_decorators() -> None:
    code = "import pytest\n\n\n@pytest.mark.x\ndef test_a():\n    assert a\n\n\ndef test_b():\n    assert b\n"
    assert _without(code, {"test_a"}) == "import pytest\n\n\ndef test_b():\n    assert b\n"
    assert _without(code, {"test_a", "test_b"}) is None
