"""Sampling, log-probabilities and training on a GPU, compared with the CPU."""

import copy

import pytest
import torch
from test_grpo import POLICY, TRAINER, trainer_of
from tiny_policy import full_model
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.language_models.decoding import Decoding, complete
from acqo_rl.training.grpo import finish
from acqo_rl.training.model import resume
from acqo_rl.training.prefix_tree import log_probs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]

GREEDY = Decoding(ends=[2], pad=0, max_new_tokens=12, batch_size=4)
PROMPTS = [[5, 6, 7, 8], [5, 6, 9], [5, 6, 7, 8], [5, 6, 11, 12, 13, 14]]


@pytest.fixture(scope="module")
def models():
    """The same model on the CPU and on the GPU, in float32."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    model = LlamaForCausalLM(config).float().eval()
    return model, copy.deepcopy(model).cuda()


def test_greedy_completions_equal_those_of_the_cpu(models):
    on_cpu, on_gpu = (complete(m, PROMPTS, GREEDY) for m in models)
    assert on_gpu == on_cpu


def test_log_probs_and_gradients_equal_those_of_the_cpu(models):
    found = []
    for model in models:
        model.zero_grad()
        values, _ = log_probs(model, [[*prompt, 20, 21, 2] for prompt in PROMPTS], [len(p) for p in PROMPTS])
        torch.cat(values).sum().backward()
        found.append((torch.cat(values).detach().cpu(), model.lm_head.weight.grad.cpu()))
    for on_cpu, on_gpu in zip(*found, strict=True):
        torch.testing.assert_close(on_gpu, on_cpu, rtol=1e-3, atol=1e-4)


def test_an_adapter_is_trained_on_the_gpu(tmp_path):
    start = str(full_model(tmp_path, max_new_tokens=8))
    trainer = trainer_of(start, tmp_path / "run", lora_rank=8, trainer=TRAINER | {"max_steps": 4}, dev=(0.0, 0.5, 1.0))
    resume(trainer)
    adapter = {name: value for name, value in trainer.model.named_parameters() if "lora_B" in name}
    assert {value.device.type for value in adapter.values()} == {"cuda"}
    assert all(value.abs().sum() > 0 for value in adapter.values())  # they are initialised with zeros
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 4
    assert all(torch.isfinite(torch.tensor(losses)))
    assert "rose from 0.0000 to 1.0000" in finish(trainer, POLICY, start, 8, "nDCG@10")
