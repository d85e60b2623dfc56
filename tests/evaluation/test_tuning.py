"""The choice of settings by the scores of dev queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.evaluation.tuning import Candidate, Reweighted, choose
from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation, SubQuery

OWN, LESS, MORE = Candidate(3), Candidate(3, 0.5), Candidate(3, 2.0)


def test_the_best_mean_is_chosen_and_compared_to_the_first():
    choice = choose({OWN: np.array([0.2] * 20), LESS: np.array([0.1] * 20), MORE: np.array([0.5] * 20)})
    assert choice.candidate == MORE
    assert (choice.gain.mean, choice.gain.low) == (pytest.approx(0.3), pytest.approx(0.3))
    assert choice.unseen.mean == pytest.approx(0.3)


def test_of_equals_the_first_is_chosen():
    assert choose({OWN: np.ones(9), LESS: np.ones(9)}).candidate == OWN


def test_a_choice_by_chance_gains_on_unseen_queries_less_than_on_its_own():
    """Thirty candidates of noise, twenty times: the best one gains for certain, and nothing of it is seen again."""
    choices = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=(30, 60))
        choices.append(choose({Candidate(3, float(i)): row for i, row in enumerate(noise)}))
    assert np.mean([choice.gain.mean for choice in choices]) > 0.2
    assert abs(np.mean([choice.unseen.mean for choice in choices])) < 0.1


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
def test_any_number_of_queries(queries, candidates, seed):
    table = np.random.default_rng(seed).random((candidates, queries))
    choice = choose({Candidate(3, float(i)): row for i, row in enumerate(table)}, seed)
    assert choice.gain.mean >= 0
    assert choice.unseen.queries == queries


class Scripted(Reformulator):
    name = "scripted"

    def __init__(self, *kinds):
        self.kinds = kinds

    def reformulate(self, queries):
        subs = tuple(SubQuery(kind, kind, 0.8) for kind in self.kinds)
        return [Reformulation(query, "expand", subs, self.name) for query in queries]


@pytest.mark.parametrize(
    ("kinds", "weight", "weights"),
    [
        (("original", "variant"), 2.0, {"original": 2.0, "variant": 0.8}),
        (("original", "variant"), 0.0, {"variant": 0.8}),
        (("original",), 0.0, {"original": 0.8}),
        (("variant",), 2.0, {"variant": 0.8}),
    ],
)
def test_the_raw_query_gets_another_weight(kinds, weight, weights):
    [made] = Reweighted(Scripted(*kinds), weight).reformulate([Query("q", "text")])
    assert {s.kind: s.weight for s in made.sub_queries} == weights
