"""Difficulty, the band, and the reward history."""

from __future__ import annotations

import json

import numpy as np
import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.training.curriculum import (
    Difficulty,
    RewardHistory,
    hardest_of,
    score_difficulty,
    select_band,
)
from acqo_rl.training.rewards import Reward
from acqo_rl.types import Query

DIFFICULTIES = [Difficulty(name, mean, 0.1, 2.0) for name, mean in [("a", 0.0), ("b", 0.05), ("c", 1.0), ("d", 5 / 3)]]
DIFFICULTIES.append(Difficulty("e", 1.7, 0.0, 1.7))


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
    assert [(d.mean, d.spread, d.best) for d in found] == [
        pytest.approx((np.mean(v), spread, 2)) for v, spread in zip(values, spreads, strict=True)
    ]


class TestBand:
    @pytest.mark.parametrize(("low", "high", "kept"), [(0.05, 5 / 3, "bcd"), (1.0, 1.0, "c")])
    def test_includes_both_bounds(self, low, high, kept):
        assert [d.query_id for d in select_band(DIFFICULTIES, low, high)] == [*kept]

    def test_an_empty_band_is_rejected_with_the_counts(self):
        with pytest.raises(ConfigError, match=r"5 .* 2 .*0\.2, .*3 .*0\.3"):
            select_band(DIFFICULTIES, 0.2, 0.3)


def test_the_hardest_queries_have_the_lowest_mean():
    shuffled = [DIFFICULTIES[i] for i in (3, 0, 4, 1, 2)]
    assert [d.query_id for d in hardest_of(shuffled, 0.5)] == ["a", "b", "c"]
    assert hardest_of(shuffled, 1.0) == tuple(shuffled)
    tied = [Difficulty(name, 1.0, 0.0, 1.0) for name in "xyz"]
    assert [d.query_id for d in hardest_of(tied, 0.3)] == ["x"]


def test_queries_whose_rollouts_all_found_the_same_are_not_kept():
    flat = [Difficulty("f", 1.0, 0.0, 1.0), Difficulty("g", 1.0, 1.0, 2.0), Difficulty("h", 9.0, 0.0, 9.0)]
    assert [d.query_id for d in select_band(flat, 0, 2)] == ["g"]


class TestRewardHistory:
    def test_by_hand(self):
        """(varied + 1) / (groups + 1) is 2/2, 1/3 and 1/2, and 1 for a prompt that was never drawn."""
        history = RewardHistory(4)
        history.record([0, 0, 1, 1], [0.0, 1.0, 0.5, 0.5])
        history.record([1, 1, 2, 2], [2.0, 2.0, float("nan"), 1.0])
        weights = np.array([1, 1 / 3, 1 / 2, 1])
        assert history.probabilities() == pytest.approx(weights / weights.sum())

    def test_a_group_without_rewards_counts_as_equal(self):
        history = RewardHistory(1)
        history.record([0, 0], [float("nan"), float("nan")])
        assert (history.groups.tolist(), history.varied.tolist()) == ([1], [0])

    def test_each_rollout_must_have_a_reward(self):
        with pytest.raises(ValueError):
            RewardHistory(1).record([0, 0], [1.0])

    @pytest.mark.parametrize(("difference", "varied"), [(1e-9, 0), (1e-5, 1)])
    def test_only_rounding_differences_count_as_equal(self, difference, varied):
        history = RewardHistory(1)
        history.record([0, 0], [1.0, 1.0 + difference])
        assert history.varied.tolist() == [varied]

    def test_every_prompt_keeps_a_positive_probability(self):
        history = RewardHistory(2)
        for _ in range(100):
            history.record([0, 0], [1.0, 1.0])
        assert history.probabilities()[0] == pytest.approx((1 / 101) / (1 + 1 / 101))

    def test_state_round_trip(self):
        history, again = RewardHistory(3), RewardHistory(3)
        history.record([0, 0, 2, 2], [0.0, 1.0, 0.5, 0.5])
        again.restore(json.loads(json.dumps(history.state())))
        assert again.probabilities() == pytest.approx(history.probabilities())
        again.record([1, 1], [0, 1])
