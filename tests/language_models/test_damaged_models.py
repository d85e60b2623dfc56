"""A model with a damaged file is refused by one error that names the file."""

from __future__ import annotations

import pytest
from tiny_policy import adapter_model

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import Policy
from acqo_rl.training.model import load_trainable


def cut(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


DAMAGES = [
    *(("adapter_model.safetensors", cut(share)) for share in (0, 0.001, 0.5, 0.999)),
    ("adapter_config.json", cut(0.5)),
    ("adapter_config.json", lambda path: path.write_text("{}")),
    ("adapter_config.json", lambda path: path.write_text("[]")),
    ("adapter_config.json", lambda path: path.write_text(path.read_text().replace('"r": ', '"r": "x", "s": '))),
    ("tokenizer.json", cut(0.5)),
    ("tokenizer_config.json", cut(0.5)),
    ("../base/model.safetensors", cut(0.5)),
    ("../base/config.json", cut(0.5)),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_policy_with_a_damaged_file_names_it(tmp_path, name, damage):
    folder = adapter_model(tmp_path)
    damage(folder / name)

    for load in (Policy.from_pretrained, lambda path: load_trainable(str(path), 2, 0)):
        with pytest.raises(ConfigError) as caught:
            load(folder)
        assert name.removeprefix("../base/").removesuffix("_config.json") in str(caught.value)


def test_an_adapter_that_does_not_fit_its_base_model_is_refused(tmp_path):
    folder = adapter_model(tmp_path)
    config = folder / "adapter_config.json"
    config.write_text(config.read_text().replace('"r": 4', '"r": 5'))

    with pytest.raises(ConfigError):
        Policy.from_pretrained(folder)
