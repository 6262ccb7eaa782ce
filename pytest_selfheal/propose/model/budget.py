"""The run's purse: what may be spent, what has been, and whether anybody should go on asking.

One :class:`Budget` is shared by all workers. Each call is paid for in three steps: :meth:`~Budget.reserve` its worst case
(refused when that could break a cap), make the call, :meth:`~Reservation.settle` what the provider counted. So that the
money spent never exceeds the cap by more than one call's estimation error, whatever the number of workers.

A price that is unknown reserves no money; then the token cap is the only bound.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_selfheal.types import StopReason, Usage

if TYPE_CHECKING:
    from pytest_selfheal.settings import Settings


@dataclass(frozen=True)
class Refusal:
    """Why a call must not be made."""

    reason: StopReason
    words: str


@dataclass
class Reservation:
    """Money and tokens set aside for one call. Exactly one of the three methods ends it; later calls do nothing."""

    _budget: Budget
    cost: float
    tokens: int
    _open: bool = True

    def settle(self, usage: Usage) -> None:
        """The call was made and this is what it cost."""
        self._end(
            usage.cost_usd or 0.0, usage.prompt_tokens + usage.completion_tokens, known=usage.cost_usd is not None
        )

    def forfeit(self) -> None:
        """Nobody knows whether the call was billed (time-out): its worst case counts against the caps."""
        self._end(self.cost, self.tokens)

    def release(self) -> None:
        """The call was not made, or failed in a way that is not billed."""
        self._end(0.0, 0)

    def _end(self, cost: float, tokens: int, known: bool = True) -> None:
        if self._open:
            self._open = False
            self._budget._give_back(self, cost, tokens, known)


class Budget:
    """Caps on money and tokens of a whole run, and the memory of whether the provider works. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self.max_cost = settings.max_cost
        self.max_tokens = settings.max_tokens
        self._change = threading.Condition()
        self.stopped = threading.Event()
        """Set by :meth:`stop`; calls in flight are given up."""
        self._refusal: Refusal | None = None
        self._cost = 0.0
        self._tokens = 0
        self._reserved_cost = 0.0
        self._reserved_tokens = 0
        self._in_flight = 0
        self._price_known = True
        self._faults = 0

    @property
    def spent_usd(self) -> float | None:
        """Counted against the cap so far, in USD; ``None`` once a call with an unknown price was made."""
        with self._change:
            return self._cost if self._price_known else None

    @property
    def spent_tokens(self) -> int:
        with self._change:
            return self._tokens

    @property
    def refusal(self) -> Refusal | None:
        """Why no more calls will be made in this run, once that is so."""
        return self._refusal

    # --- calls -------------------------------------------------------------------------------------------------------

    def reserve(self, cost: float | None, tokens: int, deadline: float | None = None) -> Reservation | Refusal:
        """Set the worst case of one call aside.

        ``cost`` in USD, ``None`` when the price is unknown; ``tokens``: prompt and completion together; ``deadline``
        on the monotonic clock. Where only other workers' reservations stand in the way, waits for their bills.
        """
        with self._change:
            while True:
                if self._refusal:
                    return self._refusal
                if cost is not None and self._cost + cost > self.max_cost:
                    return Refusal("cost_limit", self._cost_words(cost))
                if self._tokens + tokens > self.max_tokens:
                    return Refusal(
                        "token_limit",
                        f"{self._tokens} of {self.max_tokens} tokens are used and the next call may need {tokens}; "
                        "raise --selfheal-max-tokens",
                    )
                money_fits = cost is None or self._cost + self._reserved_cost + cost <= self.max_cost
                if money_fits and self._tokens + self._reserved_tokens + tokens <= self.max_tokens:
                    self._reserved_cost += cost or 0.0
                    self._reserved_tokens += tokens
                    self._in_flight += 1
                    return Reservation(self, cost or 0.0, tokens)
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return Refusal("time_limit", "the time for this failure ended while waiting for the budget")
                self._change.wait(left)

    def _cost_words(self, cost: float) -> str:
        return (
            f"${self._cost:.4f} of ${self.max_cost:.2f} are spent and the next call may cost ${cost:.4f}; "
            "raise --selfheal-max-cost"
        )

    def _give_back(self, reservation: Reservation, cost: float, tokens: int, known: bool) -> None:
        with self._change:
            self._in_flight -= 1
            self._reserved_tokens -= reservation.tokens
            # Floats do not add up to zero again by themselves.
            self._reserved_cost = self._reserved_cost - reservation.cost if self._in_flight else 0.0
            self._cost += cost
            self._tokens += tokens
            self._price_known &= known
            self._change.notify_all()

    # --- the provider's health ---------------------------------------------------------------------------------------

    def fault(self, words: str, fatal: bool) -> None:
        """A call failed for a reason that is not its own; the second in a row, or a fatal one, ends it for everybody."""
        with self._change:
            self._faults += 1
            if fatal or self._faults >= 2:
                self._close(Refusal("infrastructure", words))

    def works(self) -> None:
        """A call was answered: earlier faults no longer count."""
        with self._change:
            self._faults = 0

    # --- the end -----------------------------------------------------------------------------------------------------

    def stop(self, reason: StopReason, words: str) -> None:
        """No more calls (Ctrl-C, the run's time is up); wakes everybody who waits."""
        with self._change:
            self._close(Refusal(reason, words))
        self.stopped.set()

    def _close(self, refusal: Refusal) -> None:
        self._refusal = self._refusal or refusal
        self._change.notify_all()
