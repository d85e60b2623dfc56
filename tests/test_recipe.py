"""The recipe only runs commands that exist, with settings that they accept."""

from __future__ import annotations

import sys

import pytest
from test_entry_points import ROOT, parser_of

from acqo_rl import command
from acqo_rl.errors import ConfigError


@pytest.fixture(scope="module")
def recipe():
    parser_of(ROOT / "train" / "acqo.py")
    return sys.modules["entry_acqo"]


def config_of(recipe, name, *arguments):
    return command.parse(recipe.make_parser(), ["--config", str(ROOT / "configs/acqo" / name), *arguments])[0]


@pytest.mark.parametrize(("name", "first"), [("embedded.yaml", "data"), ("beir.yaml", "index")])
def test_every_stage_is_a_command_that_its_script_accepts(recipe, tmp_path, name, first):
    arguments = ["--output_dir", str(tmp_path), *(["--data", str(tmp_path)] if name == "beir.yaml" else [])]
    stages = recipe.plan(config_of(recipe, name, *arguments))
    assert stages[0].name == first
    for stage in stages:
        words = stage.argv()
        place = next(i for i, word in enumerate(words) if word.endswith(".py"))
        command.parse(parser_of(ROOT / words[place]), words[place + 1 :])


def test_stages_hand_over_to_each_other(recipe, tmp_path):
    stages = {stage.name: stage.settings for stage in recipe.plan(config_of(recipe, "embedded.yaml"))}
    one, two = stages["Stage I: explore"], stages["Stage II: converge"]
    assert one["model"] == stages["warm start"]["output_dir"] / "model"
    assert two["model"] == stages["difficulty"]["model"] == one["output_dir"] / "model"
    assert two["difficulty"] == stages["difficulty"]["output_dir"] / "difficulty.jsonl"
    assert (one["stage"], two["stage"]) == ("explore", "converge")


def test_settings_of_a_stage_that_are_no_mapping_are_refused(recipe, tmp_path):
    with pytest.raises(ConfigError, match=r"stage1 is .* it must be a mapping"):
        recipe.plan(config_of(recipe, "embedded.yaml", "--stage1", '"fast"'))


def test_time_left_follows_the_pace_so_far(recipe):
    assert recipe._clock(0.0, [1, 4, 5], 0) == "(0 min so far, about 10 min left)"
    assert recipe._clock(10.0, [1, 4, 5], 2) == "(10 min so far, about 10 min left)"
    assert recipe._clock(3.0, [], 1) == "(3 min so far)"
