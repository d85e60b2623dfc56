"""Shapley values by hand, and their axioms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.credit import shapley

rewards = st.floats(-2, 2)
games = st.integers(1, 3).flatmap(lambda n: st.lists(rewards, min_size=2**n, max_size=2**n))


def test_by_hand():
    assert shapley([0.5, 2.0]) == [1.5]
    # nothing .5, the first alone 1.5, the second alone .7, both 2
    assert shapley([0.5, 1.5, 0.7, 2.0]) == pytest.approx([(1.0 + 1.3) / 2, (0.2 + 0.5) / 2])


@given(games)
def test_the_values_sum_to_the_whole_minus_the_empty_set(values):
    assert sum(shapley(values)) == pytest.approx(values[-1] - values[0], abs=1e-9)


@given(st.lists(rewards, min_size=4, max_size=4))
def test_a_search_that_changes_nothing_has_no_value(alone):
    values = [alone[subset & 0b11] for subset in range(8)]
    assert shapley(values)[2] == pytest.approx(0, abs=1e-9)


@given(st.lists(rewards, min_size=4, max_size=4))
def test_searches_that_do_the_same_have_the_same_value(by_size):
    first, second, third = shapley([by_size[subset.bit_count()] for subset in range(8)])
    assert first == pytest.approx(second, abs=1e-9) == pytest.approx(third, abs=1e-9)
