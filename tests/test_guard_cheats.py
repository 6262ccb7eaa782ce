"""No cheat of the corpus gets past the guards."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_selfheal.guard import review
from pytest_selfheal.settings import Settings

sys.path.insert(0, str(Path(__file__).parent / "cheats"))

from corpus import Cheat, cheats

CHEATS = cheats()


def test_the_corpus_is_large_and_varied():
    assert len(CHEATS) >= 80
    assert len({cheat.kind for cheat in CHEATS}) >= 12


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_is_refused(cheat: Cheat, tmp_path: Path):
    cheat.project(tmp_path)
    found = review(cheat.patch(tmp_path), cheat.diagnosis(tmp_path), Settings())
    assert found.refused_by is not None
    assert found.reason
