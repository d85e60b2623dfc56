"""Sampling, log-probabilities and training on a GPU, compared with the CPU."""

import copy

import pytest
import torch
from tiny_policy import full_model
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.language_models.decoding import Decoding, complete
from acqo_rl.reformulation.policy import PolicySettings, prompt_of
from acqo_rl.training.data import grpo_dataset
from acqo_rl.training.grpo import build_trainer, finish
from acqo_rl.training.model import load_trainable
from acqo_rl.training.prefix_tree import log_probs
from acqo_rl.training.settings import GrpoSettings
from acqo_rl.types import Query

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
    settings = GrpoSettings(trainer={"max_steps": 4, "per_device_train_batch_size": 16, "num_generations": 8,
        "learning_rate": 1e-2, "warmup_steps": 0, "eval_steps": 2, "temperature": 1.0, "top_p": 1.0})  # fmt: skip
    policy = PolicySettings(max_new_tokens=8)
    queries = [Query(str(i), f"capital of country {i}") for i in range(8)]
    model, tokenizer = load_trainable(start, 8, seed=0)
    measured = iter((0.0, 0.5, 1.0))
    trainer = build_trainer(
        settings,
        model=model,
        tokenizer=tokenizer,
        policy=policy,
        reward=_distinct_letters,
        train_dataset=grpo_dataset(queries, {q.id: {"g": 1} for q in queries}, prompt_of(policy, len)),
        dev_measures=lambda made, _: {"nDCG@10": next(measured) if made.reformulate(queries) else 0.0},
        output_dir=tmp_path / "run",
        seed=0,
    )
    trainer.train()
    adapter = {name: value for name, value in trainer.model.named_parameters() if "lora_B" in name}
    assert {value.device.type for value in adapter.values()} == {"cuda"}
    assert all(value.abs().sum() > 0 for value in adapter.values())  # they are initialised with zeros
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 4
    assert all(torch.isfinite(torch.tensor(losses)))
    assert "rose from 0.0000 to 1.0000" in finish(trainer, policy, start, "nDCG@10", tmp_path / "run")


def _distinct_letters(prompts, completions, **_):
    return [len(set(completion[-1]["content"])) / 8 for completion in completions]
