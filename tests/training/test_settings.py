"""Settings out of range are rejected before anything is read or written; the message names the setting."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from acqo_rl.cli import module_of
from acqo_rl.errors import ConfigError
from acqo_rl.training.settings import _RANGES, RewardSettings

CONFIGS = {"grpo": "GrpoRunConfig", "warm-start": "WarmStartConfig"}


def config_of(module, name, folder, **settings):
    return getattr(module, CONFIGS[name])(data="d", index="i", model="m", output_dir=str(folder), **settings)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_number_has_a_range_that_contains_its_default(name, tmp_path):
    config = config_of(module_of(name), name, tmp_path)
    numbers = {field.name for field in fields(config) if type(getattr(config, field.name)) in (int, float)}
    assert numbers <= _RANGES.keys()


@pytest.mark.parametrize("name", CONFIGS)
def test_nan_is_rejected_for_every_number(name, tmp_path):
    module = module_of(name)
    for field in fields(config_of(module, name, tmp_path)):
        if isinstance(field.default, float):
            with pytest.raises(ConfigError, match=f"{field.name} is nan"):
                module.main(config_of(module, name, tmp_path / "run", **{field.name: math.nan}))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("grpo", {"trainer": {"temperature": 0.0}}, r"temperature is 0\.0"),
        ("grpo", {"trainer": {"top_p": 2.0}}, r"top_p is 2\.0"),
        ("grpo", {"trainer": {"learning_rate": math.inf}}, "learning_rate is inf"),
        ("grpo", {"trainer": {"learning_rate": math.nan}}, "learning_rate is nan"),
        ("grpo", {"trainer": {"learning_rate": "1e-6"}}, "learning_rate is '1e-6'"),
        ("grpo", {"trainer": {"num_generations": 1}}, "num_generations is 1"),
        ("grpo", {"trainer": {"num_generations": 3}}, r"\(32\).* num_generations \(3\)"),
        ("grpo", {"trainer": {"eval_steps": 0}}, "eval_steps is 0"),
        ("grpo", {"trainer": {"eval_steps": 3, "num_iterations": 2}}, "eval_steps is 3 .*num_iterations is 2"),
        ("grpo", {"trainer": {"learnin_rate": 1.0}}, "learnin_rate.*learning_rate"),
        ("grpo", {"trainer": {"loss_type": "grpo", "beta": -1}}, "beta is -1"),
        ("grpo", {"trainer": {"output_dir": "x", "seed": 1}}, "output_dir, seed"),
        ("grpo", {"trainer": "[1]"}, r"trainer is '\[1\]'"),
        ("grpo", {"eval_measure": "Fame@10"}, "Fame@10"),
        ("warm-start", {"min_gain": -0.1}, r"min_gain is -0\.1"),
        ("warm-start", {"tie_tolerance": -0.1}, r"tie_tolerance is -0\.1"),
        ("warm-start", {"min_helped_share": 20}, "min_helped_share is 20"),
        ("warm-start", {"epochs": 0.0}, r"epochs is 0\.0"),
        ("warm-start", {"batch_size": 6, "micro_batch_size": 4}, "batch_size is 6.* micro_batch_size 4"),
        ("warm-start", {"micro_batch_size": 0}, "micro_batch_size is 0"),
        ("grpo", {"rollouts": -1}, "rollouts is -1"),
    ],
)
def test_a_setting_out_of_range_is_rejected(name, settings, message, tmp_path):
    module = module_of(name)
    with pytest.raises(ConfigError, match=message):
        module.main(config_of(module, name, tmp_path / "run", **settings))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "settings", [{"cost": -1.0}, {"gold_decay": 0.0}, {"top_rank_bonus": math.inf}, {"cost": math.nan}]
)
def test_settings_of_the_reward_are_checked(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        RewardSettings(**settings)
