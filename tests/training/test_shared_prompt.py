"""Reading the prompt of a group once changes nothing but the time: same log-probabilities, same gradients."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.training.shared_prompt import completion_logits

PAD, PROMPT, COMPLETION = 0, 7, 5


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    return LlamaForCausalLM(config).float().train()


@pytest.fixture
def batch():
    """Two prompts of unlike length, rollouts of both in mixed order, completions of unlike length."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 50, (6, PROMPT + COMPLETION), generator=generator)
    mask = torch.ones_like(ids)
    for row, (source, gap, cut) in enumerate([(0, 0, 0), (1, 3, 2), (0, 0, 4), (1, 3, 0), (1, 3, 1), (0, 0, 3)]):
        ids[row, :PROMPT] = ids[source, :PROMPT]
        mask[row, :gap] = 0
        mask[row, PROMPT + COMPLETION - cut :] = 0
    return ids.masked_fill(mask == 0, PAD), mask


def log_probabilities(logits, ids, mask):
    picked = logits.log_softmax(-1).gather(-1, ids[:, -COMPLETION:, None]).squeeze(-1)
    return picked * mask[:, -COMPLETION:]


def test_same_log_probabilities_and_gradients_as_one_pass(model, batch):
    ids, mask = batch
    plain = model(input_ids=ids, attention_mask=mask).logits[:, -COMPLETION - 1 : -1]
    expected = log_probabilities(plain, ids, mask)
    weights = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    (expected * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()

    shared = log_probabilities(completion_logits(model, ids, mask, COMPLETION), ids, mask)
    (shared * weights).sum().backward()

    torch.testing.assert_close(shared, expected, rtol=1e-4, atol=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-3, atol=1e-5, msg=name)


def test_each_distinct_prompt_is_read_once(model, batch):
    ids, mask = batch
    seen = []
    model.register_forward_pre_hook(lambda _, __, kwargs: seen.append(kwargs["input_ids"].shape), with_kwargs=True)
    completion_logits(model, ids, mask, COMPLETION)
    assert seen == [(2, PROMPT), (6, COMPLETION - 1)]


def test_completions_of_one_token_need_no_second_pass(model, batch):
    ids, mask = batch
    logits = completion_logits(model, ids[:, : PROMPT + 1], mask[:, : PROMPT + 1], 1)
    plain = model(input_ids=ids[:, : PROMPT + 1], attention_mask=mask[:, : PROMPT + 1]).logits[:, -2:-1]
    torch.testing.assert_close(logits, plain, rtol=1e-4, atol=1e-5)
