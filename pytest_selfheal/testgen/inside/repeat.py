"""The pytest plugin of a judging child: the asked tests several times, in random order."""

from __future__ import annotations

import random

import pytest

from pytest_selfheal.judge import child


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    orders = child.extra(config).get("repeat") or {}
    if not config.pluginmanager.hasplugin("timeout"):
        return
    for item in items:
        # A generated test takes milliseconds; on the code before its repair it may never end.
        if item.nodeid.partition("::")[0] in orders.get("files", ()):
            item.add_marker(pytest.mark.timeout(orders["seconds"]))


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
