"""Loading a model for training, and comparing its settings with those of the run."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import changed_settings, load_trainable

TOKENIZER = ["config.json", "tokenizer.json", "tokenizer_config.json"]


@pytest.mark.parametrize(
    ("left", "lacks"),
    [
        ([], "tokenizer"),
        (["config.json", "model.safetensors"], "tokenizer"),
        ([*TOKENIZER, "chat_template.jinja"], "model"),
    ],
)
def test_an_incomplete_model_folder_is_rejected(left, lacks, tiny, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for name in left:
        shutil.copy(Path(tiny) / name, folder)
    with pytest.raises(ConfigError, match=lacks):
        load_trainable(str(folder), 0, seed=0)


@pytest.mark.parametrize("name", ["warm_start", "grpo"])
def test_a_model_without_a_chat_template_is_refused_before_any_work(name, tiny, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in TOKENIZER:
        shutil.copy(Path(tiny) / file, folder)
    given = {"data": "no data", "index": "no index", "model": str(folder), "output_dir": str(tmp_path / "out")}
    module = module_of(name)
    arguments = [part for key, value in given.items() for part in (f"--{key}", value)]
    config = command.parse(module.main, arguments)
    with pytest.raises(ConfigError):
        module.main(config)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rank", [2, 8])
def test_the_output_of_a_new_adapter_counts_twice(tiny, rank):
    """The learning rates of the configs are for this scale."""
    model, _ = load_trainable(tiny, rank, seed=0)
    assert {
        module.scaling["default"] for module in model.modules() if isinstance(getattr(module, "scaling", None), dict)
    } == {2.0}
    assert model.peft_config["default"].r == rank


def test_settings_that_a_run_changes_are_named(tmp_path):
    before = PolicySettings(history_tokens=64, raw_query_margin=0.05)
    before.save(tmp_path)
    assert changed_settings(str(tmp_path), replace(before, history_tokens=128)) == "history_tokens 64 -> 128"
    assert changed_settings(str(tmp_path), before) == changed_settings("embedded:smollm2", before) == ""
