"""The inputs of a training stage: queries, judgements, reward and model."""

import shutil

import numpy as np
import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.training.curriculum import rewards_of
from acqo_rl.training.materials import open_materials, with_gold
from acqo_rl.training.settings import PathSettings, PromptSettings, RewardSettings, policy_settings
from acqo_rl.types import FeedbackSpec, Query


def paths(folder, index):
    return PathSettings(data=str(folder), index=str(index), output_dir="run", model="none")


def test_a_query_in_both_splits_is_rejected(data, index, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    first = (folder / "qrels" / "train.tsv").read_text().splitlines()[1]
    with (folder / "qrels" / "dev.tsv").open("a") as file:
        file.write(first + "\n")
    with pytest.raises(ConfigError, match=r"1 queries .* train .* dev"):
        open_materials(paths(folder, index), FeedbackSpec())


@pytest.mark.parametrize("limit", [0, 2, 9])
def test_training_uses_queries_with_a_relevant_document(limit):
    queries = [Query(str(i), "") for i in range(6)]
    drawn = with_gold(queries, {query.id: {"g": int(i % 2 == 0)} for i, query in enumerate(queries)}, limit, seed=0)
    assert [query for query in queries[::2] if query in drawn] == drawn
    assert len(drawn) == (limit if limit == 2 else 3)


def test_dev_rewards_are_those_of_the_policys_search_settings_and_have_errors(data, index):
    """Scripted policies: the greedy one passes; of the sampled completions, every second one is outside the grammar."""
    materials = open_materials(paths(data, index), FeedbackSpec())
    settings = policy_settings(PromptSettings(max_sub_queries=2, raw_query_margin=0.05), "none")
    reward = materials.reward("explore", RewardSettings(), settings)
    assert settings == PolicySettings(max_sub_queries=2, raw_query_margin=0.05)
    assert (reward.grammar.max_sub_queries, reward.raw_query_margin) == (2, 0.05)
    count = len(materials.dev)

    def policy(*completions):
        return Policy(ScriptedLanguageModel(*completions), prompt_of(settings, len), settings)

    greedy = policy(*["pass"] * count)
    sampling = policy(*(["pass", "broken"] * count)[:count])
    found, rewards = materials.dev_measures(greedy, sampling, limit=count, measure="nDCG@10", reward=reward)
    passed = np.array(rewards_of([pass_through(query, "") for query in materials.dev], materials.qrels, reward))
    sampled = np.where(np.arange(count) % 2, reward.invalid_reward, passed)
    assert rewards == pytest.approx(passed)
    assert found["greedy_reward"] == pytest.approx(passed.mean())
    assert found["sampled_reward"] == pytest.approx(sampled.mean())
    assert found["sampled_reward_error"] == pytest.approx(sampled.std() / count**0.5)


def test_every_evaluation_has_the_same_dev_queries(data, index):
    materials = open_materials(paths(data, index), FeedbackSpec())
    asked = []

    class Recording(PassThrough):
        def reformulate(self, queries):
            asked.append(tuple(query.id for query in queries))
            return super().reformulate(queries)

    reward = materials.reward("explore", RewardSettings(), PolicySettings())
    for _ in range(5):
        materials.dev_measures(Recording(), Recording(), limit=2, measure="R@5", reward=reward)
    assert len(asked) == 10
    assert [len(ids) for ids in {*asked}] == [2]
