"""Difficulty and the band."""

import numpy as np
import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.training.curriculum import Difficulty, by_gap, hardest_of, score_difficulty, select_band
from acqo_rl.training.rewards import Reward
from acqo_rl.types import Query

MEANS = {"a": 0.0, "b": 0.05, "c": 1.0, "d": 5 / 3}
DIFFICULTIES = [Difficulty(name, mean, 1e-6, 2.0, mean) for name, mean in MEANS.items()]
DIFFICULTIES.append(Difficulty("e", 1.7, 0.0, 1.7, 0.2))


def test_rollouts_are_scored_as_in_training():
    model = ScriptedLanguageModel("split\ngood", "pass", "broken", "split\nbad")
    settings = PolicySettings()
    queries = [Query("q", "bad"), Query("r", "better"), Query("s", "thanks")]
    retriever = ScriptedRetriever(dict.fromkeys(("good", "better", "thanks"), ("g",)))
    reward = Reward("explore", retriever, RankScoreFusion(), cost=0.0)
    qrels = {"q": {"g": 1}, "r": {"g": 2, "x": 0}, "s": {"g": 1}}
    (found,) = score_difficulty(queries, qrels, Policy(model, prompt_of(settings, len), settings), reward, 4)
    values = [2, 0, -0.1, 0], [2, 2, -0.1, 0], [2, 2, 2, 2]
    spreads = np.std([2, 0, 0, 0]), np.std([2, 2, 0, 0]), 0
    assert [d.query_id for d in found] == ["q", "r", "s"]  # "thanks" is passed without calling the model
    assert [(d.mean, d.spread, d.best, d.raw) for d in found] == [
        pytest.approx((np.mean(v), spread, 2, raw)) for v, spread, raw in zip(values, spreads, (0, 2, 2), strict=True)
    ]
    assert [d.query_id for d in by_gap(DIFFICULTIES)] == [*"abecd"]


@pytest.mark.parametrize(("low", "high", "kept"), [(0.05, 5 / 3, "bcd"), (1.0, 1.0, "c"), (0, 2, "abcd")])
def test_the_band_includes_its_bounds_but_no_query_without_spread(low, high, kept):
    assert [d.query_id for d in select_band(DIFFICULTIES, low, high)] == [*kept]


def test_the_hardest_queries_have_the_lowest_mean():
    shuffled = [DIFFICULTIES[i] for i in (3, 0, 4, 1, 2)]
    assert [d.query_id for d in hardest_of(shuffled, 0.5)] == ["a", "b", "c"]
    tied = [Difficulty(name, 1.0, 0.0, 1.0, 1.0) for name in "xyz"]
    assert [d.query_id for d in hardest_of(tied, 0.3)] == ["x"]
