"""The order of causes; what nobody could see while a module did not collect is healed in a second wave, on top of the first patch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from healing_helpers import heal

from pytest_selfheal.propose import Proposal
from pytest_selfheal.testing import Example
from pytest_selfheal.types import Attempt, Diagnosis, GaveUp

FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "no:cacheprovider")


def test_a_second_fault_behind_a_syntax_error(tmp_path: Path) -> None:
    example = Example(
        {
            "pytest.ini": "[pytest]\npythonpath = .\naddopts = --continue-on-collection-errors\n",
            "calc.py": "def add(a, b):\n    return a - b\n\n\ndef twice(n)\n    return n * 2\n",
            "test_calc.py": (
                "from calc import add, twice\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(4, 4) == 8\n\n\n"
                "def test_twice():\n    assert twice(4) == 8\n"
            ),
        },
        tmp_path,
    ).git()
    before = example.bytes()
    result = example.run(*FAST)
    report = result.report
    assert [failure["status"] for failure in report["failures"]] == ["healed", "healed"], result.stdout
    assert example.bytes() == before
    second = next((result.run_dir / "patches").glob("0002-*.patch"))
    subprocess.run(["git", "apply", str(second)], cwd=tmp_path, check=True)
    assert (
        tmp_path / "calc.py"
    ).read_text() == "def add(a, b):\n    return a + b\n\n\ndef twice(n):\n    return n * 2\n"
    subprocess.run(["git", "checkout", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", str(result.run_dir / "all.patch")], cwd=tmp_path, check=True)
    assert "return a + b" in (tmp_path / "calc.py").read_text()


def test_a_stub_needs_a_model_and_says_so(tmp_path: Path) -> None:
    example = Example(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "calc.py": 'def add(a, b):\n    """Sum."""\n    raise NotImplementedError\n',
            "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        },
        tmp_path,
    )
    [failure] = example.run(*FAST).report["failures"]
    assert (failure["status"], failure["reason"]) == ("unhealed", "no_candidate")
    assert "--selfheal-model" in next((tmp_path / ".selfheal/latest/failures").glob("*.md")).read_text()


def test_a_fault_in_one_cause_does_not_end_the_run(tmp_path: Path) -> None:
    example = Example(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "conftest.py": (
                "def pytest_selfheal_guard(patch, failure):\n"
                "    if 'minus' in failure.nodeid:\n        raise RuntimeError('broken hook')\n"
            ),
            "calc.py": "def add(a, b):\n    return a - b\n\n\ndef minus(a, b):\n    return a + b\n",
            "test_calc.py": (
                "from calc import add, minus\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(4, 4) == 8\n\n\n"
                "def test_minus():\n    assert minus(5, 2) == 3\n    assert minus(9, 4) == 5\n"
            ),
        },
        tmp_path,
    )
    result = example.run(*FAST)
    assert result.code == 1 and "INTERNALERROR" not in result.stdout + result.stderr
    found = {failure["nodeids"][0]: failure["reason"] for failure in result.report["failures"]}
    assert found == {"test_calc.py::test_add": "healed", "test_calc.py::test_minus": "infrastructure"}, result.stdout


def test_a_stub_is_left_to_another_plugin_that_proposes(tmp_path: Path) -> None:
    example = Example(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "conftest.py": (
                "from pathlib import Path\nfrom pytest_selfheal.types import FileChange, Patch\n\n\n"
                "class Writer:\n    name = 'writer'\n\n    def propose(self, diagnosis, history):\n"
                "        before = Path(diagnosis.root, 'calc.py').read_bytes()\n"
                "        after = before.replace(b'raise NotImplementedError', b'return a + b')\n"
                "        yield Patch((FileChange('calc.py', before, after),), self.name, 'write add()')\n\n\n"
                "def pytest_selfheal_proposers(settings):\n    return [Writer()]\n"
            ),
            "calc.py": 'def add(a, b):\n    """Sum."""\n    raise NotImplementedError\n',
            "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        },
        tmp_path,
    )
    [failure] = example.run(*FAST).report["failures"]
    assert (failure["status"], failure["attempts"][-1]["proposer"]) == ("healed", "writer"), failure


def test_the_time_of_the_whole_run_holds_for_seeing_the_failures_again(tmp_path: Path) -> None:
    slow = "import sys, time\nfrom calc import add\n\n\ndef test_add():\n    time.sleep(300 if 'pytest_selfheal.judge.child' in sys.modules else 0)\n"
    example = Example(
        {"calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": f"{slow}    assert add(1, 2) == 3\n"},
        tmp_path,
    )
    result = example.git().run(*FAST, "--selfheal-total-time", "3", timeout=100)
    assert [failure["reason"] for failure in result.report["failures"]] == ["time_limit"]
    assert "raise --selfheal-total-time" in result.stdout


class Asked:
    """Keeps for which tests it is asked, in order."""

    name = "scripted"

    def __init__(self) -> None:
        self.order: list[str] = []

    def propose(self, diagnosis: Diagnosis, history: Sequence[Attempt]) -> Iterator[Proposal]:
        self.order.append(diagnosis.nodeids[0].rpartition("::")[2].partition("[")[0])
        yield GaveUp("no_candidate", "Nothing.", self.name)


def test_what_is_easiest_to_locate_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "def one(a):\n    return a + 1\n\n\ndef many(a):\n    return a + 2\n\n\ndef raising(a):\n    return a.missing\n"
    )
    tests = (
        "import time\n\nimport pytest\nfrom calc import many, one, raising\n\n\n"
        "def test_slow():\n    time.sleep(0.2)\n    assert one(2) == 2\n\n\n"
        "def test_quick():\n    assert one(1) == 1\n\n\n"
        "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_many(n):\n    time.sleep(0.1)\n    assert many(n) == n\n\n\n"
        "def test_raising():\n    time.sleep(0.3)\n    raising(1)\n"
    )
    asked = Asked()
    heal(tmp_path, monkeypatch, {"calc.py": code, "test_calc.py": tests}, asked)
    assert asked.order == ["test_raising", "test_many", "test_quick", "test_slow"]
