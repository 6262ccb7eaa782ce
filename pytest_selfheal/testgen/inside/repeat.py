"""The pytest plugin of a judging child: the asked tests several times, in random order."""

from __future__ import annotations

import random

import pytest

from pytest_selfheal.judge import child


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    orders = child.extra(session.config).get("repeat")
    if not orders:
        return None
    rng = random.Random(orders["seed"])
    for _ in range(int(orders["times"])):
        items = list(session.items)
        rng.shuffle(items)
        for i, item in enumerate(items):
            following = items[i + 1] if i + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                return True
    return True
