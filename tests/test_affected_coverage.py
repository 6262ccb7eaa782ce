"""Affected tests: what the import closure bounds and coverage narrows, against what really runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge import affected as affected_module
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.testing import Example
from pytest_selfheal.types import FileChange

SHOP = """\
import functools

RATE = 2


def price(n):
    if n > 10:
        return n * RATE
    return n


def label(n):
    return f"{n} pieces"


@functools.lru_cache
def cached(n):
    return n


def early():
    return 1


EARLY = early()
"""
FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "shop.py": SHOP,
    "other.py": "def other():\n    return 1\n",
    "conftest.py": (
        "import pytest\nfrom shop import label\n\n\n"
        "@pytest.fixture(scope='session')\ndef sticker():\n    return label(2)\n"
    ),
    "test_shop.py": (
        "import subprocess, sys\nimport other\n"
        "from shop import price, cached\n\n\n"
        "def test_few():\n    assert price(2) == 2\n\n\n"
        "def test_many():\n    assert price(20) == 40\n\n\n"
        "def test_first(sticker):\n    assert sticker == '2 pieces'\n\n\n"
        "def test_second(sticker):\n    assert sticker\n\n\n"
        "def test_neither():\n    assert cached(1) == 1\n\n\n"
        "def test_reading():\n    text = open(other.__file__).read()\n    assert text\n\n\n"
        "def test_process():\n    subprocess.run([sys.executable, '-c', 'import shop; shop.price(2)'], check=True)\n"
    ),
    "test_other.py": "from other import other\n\n\ndef test_other():\n    assert other() == 1\n",
}
SHOP_TESTS = {
    f"test_shop.py::test_{name}" for name in ("few", "many", "first", "second", "neither", "reading", "process")
}
OUTCOMES = dict.fromkeys([*sorted(SHOP_TESTS), "test_other.py::test_other"], "passed")


@contextmanager
def asked(folder: Path, monkeypatch: pytest.MonkeyPatch, measure: bool = True) -> Iterator[AffectedTests]:
    monkeypatch.setattr(affected_module, "WORTH_MEASURING_SECONDS", 0.0)
    with workshop_at(folder, outcomes=OUTCOMES, durations=dict.fromkeys(OUTCOMES, 0.1)) as workshop:
        yield measured(workshop) if measure else AffectedTests(workshop.project, workshop.pristine.top, workshop)


def measured(workshop: Workshop) -> AffectedTests:
    tests = AffectedTests(workshop.project, workshop.pristine.top, workshop)
    tests.measure(["shop.py"])
    assert tests._thread is not None
    tests._thread.join()
    return tests


def change(before: str, after: str, text: str = SHOP) -> list[FileChange]:
    assert before in text
    return [FileChange("shop.py", text.encode(), text.replace(before, after).encode())]


def short(nodeids: tuple[str, ...]) -> set[str]:
    return {nodeid.rpartition("::test_")[2] for nodeid in nodeids}


def test_coverage_narrows_the_import_closure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Example(FILES, tmp_path)
    with asked(tmp_path, monkeypatch) as tests:

        def of(before: str, after: str) -> set[str]:
            return short(tests.of(["shop.py"], (), change(before, after)).nodeids)

        # One line for another: those that run it; the one that starts a process is never left out.
        assert of("        return n * RATE", "        return n + RATE") == {"many", "process"}
        assert of("    if n > 10:", "    if n > 11:") == {"few", "many", "process"}
        # More lines than before: all that run the function.
        assert of("    return n\n\n\ndef label", "    n += 1\n    return n\n\n\ndef label") == {
            "few",
            "many",
            "process",
        }
        # A line that makes the function a generator, or a name its own, changes it as a whole.
        assert of("        return n * RATE", "        yield n * RATE") == {"few", "many", "process"}
        assert of("        return n * RATE", "        RATE = n") == {"few", "many", "process"}
        # A fixture of the session ran in the first test and serves the second.
        assert of('f"{n} pieces"', 'f"{n} parts"') == {"first", "second", "process"}
        # What runs at import, or remembers, concerns everybody that imports it.
        whole = {nodeid.rpartition("::test_")[2] for nodeid in SHOP_TESTS}
        everybody = {*whole, "other"}  # conftest.py imports shop.py for all
        assert of("RATE = 2", "RATE = 3") == everybody
        assert of("    return 1\n\n\nEARLY", "    return 2\n\n\nEARLY") == everybody
        assert of("def cached(n):\n    return n", "def cached(n):\n    return +n") == everybody
        # One reads the source of the other file.
        other = [FileChange("other.py", FILES["other.py"].encode(), b"def other():\n    return 2\n")]
        assert short(tests.of(["other.py"], (), other).nodeids) == {"other", "reading", "process"}
        scope = tests.of(["shop.py"], (), change("n * RATE", "n - RATE")).scope
        assert scope == "coverage of shop.py: 2 of the 8 tests that can import it"
        # The failing ones are run anyway.
        assert short(tests.of(["shop.py"], ["test_shop.py::test_many"], change("n * RATE", "n - RATE")).nodeids) == {
            "process"
        }


def test_without_measurements_the_import_closure_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Example({**FILES, "conftest.py": ""}, tmp_path)
    with asked(tmp_path, monkeypatch, measure=False) as tests:
        found = tests.of(["shop.py"], (), change("n * RATE", "n - RATE"))
    assert set(found.nodeids) == SHOP_TESTS
    assert found.scope == "import closure of shop.py: 7 of 8 other tests"


def test_the_map_is_kept_and_outlives_edits_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Example({**FILES, "conftest.py": FILES["conftest.py"]}, tmp_path)
    with asked(tmp_path, monkeypatch) as tests:
        tests.close()
    assert (tmp_path / ".selfheal" / "coverage.json").exists()

    # A comment shifts all lines, and another function is edited: tests that ran neither are still known.
    edited = "# shifted\n" + SHOP.replace("{n} pieces", "{n} items")
    (tmp_path / "shop.py").write_text(edited)
    with asked(tmp_path, monkeypatch, measure=False) as tests:
        found = tests.of(["shop.py"], (), change("n * RATE", "n - RATE", edited))
        # The two that ran label() have to be measured again, so they count; lines have shifted, so functions decide.
        assert short(found.nodeids) == {"few", "many", "first", "second", "process"}
        assert "2 of them not measured yet" in found.scope

    # Something that runs at import is edited: nothing of what was measured can be relied on.
    edited = SHOP.replace("RATE = 2", "RATE = 3")
    (tmp_path / "shop.py").write_text(edited)
    with asked(tmp_path, monkeypatch, measure=False) as tests:
        assert len(tests.of(["shop.py"], (), change("n * RATE", "n - RATE", edited)).nodeids) == 8


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}', '{"format": 1, "paths": [], "tests": {"a": {}}}'])
def test_a_damaged_map_is_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    Example({**FILES, "conftest.py": "", ".selfheal/coverage.json": content}, tmp_path)
    with asked(tmp_path, monkeypatch, measure=False) as tests:
        assert set(tests.of(["shop.py"], (), change("n * RATE", "n - RATE")).nodeids) == SHOP_TESTS
