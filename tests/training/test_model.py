"""Loading a model for training, and comparing its settings with those of the run."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import changed_settings, load_trainable


@pytest.mark.parametrize("name", ["warm_start", "grpo"])
def test_a_model_without_a_chat_template_is_refused_before_any_work(name, tiny, tmp_path):
    main, model = module_of(name).main, tmp_path / "model"
    shutil.copytree(tiny, model, ignore=shutil.ignore_patterns("chat_template.jinja"))
    given = {"data": "no data", "index": "no index", "model": str(model), "output_dir": str(tmp_path / "out")}
    with pytest.raises(ConfigError):
        main(command.parse(main, [part for key, value in given.items() for part in (f"--{key}", value)]))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rank", [2, 8])
def test_the_output_of_a_new_adapter_counts_twice(tiny, rank):
    """The learning rates of the configs are for this scale."""
    model, _ = load_trainable(tiny, rank, seed=0)
    config = model.peft_config["default"]
    assert (config.r, config.lora_alpha) == (rank, 2 * rank)


def test_settings_that_a_run_changes_are_named(tmp_path):
    before = PolicySettings(history_tokens=64, raw_query_margin=0.05)
    before.save(tmp_path)
    assert changed_settings(str(tmp_path), replace(before, history_tokens=128)) == "history_tokens 64 -> 128"
    assert changed_settings(str(tmp_path), before) == changed_settings("embedded:smollm2", before) == ""
