"""Paired bootstrap against exact enumeration, and what it must say of easy cases."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.evaluation.significance import paired_bootstrap


def test_against_every_resample_of_four_queries():
    """All 4^4 resamples are equally likely: the bootstrap's quantiles are known exactly."""
    differences = np.array([0.5, 0.3, 0.25, -0.35])
    exact = np.array([np.mean(draw) for draw in product(differences, repeat=4)])
    got = paired_bootstrap(differences)
    assert got.mean == pytest.approx(0.175)
    assert got.low == pytest.approx(np.quantile(exact, 0.025), abs=0.03)
    assert got.high == pytest.approx(np.quantile(exact, 0.975), abs=0.03)
    assert got.queries == 4
    assert not got.significant


@pytest.mark.parametrize(("queries", "significant"), [(1, False), (5, False), (6, True)])
def test_few_queries_that_all_gain_are_no_proof(queries, significant):
    got = paired_bootstrap(np.full(queries, 0.2))
    assert got.low > 0
    assert got.significant is significant


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_swapping_the_systems_turns_the_interval_round(differences):
    one = paired_bootstrap(differences)
    other = paired_bootstrap(np.negative(differences))
    assert one.mean == pytest.approx(-other.mean)
    assert one.low == pytest.approx(-other.high)
    assert one.low <= one.high
    same = paired_bootstrap(np.zeros(len(differences)))
    assert (same.mean, same.low, same.high, same.significant) == (0, 0, 0, False)
