"""The model that is trained, from a folder that has none or only half of one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import load_trainable, told_differences

TOKENIZER = ["config.json", "tokenizer.json", "tokenizer_config.json"]


@pytest.mark.parametrize(
    ("left", "lacks"),
    [
        ([], "tokenizer"),
        (["config.json", "model.safetensors"], "tokenizer"),
        ([*TOKENIZER, "chat_template.jinja"], "model"),
    ],
)
def test_a_folder_that_cannot_be_trained_is_refused(left, lacks, tiny, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for name in left:
        shutil.copy(Path(tiny) / name, folder)
    with pytest.raises(ConfigError, match=f"The {lacks} .*cannot be loaded"):
        load_trainable(str(folder), 0, seed=0)


def test_settings_that_a_run_changes_are_told(tmp_path):
    PolicySettings(history_tokens=64, raw_query_margin=0.05).save(tmp_path)
    told = told_differences(str(tmp_path), PolicySettings(history_tokens=128, raw_query_margin=0.05))
    assert told == "The policy to start from had other settings, which the run replaces: history_tokens 64 -> 128."
    assert told_differences(str(tmp_path), PolicySettings(history_tokens=64, raw_query_margin=0.05)) == ""
    assert told_differences("embedded:smollm2", PolicySettings()) == ""
