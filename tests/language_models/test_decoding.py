"""Every completion is the one that its prompt has alone."""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from acqo_rl.language_models import decoding
from acqo_rl.language_models.decoding import Decoding, keeps_every_token

SIZE = {
    "vocab_size": 12, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip
END = 3
SHARED = [5, 6, 7]
PROMPTS = [SHARED + [4 + (i * j) % 8 for j in range(1, 2 + (i * 5) % 17)] for i in range(1, 12)]


def complete(model, prompts, **settings):
    return decoding.complete(model, prompts, Decoding(**settings))


@pytest.fixture(scope="module")
def model():
    """Small enough a vocabulary that the end token comes after unlike numbers of steps."""
    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**SIZE, initializer_range=0.6)).eval()


def by_transformers(model, prompt, limit):
    ids = model.generate(
        input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        max_new_tokens=limit, do_sample=False, pad_token_id=0, eos_token_id=END,
    )  # fmt: skip
    return ids[0, len(prompt) :].tolist()


@pytest.mark.parametrize("limit", [12, 80])
@pytest.mark.parametrize("batch_size", [1, 3, 8, 64])
def test_each_completion_is_that_of_transformers(model, batch_size, limit):
    completions = complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=limit, batch_size=batch_size)
    assert completions == [by_transformers(model, prompt, limit) for prompt in PROMPTS]
    assert len({len(c) for c in completions}) > 2, "rows should leave at different steps"
    assert any(c[-1] == END for c in completions)


def test_any_of_several_tokens_ends_a_completion(model):
    """With the second token of the longest completion as another end."""
    alone = complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=12)
    other = max(alone, key=len)[1]
    cut = [c[: next((i for i, token in enumerate(c) if token in (END, other)), len(c)) + 1] for c in alone]
    assert complete(model, PROMPTS, ends=[END, other], pad=0, max_new_tokens=12) == cut != alone


def test_equal_beginnings_are_read_once_and_finished_rows_leave(model, monkeypatch):
    shapes = []
    forward = model.forward
    monkeypatch.setattr(
        model, "forward", lambda *a, **k: (shapes.append((*k["input_ids"].shape,)), forward(*a, **k))[1]
    )
    prompts = [PROMPTS[i] for i in (0, 3, 5, 8) for _ in range(2)]
    completions = complete(model, prompts, ends=[END], pad=0, max_new_tokens=80)
    common, rest, *steps = shapes.copy()
    assert completions == [by_transformers(model, prompt, 80) for prompt in prompts]
    assert (common, rest) == ((1, len(SHARED)), (4, max(map(len, prompts)) - 1 - len(SHARED)))
    rows = [count for count, width in steps if width == 1]
    assert len(rows) == len(steps) == max(map(len, completions))
    assert rows[0] == 8 and rows[-1] < 8


def test_samples_follow_the_probabilities(model):
    torch.manual_seed(0)
    drawn = complete(model, [PROMPTS[2]] * 2000, ends=[END], pad=0, max_new_tokens=1, temperature=1.5, batch_size=4000)
    counts = torch.bincount(torch.tensor([c[0] for c in drawn]), minlength=12) / 2000
    with torch.no_grad():
        wanted = (model(input_ids=torch.tensor([PROMPTS[2]])).logits[0, -1] / 1.5).softmax(-1)
    torch.testing.assert_close(counts, wanted, atol=0.04, rtol=0)


def test_a_small_nucleus_is_greedy(model):
    greedy = complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=6)
    assert complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=6, temperature=1.0, top_p=1e-6) == greedy


def test_a_model_with_sliding_windows_is_left_to_transformers():
    torch.manual_seed(3)
    model = MistralForCausalLM(MistralConfig(**SIZE, head_dim=8, sliding_window=4, initializer_range=0.6)).eval()
    assert not keeps_every_token(model)
    completions = complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=8, batch_size=4)
    assert completions == [by_transformers(model, prompt, 8) for prompt in PROMPTS]


@pytest.mark.parametrize("plain_cache", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_is_forbidden_is_not_written(model, monkeypatch, plain_cache, temperature):
    """With prompts that are read once, and with caches that cannot be repeated."""
    monkeypatch.setattr("acqo_rl.language_models.decoding.keeps_every_token", lambda model: plain_cache)

    def no_token_twice(written):
        return np.array([*written, END])

    torch.manual_seed(0)
    completions = complete(
        model,
        [*PROMPTS, PROMPTS[0]],
        ends=[END],
        pad=0,
        max_new_tokens=8,
        temperature=temperature,
        forbidden=no_token_twice,
    )
    assert all(len(set(c)) == len(c) == 8 and END not in c for c in completions)
