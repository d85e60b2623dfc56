"""Rewards of both stages, computed by hand."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedRetriever, ranking, search_reformulations

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.training.rewards import Reward, gold_ranks, rank_map
from acqo_rl.types import Query, Reformulation, SubQuery


def at(rank, doc_id, depth=100):
    """``depth`` document ids, with ``doc_id`` at a rank."""
    before, after = range(1, rank), range(rank + 1, depth + 1)
    return [*(f"{doc_id}-{i}" for i in before), doc_id, *(f"{doc_id}-{i}" for i in after)]


FOUND = {
    "raw": at(50, "g1"),
    "one": at(1, "g1"),
    "two": at(1, "g2"),
    "middling": at(7, "g1"),
    "garbage": at(1, "nothing"),
}
SCORES = st.lists(st.integers(1, 120), min_size=1, max_size=4)


def rewards(stage, *completions, gold=("g1",), query="raw", retriever=None, **settings):
    reward = Reward(stage, retriever or ScriptedRetriever(FOUND), RankScoreFusion(), **{"cost": 0.0, **settings})
    n = len(completions)
    return reward(prompts=[None] * n, completions=completions, query=[query] * n, gold=[list(gold)] * n)


def split(*texts):
    return "\n".join(["split", *texts])


class TestValues:
    @pytest.mark.parametrize(
        ("rank", "value"),
        [(1, 2), (2, 17 / 9), (10, 1), (11, 89 / 90), (99, 1 / 90), (100, 0), (101, 0), (np.inf, 0)],
    )
    def test_rank_map(self, rank, value):
        """Phi(r)."""
        assert rank_map(np.array([float(rank)])) == pytest.approx([value])

    @given(st.integers(1, 99))
    def test_a_better_rank_has_a_higher_value(self, rank):
        here, below = rank_map(np.array([rank, rank + 1.0]))
        assert here > below

    def test_ranks_of_the_gold_documents(self):
        found = gold_ranks(ranking("a", "b", "c"), ["c", "x", "a"])
        assert found.tolist() == [1, 3, np.inf]

    def test_two_gold_documents_decay_by_rank(self):
        """Two disjoint lists with gold at rank 1 give ranks 1 and 2 after fusion: 0.6 * 2 + 0.36 * 17/9."""
        assert rewards("explore", split("one", "two"), gold=("g1", "g2")) == pytest.approx([1.2 + 0.36 * 17 / 9])
        assert rewards("explore", split("one"), gold=("g1", "g2")) == pytest.approx([1.2])

    def test_stage_two_adds_a_bonus_at_the_top_ranks(self):
        """Phi'(r) = Phi(r) + 0.5 / log2(r + 1) for r <= 3."""
        reward = Reward("converge", ScriptedRetriever({}), RankScoreFusion())
        assert reward.score(np.array([1.0])) == pytest.approx(2 + 0.5)
        assert reward.score(np.array([3.0])) == pytest.approx(16 / 9 + 0.25)
        assert reward.score(np.array([4.0])) == pytest.approx(15 / 9)
        two = 0.6 * 2.5 + 0.36 * (17 / 9 + 0.5 / np.log2(3))
        assert reward.score(np.array([1.0, 2.0])) == pytest.approx(two)
        assert reward.score(np.array([np.inf])) == 0
        without = Reward("converge", ScriptedRetriever({}), RankScoreFusion(), bonus_ranks=0)
        assert without.score(np.array([1.0])) == 2

    def test_stage_one_uses_the_best_subset_and_stage_two_all_sub_queries(self):
        """A useless sub-query does no harm in Stage I; in Stage II it moves the gold document to rank 2."""
        assert rewards("explore", split("garbage", "one")) == pytest.approx([2])
        assert rewards("converge", split("garbage", "one"), top_rank_bonus=0.0) == pytest.approx([17 / 9])

    def test_each_search_after_the_first_has_a_cost(self):
        found = rewards("explore", split("one"), split("one", "two"), split("one", "two", "garbage"), cost=0.03)
        assert found == pytest.approx([2, 1.97, 1.94])

    def test_each_word_that_the_query_does_not_contain_has_a_cost_up_to_ten(self):
        written = ["pass", "resolve\none", "resolve\nRaw one?", "split\none\none two", "resolve\n= one"]
        retriever = ScriptedRetriever(dict.fromkeys(["raw", "one", "Raw one?", "one two", "raw one"], at(1, "g1")))
        found = rewards("explore", *written, retriever=retriever, word_cost=0.01, invalid_reward=-0.2)
        assert found == pytest.approx([2, 1.99, 1.99, 1.97, 1.99])
        long = " ".join(f"w{i}" for i in range(12))
        retriever = ScriptedRetriever({long: at(1, "g1")})
        assert rewards("explore", f"resolve\n{long}", retriever=retriever, word_cost=0.01, invalid_reward=-0.2) == [1.9]

    def test_a_query_without_words_gets_no_cost(self):
        assert rewards("explore", "pass", query="?", cost=0.03) == [0.0]

    @given(st.lists(st.sampled_from(sorted(FOUND)), unique=True, min_size=1, max_size=3), st.data())
    def test_stage_one_is_the_maximum_over_subsets_by_brute_force(self, texts, data):
        gold = data.draw(st.sampled_from([("g1",), ("g2",), ("g1", "g2")]))
        lists = search_reformulations(
            [Reformulation(Query("", ""), "decompose", tuple(SubQuery(t, "part") for t in texts), "")],
            ScriptedRetriever(FOUND),
        )[0]
        reward = Reward("explore", ScriptedRetriever(FOUND), RankScoreFusion())
        subsets = [s for size in range(1, len(lists) + 1) for s in combinations(lists, size)]
        best = max(reward.score(gold_ranks(RankScoreFusion().fuse([s], 100)[0], gold)) for s in subsets)
        assert rewards("explore", split(*texts), gold=gold) == pytest.approx([best])


@pytest.mark.parametrize("stage", ["explore", "converge"])
class TestEveryStage:
    @given(ranks=SCORES, place=st.integers(0, 3))
    def test_a_better_rank_never_scores_less(self, stage, ranks, place):
        reward = Reward(stage, ScriptedRetriever({}), RankScoreFusion())
        ranks = sorted(ranks)
        better = sorted(r - 1 if i == place and r > 1 else r for i, r in enumerate(ranks))
        assert reward.score(np.array(better, float)) >= reward.score(np.array(ranks, float))

    @pytest.mark.parametrize("completion", ["", "Pass", "split", "split\na\nb\nc\nd", "raw", "x" * 100_000, "\x00"])
    def test_a_completion_outside_the_grammar_is_below_a_valid_one_without_hits(self, stage, completion):
        assert rewards(stage, completion) == [-0.1]
        assert rewards(stage, split("garbage")) == [0.0]

    def test_rollouts_of_one_query_get_separate_rewards(self, stage):
        group = (split("garbage"), split("one"), "broken", "pass", split("middling"))
        together = rewards(stage, *group)
        assert len(set(together)) == 5
        assert together == [rewards(stage, completion)[0] for completion in group]

    def test_one_retriever_call_for_the_distinct_texts(self, stage):
        retriever = ScriptedRetriever(FOUND)
        rewards(stage, split("one", "two"), split("two"), "pass", "pass", "broken", retriever=retriever)
        assert retriever.calls == [["one", "two", "raw"]]

    def test_a_failing_retriever_raises(self, stage):
        with pytest.raises(ConnectionError):
            rewards(stage, split("one"), retriever=BrokenRetriever())

    def test_a_batch_without_valid_completions_is_not_searched(self, stage):
        assert rewards(stage, "broken", retriever=BrokenRetriever()) == [-0.1]

    def test_completions_are_ordered_by_quality(self, stage):
        """Sub-queries that find all gold documents get the maximum; an invalid completion gets the minimum."""
        reward = Reward(stage, ScriptedRetriever(FOUND), RankScoreFusion())
        best = reward.score(np.array([1.0, 2.0]))
        found = rewards(
            stage, split("one", "two"), split("one"), split("middling"), "pass", split("garbage"), "broken",
            gold=("g1", "g2"),
        )  # fmt: skip
        assert found[0] == pytest.approx(best)
        assert found == sorted(found, reverse=True)
        assert found[-2:] == [0.0, -0.1]

    def test_meets_the_interface_of_trl(self, stage):
        """Accepts conversations of one message and unknown columns, has a name for the metric, and can be pickled."""
        reward = Reward(stage, ScriptedRetriever(FOUND), RankScoreFusion(), grammar=Grammar(2))
        again = pickle.loads(pickle.dumps(reward))
        assert again.__name__ == f"acqo_{stage}"
        columns = {"query": ["raw"], "gold": [["g1"]], "row": [0], "trainer_state": None, "completion_ids": [[1]]}
        message = [{"role": "assistant", "content": split("one")}]
        assert again(prompts=[[]], completions=[message], **columns) == reward([""], [split("one")], ["raw"], [["g1"]])
        three = split("one", "two", "garbage")
        assert again(prompts=[""], completions=[three], query=["raw"], gold=[["g1"]]) == [-0.1]


class TestRawQueryMargin:
    """With ``raw_query_margin``, the raw query is searched as well, and its list is used only if its cosine leads."""

    def rewards(self, stage, *completions, raw_query_margin, **settings):
        retriever = ScoredRetriever("dense", {"reading": 0.5, "raw": 0.7})
        return rewards(
            stage, *completions, gold=("raw",), retriever=retriever, raw_query_margin=raw_query_margin, **settings
        )

    @pytest.mark.parametrize("stage", ["explore", "converge"])
    @pytest.mark.parametrize(("raw_query_margin", "found"), [(None, False), (0.3, False), (0.1, True)])
    def test_the_list_of_the_raw_query_is_used_if_its_cosine_leads_by_the_margin(self, stage, raw_query_margin, found):
        [value] = self.rewards(stage, "resolve\nreading", raw_query_margin=raw_query_margin)
        assert (value > 0) == found

    @pytest.mark.parametrize("raw_query_margin", [0.1, 0.3])
    def test_it_has_no_cost_and_applies_only_to_readings(self, raw_query_margin):
        """Each document is the first of its list, so the higher score decides the order."""
        asked = ("resolve\nreading", "resolve\nreading\n=", split("reading"), "pass")
        found = self.rewards("converge", *asked, raw_query_margin=raw_query_margin, cost=0.03, top_rank_bonus=0.0)
        assert found == pytest.approx([2 if raw_query_margin < 0.2 else 0, 2 - 0.03, 0, 2])


def test_measures_that_explain_the_reward_are_logged():
    logged, columns = {}, {}
    reward = Reward("explore", ScriptedRetriever(FOUND), RankScoreFusion())
    completions = [split("one", "="), "pass", "broken", split("one", "two two")]
    reward(
        prompts=[""] * 4,
        completions=completions,
        query=["raw"] * 4,
        gold=[["g1", "g2"]] * 4,
        log_metric=logged.__setitem__,
        log_extra=columns.__setitem__,
    )
    assert logged == pytest.approx(
        {
            "completions/valid_ratio": 3 / 4,
            "completions/sub_queries": 5 / 3,
            "completions/pass_ratio": 1 / 3,
            "completions/includes_raw_query_ratio": 2 / 3,
            "completions/words_per_sub_query": 1,
            "completions/repeated_word_ratio": 1 / 3,
            "retrieval/Success@10": 2 / 3,
            "retrieval/R@10": (1 / 2 + 0 + 1) / 3,
            "retrieval/AllGold@10": 1 / 3,
            "retrieval/nDCG@10": (1 / (1 + 1 / np.log2(3)) + 0 + 1) / 3,
        }
    )
    assert columns == {"query": ["raw"] * 4, "route": ["decompose", "pass", "invalid", "decompose"]}


def test_repeated_words_are_searched_once_unless_the_read_text_repeats_them():
    retriever = ScriptedRetriever({"Duran": at(50, "g1"), "Duran Duran": at(1, "g1"), "Oslo": at(1, "g1")})
    reward = Reward("converge", retriever, RankScoreFusion(), cost=0, top_rank_bonus=0)
    completions = [split("Oslo Oslo"), split("Oslo"), split("Duran Duran"), split("Duran Duran")]
    read = ["raw", "raw", "raw", "raw Who were Duran Duran?"]
    found = reward(prompts=[""] * 4, completions=completions, query=["raw"] * 4, gold=[["g1"]] * 4, visible_text=read)
    assert found == pytest.approx([2, 2, 50 / 90, 2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"stage": "third"}, "stage is 'third'"), ({"invalid_reward": 0.0}, "invalid_reward is 0.0")],
)
def test_invalid_settings_are_rejected(settings, message):
    arguments = {"stage": "explore", "retriever": BrokenRetriever(), "fusion": RankScoreFusion(), **settings}
    with pytest.raises(ConfigError, match=message):
        Reward(**arguments)


def test_invalid_must_be_below_the_lowest_reward_of_a_valid_completion():
    with pytest.raises(ConfigError, match=r"invalid_reward is -0.1.*-0.1.*0.05"):
        Reward("explore", ScriptedRetriever({}), RankScoreFusion(), cost=0.05, invalid_reward=-0.1)
    with pytest.raises(ConfigError):
        Reward("explore", ScriptedRetriever({}), RankScoreFusion(), cost=0.0, word_cost=0.02, invalid_reward=-0.2)
    # three searches cost at most 2 x 0.05
    assert Reward("explore", ScriptedRetriever({}), RankScoreFusion(), cost=0.05, invalid_reward=-0.11).cost == 0.05


@pytest.mark.parametrize(("rank", "inside"), [(10, True), (11, False)])
def test_logged_measures_have_the_cutoff_ten(rank, inside):
    logged = {}
    reward = Reward("explore", ScriptedRetriever({"raw": at(rank, "g1")}), RankScoreFusion())
    reward([""], ["pass"], ["raw"], [["g1"]], log_metric=logged.__setitem__)
    gain = 1 / np.log2(rank + 1) if inside else 0.0
    names = (
        "retrieval/Success@10",
        "retrieval/R@10",
        "retrieval/AllGold@10",
        "retrieval/nDCG@10",
        "completions/includes_raw_query_ratio",
    )
    assert [logged[name] for name in names] == pytest.approx([float(inside)] * 3 + [gain, 1.0])


@pytest.mark.parametrize("stage", ["explore", "converge"])
def test_lists_have_100_documents_before_and_after_fusion(stage):
    depths = []

    class RecordingRetriever(ScriptedRetriever):
        def search(self, texts, k):
            depths.append(k)
            return super().search(texts, k)

    class RecordingFusion(RankScoreFusion):
        def fuse(self, batch, k):
            depths.append(k)
            return super().fuse(batch, k)

    reward = Reward(stage, RecordingRetriever(FOUND), RecordingFusion())
    reward([""], [split("one", "two")], ["raw"], [["g1"]])
    assert set(depths) == {100}


def test_too_few_queries_are_an_error():
    reward = Reward("explore", ScriptedRetriever(FOUND), RankScoreFusion())
    with pytest.raises(ValueError, match="shorter"):
        reward(["", ""], ["pass", "pass"], ["raw"], [["g1"], ["g1"]])
