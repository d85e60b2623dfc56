"""Log-probabilities and gradients of the prefix tree equal those of a padded batch."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.training.prefix_tree import PrefixTree, completion_log_probs

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
    """Rollouts of two prompts in mixed order; prompts and completions have different lengths."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 50, (6, PROMPT + COMPLETION), generator=generator)
    mask = torch.ones_like(ids)
    for row, (source, gap, cut) in enumerate([(0, 0, 0), (1, 3, 2), (0, 0, 4), (1, 3, 0), (1, 3, 1), (0, 0, 3)]):
        ids[row, :PROMPT] = ids[source, :PROMPT]
        mask[row, :gap] = 0
        mask[row, PROMPT + COMPLETION - cut :] = 0
    return ids.masked_fill(mask == 0, PAD), mask


def one_pass(model, ids, mask, temperature):
    logits = model(input_ids=ids, attention_mask=mask).logits[:, -COMPLETION - 1 : -1] / temperature
    log_probs = logits.log_softmax(-1)
    entropies = -(log_probs.exp() * log_probs).sum(-1)
    picked = log_probs.gather(-1, ids[:, -COMPLETION:, None]).squeeze(-1)
    inside = mask[:, -COMPLETION:]
    return picked * inside, entropies.detach() * inside


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_same_values_and_gradients_as_one_pass(model, batch, temperature):
    ids, mask = batch
    expected, expected_entropies = one_pass(model, ids, mask, temperature)
    weights = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    (expected * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()

    shared, entropies = completion_log_probs(model, ids, mask, COMPLETION, temperature)
    (shared * weights).sum().backward()

    torch.testing.assert_close(shared, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(entropies, expected_entropies, rtol=1e-4, atol=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-3, atol=1e-5, msg=name)


def test_each_distinct_prefix_is_processed_once(model, batch):
    ids, mask = batch
    seen = []
    model.register_forward_pre_hook(lambda _, __, kwargs: seen.append(kwargs["input_ids"]), with_kwargs=True)
    completion_log_probs(model, ids, mask, COMPLETION, 1.0)
    distinct = {
        tuple(row[kept][: n + 1].tolist())
        for row, kept in zip(ids, mask.bool(), strict=True)
        for n in range(int(kept.sum()))
    }
    assert [tuple(tokens.shape) for tokens in seen] == [(1, len(distinct))]


def test_rows_are_split_into_passes_without_separating_long_common_prefixes(model, batch, monkeypatch):
    ids, mask = batch
    expected, expected_entropies = completion_log_probs(model, ids, mask, COMPLETION, 1.0)
    monkeypatch.setattr("acqo_rl.training.prefix_tree._NODES", {"cpu": 5})
    read = []
    model.register_forward_pre_hook(
        lambda _, __, kwargs: read.append(kwargs["input_ids"][0].tolist()), with_kwargs=True
    )
    values, entropies = completion_log_probs(model, ids, mask, COMPLETION, 1.0)
    starts = sorted(tuple(tokens[:4]) for tokens in read)
    assert starts.count(tuple(ids[0, :4].tolist())) == 1  # the long prompt is most of its rows
    assert starts.count(tuple(ids[1, 3:PROMPT].tolist())) == 2  # the short prompt is processed again
    torch.testing.assert_close(values, expected)
    torch.testing.assert_close(entropies, expected_entropies)


def test_a_small_tree():
    tree = PrefixTree.of([[5, 6, 7], [5, 6, 8], [5, 9]])
    assert tree.tokens == [5, 6, 7, 8, 9]
    assert tree.depths == [0, 1, 2, 2, 1]
    assert tree.paths == [[0, 1, 2], [0, 1, 3], [0, 4]]
    assert tree.visible().int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 0, 0, 0, 1],
    ]


def test_an_empty_completion_has_no_values(model, batch):
    ids, mask = batch
    nothing = mask.clone()
    nothing[2, PROMPT:] = 0
    values, _ = completion_log_probs(model, ids, nothing, COMPLETION, 1.0)
    assert values.shape == (len(ids), COMPLETION) and (values[2] == 0).all()
