"""No cheat of the corpus gets past the guards, nor is one of them accepted by a whole run to which all are offered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_selfheal.guard import review
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Example

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


OFFERS = """
import sys
from pathlib import Path

sys.path.insert(0, {corpus!r})
from corpus import cheats
from pytest_selfheal.propose.search.proposer import SearchProposer


class Offers:
    name = "offers"

    def propose(self, diagnosis, history):
        failing = {{nodeid.partition("[")[0] for nodeid in diagnosis.nodeids}}
        for cheat in cheats():
            # Some rob a test of its meaning that passes now; they come with the failure beside it.
            wanted = "test_clamp.py::test_above" if cheat.test == "test_inside" else cheat.nodeid.partition("[")[0]
            if wanted in failing:
                yield cheat.patch(Path(diagnosis.root))


def pytest_configure(config):
    SearchProposer.propose = lambda self, diagnosis, history: iter(())


def pytest_selfheal_proposers(settings):
    return [Offers()]
"""


def test_a_whole_run_accepts_none(tmp_path: Path):
    files = {path.name: path.read_bytes() for path in (Path(__file__).parent / "cheats" / "bases").glob("*/*.py")}
    files["conftest.py"] = OFFERS.format(corpus=str(Path(__file__).parent / "cheats")).encode()
    project = Example(files, tmp_path)
    before = project.bytes()
    result = project.run("--selfheal", "--selfheal-apply", "--selfheal-effort=fast", "-p", "no:randomly")
    causes = result.report["failures"]
    offered = [attempt for cause in causes for attempt in cause["attempts"]]
    assert [(cause["status"], cause["reason"]) for cause in causes] == [("unhealed", "guarded")] * len(causes)
    assert {attempt["verdict"] for attempt in offered} == {"guarded"}
    assert len(offered) == len(CHEATS), result.stdout
    assert project.bytes() == before
