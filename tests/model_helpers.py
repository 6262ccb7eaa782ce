"""A cause to ask about, made by hand, and a loop that answers a proposer as the real one would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.propose.model import Budget, ModelProposer, close
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import ScriptedModel
from pytest_selfheal.types import Attempt, Diagnosis, Failure, Frame, GaveUp, Patch, Raised, Rejected, Suspect, Verdict

PROJECT: Mapping[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/cart.py": '''\
"""Carts."""

import math

RATE = 19


def gross(net, rate=RATE):
    """Price with tax, rounded up to a whole cent."""
    return math.ceil(net * (100 - rate) / 100)


class Cart:
    def __init__(self):
        self.items = []

    def add(self, price, count=1):
        self.items.append((price, count))

    def total(self):
        """Sum of all prices with tax."""
        # one by one, because rounding matters
        return sum(gross(price) * count for price, count in self.items)
''',
    "tests/test_cart.py": """\
from shop.cart import Cart


def test_total():
    cart = Cart()
    cart.add(100, 2)
    assert cart.total() == 238
""",
}

FIXED = """\
DIAGNOSIS: gross subtracts the tax rate instead of adding it.
KIND: logic
FUNCTION: shop/cart.py::gross

```python
# FILE: shop/cart.py
def gross(net, rate=RATE):
    return math.ceil(net * (100 + rate) / 100)
```
"""


def wrong(n: int) -> str:
    """A reply with another wrong patch for every ``n``."""
    return FIXED.replace("100 + rate", f"{100 + n} - rate")


@pytest.fixture(autouse=True)
def connections() -> Iterator[None]:
    """Import this fixture where tests talk to a server: connections are closed as at a run's end."""
    yield
    close()


def failure(message: str = "assert 162 == 238", line: int = 7) -> Failure:
    frame = Frame("tests/test_cart.py", line, "test_total", "assert cart.total() == 238", (("cart", "<Cart>"),))
    return Failure(
        nodeid="tests/test_cart.py::test_total",
        phase="call",
        chain=(Raised("AssertionError", message, (frame,)),),
        path="tests/test_cart.py",
        line=4,
        explanation=f"E   {message}",
    )


def cause(root: Path, files: Mapping[str, str | bytes] = PROJECT, **changes: Any) -> Diagnosis:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = Diagnosis(
        id="0001",
        failures=(failure(),),
        kind="logic",
        suspects=(Suspect("shop/cart.py", 10, "gross", 0.9),),
        summary="AssertionError: assert 162 == 238",
        root=str(root),
        rootdir=str(root),
    )
    return replace(found, **changes)


def settings(model: ScriptedModel, **changes: Any) -> Settings:
    values: dict[str, Any] = {"model": model.name, "api_base": model.url, "strategy": "model"}
    return Settings(**{**values, **changes})


Judge = Callable[[Patch, int], Verdict]


def still_failing(patch: Patch, n: int) -> Verdict:
    """Fails differently after each patch."""
    return Verdict("still_failing", "1 of 1 failing tests still fails", still_failing=(failure(f"assert {n} == 238"),))


def unchanged(patch: Patch, n: int) -> Verdict:
    return Verdict("still_failing", "1 of 1 failing tests still fails", still_failing=(failure(),))


def heal(
    proposer: ModelProposer, diagnosis: Diagnosis, judge: Judge = still_failing, feedback: str = ""
) -> tuple[list[Attempt], GaveUp | None]:
    """Pull proposals, judging each, until one heals or the proposer gives up."""
    history: list[Attempt] = []
    for proposal in proposer.propose(diagnosis, history):
        if isinstance(proposal, GaveUp):
            return history, proposal
        common: dict[str, Any] = {
            "n": len(history) + 1,
            "proposer": proposal.proposer,
            "model": proposal.model,
            "diagnosis": proposal.diagnosis,
            "usage": proposal.usage,
        }
        if isinstance(proposal, Rejected):
            history.append(Attempt(**common, diff="", verdict=proposal.verdict, reason=proposal.reason))
            continue
        verdict = judge(proposal, len(history) + 1)
        diff = "\n".join(str(change.after) for change in proposal.changes)
        history.append(
            Attempt(
                **common,
                diff=diff,
                verdict=verdict.kind,
                reason=verdict.reason,
                feedback=feedback,
                patch=proposal,
                result=verdict,
            )
        )
        if verdict.kind == "healed":
            return history, None
    return history, None


def ask(
    root: Path, script: Any, judge: Judge = still_failing, diagnosis: Diagnosis | None = None, **changes: Any
) -> tuple[list[Attempt], GaveUp | None, ScriptedModel]:
    """One cause, one scripted model, from the first question to the end."""
    with ScriptedModel(script) as model:
        chosen = settings(model, **changes)
        history, end = heal(ModelProposer(None, chosen, Budget(chosen)), diagnosis or cause(root), judge)
        return history, end, model
