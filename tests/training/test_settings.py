"""Settings out of range: refused by name, before anything is read or written."""

from __future__ import annotations

import importlib
import math
from dataclasses import fields
from pathlib import Path

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.settings import _RANGES

ROOT = Path(__file__).parents[2]
SCRIPTS = {"grpo": "train", "warm_start": "train", "score_difficulty": "scripts"}
CONFIGS = {"grpo": "GrpoRunConfig", "warm_start": "WarmStartConfig", "score_difficulty": "DifficultyConfig"}


@pytest.fixture
def script(monkeypatch):
    def load(name):
        monkeypatch.syspath_prepend(str(ROOT / SCRIPTS[name]))
        return importlib.import_module(name)

    return load


def config_of(module, name, folder, **settings):
    return getattr(module, CONFIGS[name])(data="d", index="i", model="m", output_dir=str(folder), **settings)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_number_has_a_range_that_its_default_is_in(script, name, tmp_path):
    config = config_of(script(name), name, tmp_path)
    numbers = {field.name for field in fields(config) if type(getattr(config, field.name)) in (int, float)}
    assert numbers <= _RANGES.keys()


@pytest.mark.parametrize("name", SCRIPTS)
def test_nan_is_refused_wherever_a_number_is_wanted(script, name, tmp_path):
    module = script(name)
    for field in fields(config_of(module, name, tmp_path)):
        if isinstance(field.default, float):
            with pytest.raises(ConfigError, match=f"{field.name} is nan"):
                module.main(config_of(module, name, tmp_path / "run", **{field.name: math.nan}))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("grpo", {"cost": -1.0}, r"cost is -1\.0; it must be at least 0\."),
        ("grpo", {"temperature": 0.0}, r"temperature is 0\.0; it must be above 0\."),
        ("grpo", {"top_p": 2.0}, r"top_p is 2\.0; it must be above 0 and at most 1\."),
        ("grpo", {"learning_rate": math.inf}, "learning_rate is inf; it must be a finite number, at least 0"),
        ("grpo", {"num_generations": 1}, "num_generations is 1; it must be at least 2"),
        ("grpo", {"num_generations": 3}, "A step has 32 completions, no multiple of num_generations 3"),
        ("grpo", {"eval_steps": 0}, "eval_steps is 0; it must be at least 1"),
        ("grpo", {"eval_steps": 3, "num_iterations": 2}, "eval_steps is 3, num_iterations is 2; make eval_steps a"),
        ("grpo", {"eval_measure": "nGCD@10"}, "nGCD@10"),
        ("grpo", {"seed": -1}, "seed is -1; it must be at least 0 and at most"),
        ("warm_start", {"margin": -0.1}, r"margin is -0\.1"),
        ("warm_start", {"tolerance": -0.1}, r"tolerance is -0\.1"),
        ("warm_start", {"least_share": 20}, "least_share is 20; it must be at least 0 and at most 1"),
        ("warm_start", {"epochs": 0.0}, r"epochs is 0\.0; it must be above 0"),
        ("warm_start", {"batch_size": 6, "micro_batch_size": 4}, "no multiple of"),
        ("warm_start", {"micro_batch_size": 0}, "micro_batch_size is 0; it must be at least 1"),
        ("score_difficulty", {"rollouts": 0}, "rollouts is 0; it must be at least 1"),
    ],
)
def test_what_is_out_of_range_is_refused(script, name, settings, message, tmp_path):
    module = script(name)
    with pytest.raises(ConfigError, match=message):
        module.main(config_of(module, name, tmp_path / "run", **settings))
    assert not (tmp_path / "run").exists()
