"""Log-probabilities, losses and gradients of the prefix tree equal those of a padded batch."""

import pytest
import torch
from datasets import Dataset
from tiny_policy import byte_tokenizer, full_model
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

from acqo_rl.training.prefix_tree import completion_log_probs
from acqo_rl.training.sft import CompletionTrainer

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


def read_by(model):
    """The token ids of each forward pass of the model, from now on."""
    read = []
    model.register_forward_pre_hook(lambda _, __, given: read.append(given["input_ids"][0].tolist()), with_kwargs=True)
    return read


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_same_values_and_gradients_as_one_pass_that_reads_each_distinct_prefix_once(model, batch, temperature):
    ids, mask = batch
    mask[2, PROMPT:] = 0  # an empty completion
    expected, expected_entropies = one_pass(model, ids, mask, temperature)
    weights = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    (expected * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    read = read_by(model)
    shared, entropies = completion_log_probs(model, ids, mask, COMPLETION, temperature)
    (shared * weights).sum().backward()

    torch.testing.assert_close(shared, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(entropies, expected_entropies, rtol=1e-4, atol=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-3, atol=1e-5, msg=name)
    rows = [row[kept].tolist() for row, kept in zip(ids, mask.bool(), strict=True)]
    assert [len(tokens) for tokens in read] == [len({tuple(row[:n]) for row in rows for n in range(1, len(row) + 1)})]


def test_rows_are_split_into_passes_without_separating_long_common_prefixes(model, batch, monkeypatch):
    ids, mask = batch
    expected = completion_log_probs(model, ids, mask, COMPLETION, 1.0)
    monkeypatch.setattr("acqo_rl.training.prefix_tree._NODES", {"cpu": 5})
    read = read_by(model)
    torch.testing.assert_close(completion_log_probs(model, ids, mask, COMPLETION, 1.0), expected)
    starts = [tokens[:4] for tokens in read]
    assert starts.count(ids[0, :4].tolist()) == 1  # the long prompt is most of its rows
    assert starts.count(ids[1, 3:PROMPT].tolist()) == 2  # the short prompt is processed again


WORDS = ("Peru", "Chad and Norway", "Japan")


def rows(same_beginning):
    return [
        {
            "prompt": [
                {"role": "system", "content": "Write searches." if same_beginning else place[::-1]},
                {"role": "user", "content": f"Question: capital of {place}"},
            ],
            "completion": [{"role": "assistant", "content": f"resolve\n{place} capital"}],
        }
        for place in WORDS
    ]


def loss_and_gradients(trainer_type, model, folder, same_beginning):
    arguments = SFTConfig(
        output_dir=str(folder), per_device_train_batch_size=len(WORDS), max_length=None, report_to="none",
        gradient_checkpointing=False, bf16=False, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = trainer_type(
        model=model,
        args=arguments,
        processing_class=byte_tokenizer(),
        train_dataset=Dataset.from_list(rows(same_beginning)),
    )
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(len(WORDS))])
    model.zero_grad()
    model.train()
    loss = trainer.compute_loss(model, dict(batch), num_items_in_batch=torch.tensor(40))
    loss.backward()
    return loss.item(), {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("same_beginning", [True, False])
def test_loss_and_gradients_are_those_of_trl(tmp_path, same_beginning):
    model = AutoModelForCausalLM.from_pretrained(full_model(tmp_path), dtype=torch.float32)
    loss, gradients = loss_and_gradients(CompletionTrainer, model, tmp_path / "ours", same_beginning)
    expected, expected_gradients = loss_and_gradients(SFTTrainer, model, tmp_path / "trl", same_beginning)
    assert loss == pytest.approx(expected, rel=1e-4)
    for name, gradient in expected_gradients.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-3, atol=1e-5, msg=name)
