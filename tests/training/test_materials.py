"""What every training stage opens."""

from __future__ import annotations

import shutil

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.materials import open_materials
from acqo_rl.training.settings import PathSettings, PromptSettings, RewardSettings, policy_settings


def test_a_query_of_both_splits_is_refused(data, index, tmp_path):
    """Its dev judgements would be rewarded in training."""
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    first = (folder / "qrels" / "train.tsv").read_text().splitlines()[1]
    with (folder / "qrels" / "dev.tsv").open("a") as file:
        file.write(first + "\n")
    paths = PathSettings(data=str(folder), index=str(index), output_dir="run", model="none")
    with pytest.raises(ConfigError, match=r"1 queries of .* are in train and in dev"):
        open_materials(paths, PromptSettings())


def test_the_reward_searches_as_the_policy_is_served(data, index):
    """The look back at the raw query, and how much may be searched, are the policy's in both."""
    materials = open_materials(
        PathSettings(data=str(data), index=str(index), output_dir="run", model="none"), PromptSettings()
    )
    policy = policy_settings(PromptSettings(max_sub_queries=2, raw_lead=0.05))
    reward = materials.reward("converge", RewardSettings(), policy)
    assert (reward.grammar.max_sub_queries, reward.raw_lead) == (policy.max_sub_queries, policy.raw_lead) == (2, 0.05)
