"""A hard limit, with the essential calls kept."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.pipeline.budget import Budget


def test_essential_calls_are_kept():
    """Analysis, two hops, decomposition and four answers at 8 leave the last two for answer and grounding."""
    budget = Budget(8, reserved=2)
    assert [budget.use() for _ in range(8)] == [True] * 6 + [False] * 2
    assert budget.use(essential=True)
    assert not budget.use()
    assert budget.use(essential=True)
    assert not budget.use(essential=True)
    assert budget.used == budget.limit == 8


@given(st.integers(0, 10), st.integers(0, 5), st.lists(st.tuples(st.integers(1, 3), st.booleans())))
def test_is_never_exceeded(limit, reserved, wishes):
    budget, granted, essential_granted = Budget(limit, reserved), 0, 0
    for calls, essential in wishes:
        if budget.use(calls, essential=essential):
            granted += calls
            essential_granted += calls * essential
        assert budget.used == granted <= limit
        assert granted - essential_granted <= max(0, limit - reserved)


@given(st.integers(0, 3), st.integers(0, 3))
def test_what_was_granted_and_not_made_is_free_again(granted, unused):
    budget = Budget(8, reserved=2)
    assert budget.use(granted + unused)
    budget.settle(granted + unused, granted)
    assert budget.used == granted
    assert budget.use(6 - granted) and not budget.use()


def test_between_threads():
    budget, granted = Budget(100, reserved=0), []
    threads = [threading.Thread(target=lambda: granted.extend(budget.use() for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 100


def test_no_negative_limits():
    with pytest.raises(ConfigError, match="-1 calls"):
        Budget(-1)
