"""Forked children: their results arrive, however late the parent looks."""

from __future__ import annotations

import os
import time

import pytest

from pytest_selfheal.propose.search import fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


class Late(fork.Usage):
    """Of a parent that gets no time: by the time it has asked after the child, the child has ended."""

    def reap(self, pid: int, block: bool = True) -> bool:
        return super().reap(pid, block=True)


def late_answer() -> str:
    time.sleep(0.15)  # longer than the parent waits at the pipe before it asks after the child
    return "an answer"


def test_what_a_child_writes_while_the_parent_looks_away_is_read() -> None:
    assert fork.call(late_answer, 10.0, Late()) == "an answer"


def test_a_child_that_raises_or_takes_too_long_has_no_answer() -> None:
    assert fork.call(lambda: 1 // 0, 10.0, fork.Usage()) is None
    assert fork.call(lambda: time.sleep(5), 0.2, fork.Usage()) is None


def test_a_child_of_a_child_keeps_its_own_pipe() -> None:
    """The first child closes a descriptor; the second one's pipe gets that number, and must stay open."""
    free, private = (os.open(os.devnull, os.O_RDONLY) for _ in range(2))
    os.close(free)
    usage = fork.Usage()
    try:
        inner = fork.call(lambda: fork.call(lambda: "deep", 10.0, usage, (private,)), 10.0, usage, (private,))
    finally:
        os.close(private)
    assert inner == "deep"
