"""The purse: never above its caps, whatever the number of workers."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from model_helpers import cause, connections, heal, settings, wrong

from pytest_selfheal.propose.model import Budget, ModelProposer
from pytest_selfheal.propose.model.budget import Refusal, Reservation
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Answer, Request, ScriptedModel
from pytest_selfheal.types import Usage

__all__ = ["connections"]


def purse(**caps: float) -> Budget:
    return Budget(Settings(**caps))  # type: ignore[arg-type]


def taken(budget: Budget, cost: float | None, tokens: int = 1) -> Reservation:
    found = budget.reserve(cost, tokens, time.monotonic())
    assert isinstance(found, Reservation), found
    return found


def test_reserve_and_settle() -> None:
    budget = purse(max_cost=1.0)
    taken(budget, 0.6, 10).settle(Usage(5, 2, 0.1))
    assert budget.spent_usd == pytest.approx(0.1)
    assert budget.spent_tokens == 7
    taken(budget, 0.9)
    refused = budget.reserve(0.1, 1, time.monotonic())
    assert isinstance(refused, Refusal)
    assert refused.reason == "time_limit"


def test_refusals_name_the_cap() -> None:
    refused = purse(max_cost=0.0).reserve(0.01, 5)
    assert isinstance(refused, Refusal)
    assert refused.reason == "cost_limit"
    assert "--selfheal-max-cost" in refused.words
    refused = purse(max_tokens=4).reserve(None, 5)
    assert isinstance(refused, Refusal)
    assert refused.reason == "token_limit"
    assert "--selfheal-max-tokens" in refused.words


def test_a_free_model_is_free_under_a_cap_of_nothing() -> None:
    assert isinstance(purse(max_cost=0.0).reserve(0.0, 5), Reservation)


def test_an_unknown_price_is_not_nothing() -> None:
    budget = purse()
    taken(budget, None).settle(Usage(5, 5, None))
    assert budget.spent_usd is None
    assert budget.spent_tokens == 10


def test_a_time_out_counts_at_its_worst() -> None:
    budget = purse(max_cost=1.0)
    taken(budget, 0.7).forfeit()
    assert isinstance(budget.reserve(0.4, 1), Refusal)


def test_a_reservation_ends_once() -> None:
    budget = purse(max_cost=1.0)
    reservation = taken(budget, 0.5, 50)
    reservation.settle(Usage(1, 1, 0.2))
    reservation.release()
    reservation.forfeit()
    assert budget.spent_usd == pytest.approx(0.2)
    assert budget.spent_tokens == 2


def test_others_reservations_are_waited_for() -> None:
    budget = purse(max_cost=1.0)
    first = taken(budget, 0.9)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(budget.reserve, 0.5, 1, time.monotonic() + 30)
        first.settle(Usage(1, 1, 0.1))
        assert isinstance(second.result(), Reservation)


def test_stopping_wakes_who_waits() -> None:
    budget = purse(max_cost=1.0)
    taken(budget, 0.9)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(budget.reserve, 0.5, 1, time.monotonic() + 30)
        budget.stop("interrupted", "Ctrl-C")
        refused = waiting.result()
    assert isinstance(refused, Refusal)
    assert refused.reason == "interrupted"


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 0.4), st.floats(0, 1)), max_size=30), st.floats(0.01, 1.0))
def test_never_above_the_cap_when_estimates_hold(calls: list[tuple[float, float]], cap: float) -> None:
    budget = purse(max_cost=cap)

    def call(worst: float, share: float) -> None:
        found = budget.reserve(worst, 1, time.monotonic() + 5)
        if isinstance(found, Reservation):
            found.settle(Usage(1, 0, worst * share))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: call(*one), calls))
    assert (budget.spent_usd or 0.0) <= cap + 1e-9


def test_cost_is_the_servers_own_count_and_stays_below_the_cap_with_four_workers(tmp_path: Path) -> None:
    """Exact to the token; above the cap by no more than the estimate's error on one call."""
    input_price, output_price, cap, limit = 3.0, 15.0, 0.05, 300
    lock, errors = threading.Lock(), [0.0]
    numbers = iter(range(1, 1000))

    def script(request: Request) -> Answer:
        from pytest_selfheal.propose.model.loading import library

        counted = int(library().token_counter(model="openai/scripted", messages=request.messages))
        with lock:
            n = next(numbers)
        sent, said = counted + n % 7, 100 + n % 150  # a server that counts a little differently from the estimate
        with lock:
            errors.append((sent - counted) * input_price / 1e6)
        return Answer(wrong(n), prompt_tokens=sent, completion_tokens=said)

    with ScriptedModel(script) as model:
        chosen = settings(
            model,
            prices=(f"openai/scripted = {input_price}, {output_price}",),
            max_cost=cap,
            attempts=4,
            coder_max_tokens=limit,
        )
        budget = Budget(chosen)
        causes = [cause(tmp_path / str(n)) for n in range(8)]
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda one: heal(ModelProposer(None, chosen, budget), one), causes))
    billed = model.prompt_tokens * input_price / 1e6 + model.completion_tokens * output_price / 1e6
    recorded = sum(attempt.usage.cost_usd or 0.0 for attempts, _ in results for attempt in attempts)
    assert recorded == pytest.approx(billed, rel=1e-12)
    assert budget.spent_usd == pytest.approx(billed, rel=1e-12)
    assert billed <= cap + max(errors)
    assert "cost_limit" in {end.reason for _, end in results if end}
    assert billed > cap / 2
