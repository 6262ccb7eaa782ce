"""Constants, class attributes and defaults exchanged in a live module, and put back."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_selfheal.propose.search.candidate import Candidate, Edit
from pytest_selfheal.propose.search.data import KEY, LiveData
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.swap import LiveFunctions, swap

TEXT = """import re
LIMIT = 30
class Words:
    pattern = re.compile(r'^a+$')
    known = {'x', 'y'}
    def first(self, text, most=20, *, least=10):
        return bool(self.pattern.match(text)), most + least + LIMIT
"""


def load(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    yield load(tmp_path / "selfheal_words.py", TEXT)
    del sys.modules["selfheal_words"]


def change(module: ModuleType, old: str, new: str) -> Any:
    path = os.path.realpath(str(module.__file__))
    data = LiveData.of(Source("words.py", TEXT), path, LiveFunctions([path]).of(path, TEXT))
    assert data is not None
    start = TEXT.index(old)
    edits = (Edit(start, start + len(old), new),)
    return data.change(Candidate("words.py", edits, "constant", 1.0, 1, "<module>", "", False))


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("30", "31", (True, 61)),
        ("a+", "b+", (False, 60)),
        ("20", "25", (True, 65)),
        ("10", "LIMIT", (True, 80)),
    ],
)
def test_value_is_exchanged_and_put_back(module: ModuleType, old: str, new: str, result: object) -> None:
    live, codes = change(module, old, new)
    before = live[KEY][0].__code__
    assert swap(live, codes)
    assert module.Words().first("aa") == result
    live[KEY][0].__code__ = before
    assert module.Words().first("aa") == (True, 60)


def test_other_modules_that_imported_the_value_follow(module: ModuleType, tmp_path: Path) -> None:
    other = load(tmp_path / "selfheal_words_user.py", "from selfheal_words import LIMIT\n")
    try:
        assert swap(*change(module, "30", "7"))
        assert other.LIMIT == 7
    finally:
        del sys.modules["selfheal_words_user"]


def test_value_that_cannot_be_computed_has_no_place(module: ModuleType) -> None:
    assert not swap(*change(module, "30", "nobody"))
    assert module.LIMIT == 30


def test_code_of_functions_and_names_of_values_are_no_values(module: ModuleType) -> None:
    assert change(module, "most + least", "most - least") is None
    assert change(module, "known", "others") is None
