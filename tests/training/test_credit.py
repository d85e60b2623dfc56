"""Shapley values, computed by hand and checked against their axioms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.training.credit import shapley

rewards = st.floats(-2, 2)
games = st.integers(1, 3).flatmap(lambda n: st.lists(rewards, min_size=2**n, max_size=2**n))


def test_by_hand():
    assert shapley([0.5, 2.0]) == [1.5]
    # values of the subsets: none 0.5, only the first 1.5, only the second 0.7, both 2
    assert shapley([0.5, 1.5, 0.7, 2.0]) == pytest.approx([(1.0 + 1.3) / 2, (0.2 + 0.5) / 2])


@given(games)
def test_the_values_sum_to_the_full_set_minus_the_empty_set(values):
    assert sum(shapley(values)) == pytest.approx(values[-1] - values[0], abs=1e-9)


@given(st.lists(rewards, min_size=4, max_size=4))
def test_a_player_that_never_contributes_has_the_value_0(of_two):
    values = [of_two[subset & 0b11] for subset in range(8)]
    assert shapley(values)[2] == pytest.approx(0, abs=1e-9)


@given(st.lists(rewards, min_size=4, max_size=4))
def test_interchangeable_players_have_equal_values(by_size):
    first, second, third = shapley([by_size[subset.bit_count()] for subset in range(8)])
    assert first == pytest.approx(second, abs=1e-9) == pytest.approx(third, abs=1e-9)
