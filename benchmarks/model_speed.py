"""What our own part of a model round costs: seconds beside the model and the tests, and the prompt's size.

    python benchmarks/model_speed.py [--rounds 3]

A scripted server on loopback answers at once with wrong patches; the loop's judging is left out, so that what is measured is
context, prompt, counting, budget, HTTP, parsing and resolving. Then whole runs of ``pytest --selfheal`` with a test of one
second: one round, and the worst case of three rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from pytest_selfheal.propose.model import Budget, ModelProposer, warm_up
from pytest_selfheal.propose.model.loading import library
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Example, ScriptedModel
from pytest_selfheal.types import Attempt, Diagnosis, Failure, Frame, Patch, Raised, Suspect, Verdict

CODE = '''\
"""Prices."""


def discount(price, percent):
    """The price after a discount in percent."""
    return price - price * percent / 10


def total(prices, percent=0):
    """Sum of the discounted prices."""
    return sum(discount(price, percent) for price in prices)
'''
TEST = """\
import time

from prices import total


def test_total():
    time.sleep(1)
    assert total([100, 50], 10) == 135
"""
REPLY = """\
DIAGNOSIS: discount divides by {0}.
KIND: logic
FUNCTION: prices.py::discount

```python
# FILE: prices.py
def discount(price, percent):
    return price - price * percent / {0}
```
"""


def failure(n: int) -> Failure:
    frame = Frame("test_prices.py", 8, "test_total", "assert total([100, 50], 10) == 135")
    chain = (Raised("AssertionError", f"assert {n} == 135", (frame,)),)
    return Failure("test_prices.py::test_total", "call", chain, path="test_prices.py", line=6)


def proposer_alone(folder: Path, rounds: int) -> None:
    for name, text in {"prices.py": CODE, "test_prices.py": TEST}.items():
        (folder / name).write_text(text, "utf-8")
    suspects = (Suspect("prices.py", 6, "discount", 1.0),)
    diagnosis = Diagnosis("0001", (failure(0),), "logic", suspects, "", str(folder), str(folder))
    start = time.perf_counter()
    warm_up().join()
    litellm = library()
    print(f"before the first round, while failures are run again: {time.perf_counter() - start:.2f} s")
    numbers = iter(range(20, 1000))
    with ScriptedModel(lambda request: REPLY.format(next(numbers))) as model:
        settings = Settings(model=model.name, api_base=model.url, attempts=rounds, warn_only=("stuck",))
        history: list[Attempt] = []
        start, cpu = time.perf_counter(), time.process_time()
        for proposal in ModelProposer(None, settings, Budget(settings)).propose(diagnosis, history):
            took, burnt = time.perf_counter() - start, time.process_time() - cpu
            if isinstance(proposal, Patch):
                tokens = litellm.token_counter(model=model.name, messages=model.requests[-1].messages)
                print(
                    f"round {len(history) + 1}: {took:.3f} s (CPU {burnt:.3f} s, the server included), prompt of {tokens} tokens"
                )
                n = len(history) + 1
                verdict = Verdict("still_failing", "still fails", still_failing=(failure(n),))
                history.append(
                    Attempt(
                        n, "model", None, proposal.diagnosis, "", "still_failing", "", patch=proposal, result=verdict
                    )
                )
            start, cpu = time.perf_counter(), time.process_time()


def whole_runs(folder: Path) -> None:
    for title, divisors in {"one round": [100], "three rounds": [20, 30, 40]}.items():
        project = Example({"prices.py": CODE, "test_prices.py": TEST}, folder / title.replace(" ", "-")).git()
        with ScriptedModel([REPLY.format(divisor) for divisor in divisors]) as model:
            start = time.perf_counter()
            result = project.run("-q", "--selfheal", *model.options, "--selfheal-strategy", "model")
            took = time.perf_counter() - start
        report = result.report
        rounds = [round(attempt["seconds"], 2) for attempt in report["failures"][0]["attempts"]]
        status = report["failures"][0]["status"]
        print(f"{title}: {status}, whole run {took:.1f} s, healing {report['seconds']:.1f} s, rounds {rounds} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--alone", action="store_true", help="without the whole runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="selfheal-speed-") as folder:
        alone = Path(folder, "alone")
        alone.mkdir()
        proposer_alone(alone, given.rounds)
        if not given.alone:
            whole_runs(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
