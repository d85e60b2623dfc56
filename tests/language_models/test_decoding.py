"""Rows that leave and join the running batch: every completion is the one that its prompt has alone."""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from acqo_rl.language_models import decoding
from acqo_rl.language_models.attention import NAME, read_groups_in_place
from acqo_rl.language_models.decoder import Decoder, Decoding
from acqo_rl.language_models.decoding import keeps_every_token
from acqo_rl.language_models.drafts import Drafts
from acqo_rl.language_models.prompt_cache import PromptCache

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
    model = LlamaForCausalLM(LlamaConfig(**SIZE, initializer_range=0.6)).eval()
    read_groups_in_place(model)
    return model


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
    assert max(map(len, completions)) > limit / 2, "some should outgrow the room that a cache has at first"


def test_any_of_several_tokens_ends_a_completion(model):
    """With the second token of the longest completion as another end."""
    alone = complete(model, PROMPTS, ends=[END], pad=0, max_new_tokens=12)
    other = max(alone, key=len)[1]
    cut = [c[: next((i for i, token in enumerate(c) if token in (END, other)), len(c)) + 1] for c in alone]
    assert complete(model, PROMPTS, ends=[END, other], pad=0, max_new_tokens=12) == cut != alone


READING = pytest.mark.parametrize("one_by_one", [False, True])


def written(model, prompts, *, one_by_one, **settings):
    return Decoder(model, Decoding(ends=[END], pad=0, **settings), one_by_one=one_by_one).complete(prompts)


@pytest.fixture
def passes(model, monkeypatch):
    """The shapes of what the model reads: rows and tokens of each pass."""
    shapes = []
    forward = model.forward
    monkeypatch.setattr(
        model, "forward", lambda *a, **k: (shapes.append((*k["input_ids"].shape,)), forward(*a, **k))[1]
    )
    return shapes


@READING
@pytest.mark.parametrize("batch_size", [1, 3, 8, 64])
def test_prompts_are_read_together_or_one_by_one(model, one_by_one, batch_size):
    completions = written(model, PROMPTS, max_new_tokens=12, batch_size=batch_size, one_by_one=one_by_one)
    assert completions == [by_transformers(model, prompt, 12) for prompt in PROMPTS]


@READING
def test_equal_prompts_and_common_beginnings_are_read_once(model, one_by_one, passes):
    prompts = [PROMPTS[0]] * 4 + [PROMPTS[3]] * 4
    written(model, prompts, max_new_tokens=2, temperature=1.0, batch_size=64, one_by_one=one_by_one)
    shorter, longer = sorted({len(prompt) for prompt in prompts})
    shared = next(n for n, (a, b) in enumerate(zip(PROMPTS[0], PROMPTS[3], strict=False)) if a != b)
    together = [(1, shared), (2, longer - shared)]
    read = [shape for shape in passes if shape[1] > 1]
    assert read == ([(1, shorter), (1, longer - shared)] if one_by_one else together)


@READING
def test_what_was_read_in_an_earlier_call_is_not_read_again(model, one_by_one, passes):
    """The next turn of a conversation continues its prompt; an equal prompt needs its last token for the logits."""
    cache, first = PromptCache(), PROMPTS[7]
    second = [*first, 8, 4, 9]
    for prompt in (first, second, second):
        [completion] = written(model, [prompt], max_new_tokens=1, prompt_cache=cache, one_by_one=one_by_one)
        assert completion == by_transformers(model, prompt, 1)
    ours = [shape for shape in passes if shape[1] in (3, 1)]
    assert passes[0] == (1, len(first))
    assert ours[:2] == [(1, 3), (1, 1)]


def test_the_beginning_of_a_long_prompt_is_kept(model, passes):
    cache, prompt = PromptCache(max_tokens=6), [*PROMPTS[7], 9]
    for _ in range(2):
        [completion] = written(model, [prompt], max_new_tokens=1, prompt_cache=cache, one_by_one=True)
        assert completion == by_transformers(model, prompt, 1)
    assert [tokens for _, tokens in passes if tokens > 1][::2] == [len(prompt), len(prompt) - 6]


def test_samples_of_one_prompt_differ_and_follow_the_seed(model):
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(complete(model, [PROMPTS[4]] * 8, ends=[END], pad=0, max_new_tokens=6, temperature=2.0))
    assert draws[0] == draws[1] != draws[2]
    assert len({tuple(c) for c in draws[0]}) > 1


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


def test_grouped_attention_gives_the_same_logits(model):
    assert model.config._attn_implementation == NAME
    plain = LlamaForCausalLM(LlamaConfig(**SIZE)).eval()
    plain.load_state_dict(model.state_dict())
    ids = torch.tensor([PROMPTS[10], PROMPTS[10][::-1]])
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    with torch.no_grad():
        torch.testing.assert_close(
            model(input_ids=ids, attention_mask=mask).logits, plain(input_ids=ids, attention_mask=mask).logits
        )


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_guesses_save_passes_and_change_nothing(model, monkeypatch, batch_size):
    """With completions that were written before, so that most guesses are right, and with guesses that are wrong."""
    settings = {"ends": [END], "pad": 0, "max_new_tokens": 30, "batch_size": batch_size}
    passes = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *a, **k: (passes.append(k["input_ids"].shape[0]), forward(*a, **k))[1])
    plain = complete(model, PROMPTS[:5], **settings)
    without = len(passes)

    passes.clear()
    drafts = Drafts()
    assert complete(model, PROMPTS[:5], drafts=drafts, **settings) == plain
    assert complete(model, PROMPTS[:5], drafts=drafts, **settings) == plain
    assert len(passes) < 1.8 * without

    passes.clear()
    drafts = Drafts()
    drafts.guess = lambda texts: [[9] * (i % 3) for i in range(len(texts))]
    assert complete(model, PROMPTS[:5], drafts=drafts, **settings) == plain


def test_guesses_follow_the_constraint(model):
    """A guess is not taken where its token is forbidden."""

    def no_token_twice(prompt, written):
        return np.array([*written, END])

    settings = {"ends": [END], "pad": 0, "max_new_tokens": 8, "batch_size": 2}
    drafts = Drafts()
    complete(model, PROMPTS, drafts=drafts, **settings)
    completions = complete(model, PROMPTS, drafts=drafts, forbidden=no_token_twice, **settings)
    assert completions == complete(model, PROMPTS, forbidden=no_token_twice, **settings)


def test_no_prompts(model):
    assert complete(model, [], ends=[END], pad=0, max_new_tokens=4) == []


@pytest.mark.parametrize("plain_cache", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_is_forbidden_is_not_written(model, monkeypatch, plain_cache, temperature):
    """In our own decoding, and in that of transformers for models with other caches."""
    monkeypatch.setattr("acqo_rl.language_models.decoding.keeps_every_token", lambda model: plain_cache)

    def no_token_twice(prompt, written):
        assert list(prompt) in PROMPTS
        return np.array([*written, END])

    torch.manual_seed(0)
    completions = complete(
        model, PROMPTS, ends=[END], pad=0, max_new_tokens=8, temperature=temperature, forbidden=no_token_twice
    )
    assert all(len(set(c)) == len(c) == 8 and END not in c for c in completions)
