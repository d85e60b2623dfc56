"""Rewards of both stages, computed by hand."""

import pickle
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedRetriever, ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.training.rewards import Reward, gold_ranks, rank_map
from acqo_rl.types import Query, Turn


def at(rank, doc_id, depth=100):
    """``depth`` document ids, with ``doc_id`` at a rank."""
    before = range(1, rank)
    after = range(rank + 1, depth + 1)
    return [*(f"{doc_id}-{i}" for i in before), doc_id, *(f"{doc_id}-{i}" for i in after)]


FOUND = {
    "raw": at(50, "g1"),
    "one": at(1, "g1"),
    "two": at(1, "g2"),
    "middling": at(7, "g1"),
    "garbage": at(1, "nothing"),
}


def reward_of(stage, retriever=None, **settings):
    return Reward(stage, retriever or ScriptedRetriever(FOUND), RankScoreFusion(), **settings)


def rewards(stage, *completions, gold=("g1",), query="raw", retriever=None, columns=None, **settings):
    reward = reward_of(stage, retriever, **{"cost": 0.0, **settings})
    n = len(completions)
    return reward([None] * n, completions, [query] * n, [list(gold)] * n, **(columns or {}))


def split(*texts):
    return "\n".join(["split", *texts])


both_stages = pytest.mark.parametrize("stage", ["explore", "converge"])


@pytest.mark.parametrize(
    ("rank", "value"), [(1, 2), (2, 17 / 9), (10, 1), (11, 89 / 90), (99, 1 / 90), (100, 0), (101, 0), (np.inf, 0)]
)
def test_the_value_of_a_rank(rank, value):
    """Phi(r)."""
    assert rank_map(np.array([float(rank)])) == pytest.approx([value])


def test_the_quality_of_gold_documents_decays_by_rank():
    """Two disjoint lists with gold at rank 1 give ranks 1 and 2 after fusion: 0.6 * 2 + 0.36 * 17/9."""
    assert gold_ranks(ranking("a", "b", "c"), ["c", "x", "a"]).tolist() == [1, 3, np.inf]
    assert rewards("explore", split("one", "two"), gold=("g1", "g2")) == pytest.approx([1.2 + 0.36 * 17 / 9])
    assert rewards("explore", split("one"), gold=("g1", "g2")) == pytest.approx([1.2])


@pytest.mark.parametrize(
    ("ranks", "value"),
    [
        ([1], 2 + 0.5),
        ([3], 16 / 9 + 0.25),
        ([4], 15 / 9),
        ([1, 2], 0.6 * 2.5 + 0.36 * (17 / 9 + 0.5 / np.log2(3))),
        ([np.inf], 0),
    ],
)
def test_stage_two_adds_a_bonus_at_the_top_ranks(ranks, value):
    """Phi'(r) = Phi(r) + 0.5 / log2(r + 1) for r <= 3."""
    assert reward_of("converge").score(np.array(ranks, float)) == pytest.approx(value)
    assert reward_of("converge", bonus_ranks=0).score(np.array([1.0])) == 2


@given(st.lists(st.sampled_from(sorted(FOUND)), unique=True, min_size=1, max_size=3), st.data())
def test_stage_one_uses_the_best_subset_and_stage_two_all_sub_queries(texts, data):
    gold = data.draw(st.sampled_from([("g1",), ("g2",), ("g1", "g2")]))
    lists = ScriptedRetriever(FOUND).search(texts, 100)
    explore = reward_of("explore")
    converge = reward_of("converge")
    subsets = [s for size in range(1, len(lists) + 1) for s in combinations(lists, size)]
    ranks = [gold_ranks(fused, gold) for fused in RankScoreFusion().fuse(subsets, 100)]
    assert rewards("explore", split(*texts), gold=gold) == pytest.approx([max(map(explore.score, ranks))])
    assert rewards("converge", split(*texts), gold=gold) == pytest.approx([converge.score(ranks[-1])])


def test_each_search_after_the_first_has_a_cost():
    found = rewards("explore", split("one"), split("one", "two"), split("one", "two", "garbage"), cost=0.03)
    assert found == pytest.approx([2, 1.97, 1.94])
    assert rewards("explore", "pass", query="?", cost=0.03) == [0.0]


def test_each_word_that_the_query_does_not_contain_has_a_cost_up_to_ten():
    long = " ".join(f"w{i}" for i in range(12))
    written = ["pass", "resolve\none", "resolve\nRaw one?", "split\none\none two", "resolve\n= one", f"resolve\n{long}"]
    found = ScriptedRetriever(dict.fromkeys(["raw", "one", "Raw one?", "one two", "raw one", long], at(1, "g1")))
    values = rewards("explore", *written, retriever=found, word_cost=0.01, invalid_reward=-0.2)
    assert values == pytest.approx([2, 1.99, 1.99, 1.97, 1.99, 1.9])


@both_stages
@pytest.mark.parametrize("completion", ["", "Pass", "split", split(*"abcd"), "raw", "x" * 100_000, "\x00"])
def test_a_completion_outside_the_grammar_is_below_a_valid_one_without_hits(stage, completion):
    assert rewards(stage, completion, retriever=BrokenRetriever()) == [-0.1]  # it is not searched
    assert rewards(stage, split("garbage")) == [0.0]


@both_stages
def test_a_batch_is_searched_in_one_call_and_each_completion_gets_its_own_reward(stage):
    group = (split("garbage"), split("one"), "broken", "pass", split("middling"), split("one", "two"))
    depths = []

    class Recording(ScriptedRetriever):
        def search(self, texts, k):
            depths.append(k)
            return super().search(texts, k)

    retriever = Recording(FOUND)
    together = rewards(stage, *group, retriever=retriever)
    assert together == [rewards(stage, completion)[0] for completion in group]
    assert retriever.calls == [["garbage", "one", "raw", "middling", "two"]]
    assert depths == [100]


@both_stages
def test_a_failing_retriever_raises(stage):
    with pytest.raises(ConnectionError):
        rewards(stage, split("one"), retriever=BrokenRetriever())


@both_stages
def test_meets_the_interface_of_trl(stage):
    """Accepts conversations of one message and unknown columns, has a name for the metric, and can be pickled."""
    reward = reward_of(stage, grammar=Grammar(2))
    again = pickle.loads(pickle.dumps(reward))
    assert again.__name__ == f"acqo_{stage}"
    columns = {"query": ["raw"], "gold": [["g1"]], "row": [0], "trainer_state": None, "completion_ids": [[1]]}
    message = [{"role": "assistant", "content": split("one")}]
    assert again(prompts=[[]], completions=[message], **columns) == reward([""], [split("one")], ["raw"], [["g1"]])
    assert again([""], [split("one", "two", "garbage")], ["raw"], [["g1"]]) == [-0.1]


@both_stages
@pytest.mark.parametrize(("margin", "used"), [(None, False), (0.3, False), (0.1, True)])
def test_the_list_of_the_raw_query_is_used_if_its_cosine_leads_by_the_margin(stage, margin, used):
    """It has no cost, and applies only to readings. The higher score decides the order of the first documents."""
    retriever = ScoredRetriever({"reading": {"reading": 0.5}, "raw": {"raw": 0.7}})
    asked = ("resolve\nreading", "resolve\nreading\n=", split("reading"), "pass")
    settings = {"gold": ("raw",), "retriever": retriever, "raw_query_margin": margin, "top_rank_bonus": 0.0}
    assert rewards(stage, *asked, cost=0.03, **settings) == pytest.approx([2 if used else 0, 2 - 0.03, 0, 2])


def test_measures_that_explain_the_reward_are_logged():
    logged = {}
    written = {}
    columns = {"log_metric": logged.__setitem__, "log_extra": written.__setitem__}
    asked = [split("one", "="), "pass", "broken", split("one", "two two")]
    rewards("explore", *asked, gold=("g1", "g2"), columns=columns)
    assert logged == pytest.approx(
        {
            "completions/valid_ratio": 3 / 4,
            "completions/sub_queries": 5 / 3,
            "completions/pass_ratio": 1 / 3,
            "completions/repeated_word_ratio": 1 / 3,
            "retrieval/R@10": (1 / 2 + 0 + 1) / 3,
            "retrieval/AllGold@10": 1 / 3,
        }
    )
    assert written == {"query": ["raw"] * 4, "route": ["decompose", "pass", "invalid", "decompose"]}


def test_repeated_words_are_searched_once_unless_the_read_text_repeats_them():
    retriever = ScriptedRetriever({"Duran": at(50, "g1"), "Duran Duran": at(1, "g1"), "Oslo": at(1, "g1")})
    asked = [split("Oslo Oslo"), split("Oslo"), split("Duran Duran"), split("Duran Duran")]
    read = Query("", "raw", (Turn("user", "Who were Duran Duran?"),))
    columns = {"asked": [Query("", "raw")] * 3 + [asdict(read)]}
    found = rewards("converge", *asked, retriever=retriever, columns=columns, top_rank_bonus=0)
    assert found == pytest.approx([2, 2, 50 / 90, 2])


@pytest.mark.parametrize(
    "settings",
    [
        {"stage": "third"},
        {"invalid_reward": 0.0},
        {"invalid_reward": -0.1, "cost": 0.05},  # three searches cost 2 x 0.05
        {"invalid_reward": -0.2, "cost": 0.0, "word_cost": 0.02},
    ],
)
def test_an_invalid_completion_must_be_worse_than_every_valid_one(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        reward_of(**{"stage": "explore", **settings})
    assert reward_of("explore", cost=0.05, invalid_reward=-0.11).cost == 0.05
