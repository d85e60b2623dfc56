"""Loading a model for training, and comparing its settings with those of the run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import describe_changed_settings, load_trainable

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
    config = command.parse(module.make_parser(), arguments)
    with pytest.raises(ConfigError):
        module.main(config)
    assert not (tmp_path / "out").exists()


def test_settings_that_a_run_changes_are_reported(tmp_path):
    PolicySettings(history_tokens=64, raw_query_margin=0.05).save(tmp_path)
    sentence = describe_changed_settings(str(tmp_path), PolicySettings(history_tokens=128, raw_query_margin=0.05))
    assert "history_tokens 64 -> 128" in sentence
    assert "raw_query_margin" not in sentence
    assert describe_changed_settings(str(tmp_path), PolicySettings(history_tokens=64, raw_query_margin=0.05)) == ""
    assert describe_changed_settings("embedded:smollm2", PolicySettings()) == ""
