"""Models with fewer layers."""

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.layers import keep_layers

SIZES = {
    "vocab_size": 20, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 4, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 8,
}  # fmt: skip
IDS = torch.tensor([[3, 5, 7, 9]])


@pytest.fixture(params=[(LlamaForCausalLM, LlamaConfig), (Qwen3ForCausalLM, Qwen3Config)])
def model(request):
    torch.manual_seed(0)
    kind, config = request.param
    return kind(config(**SIZES)).eval()


def test_a_layer_that_changes_nothing_can_be_removed(model, tmp_path):
    for layer in (1, 2):
        model.model.layers[layer].self_attn.o_proj.weight.data.zero_()
        model.model.layers[layer].mlp.down_proj.weight.data.zero_()
    before = model(IDS).logits
    keep_layers(model, [0, 3])
    torch.testing.assert_close(model(IDS).logits, before)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert loaded.config.num_hidden_layers == 2
    torch.testing.assert_close(loaded(IDS).logits, before)


def test_the_cache_of_a_smaller_model_holds_its_layers(model):
    keep_layers(model, [0, 2, 3])
    read = model(IDS[:, :3], use_cache=True)
    assert len(read.past_key_values.layers) == 3
    after = model(IDS[:, 3:], past_key_values=read.past_key_values).logits
    torch.testing.assert_close(after[:, -1], model(IDS).logits[:, -1])


@pytest.mark.parametrize("kept", [[], [1, 0], [0, 0], [0, 4], [-1, 0]])
def test_layers_that_do_not_exist_are_refused(model, kept):
    with pytest.raises(ConfigError, match="0 to 3"):
        keep_layers(model, kept)
