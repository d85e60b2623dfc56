"""Models that run in this process, on a tiny one of random weights."""

from __future__ import annotations

import shutil

import pytest
import torch

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.local import TransformersModel, base_model_of


def say(text):
    return [{"role": "system", "content": "Write."}, {"role": "user", "content": text}]


CONVERSATIONS = [say("word " * n) for n in (1, 30, 4, 12, 1, 7)]


@pytest.fixture(scope="module")
def model(tiny_model):
    return TransformersModel.from_pretrained(tiny_model, max_new_tokens=8, batch_size=4)


def test_a_batch_equals_one_by_one(model):
    """Padding and shared prefixes do not change the completions; they are returned in input order."""
    together = model.generate(CONVERSATIONS)
    assert together == [model.generate([c])[0] for c in CONVERSATIONS]
    assert len({c.text for c in together}) > 1


def test_is_what_transformers_generates(model):
    text = model.chat.tokenizer.apply_chat_template(CONVERSATIONS[1], add_generation_prompt=True, tokenize=False)
    ids = model.chat.tokenizer(text, add_special_tokens=False, return_tensors="pt")
    plain = model.model.generate(**ids, max_new_tokens=8, do_sample=False)[0, ids["input_ids"].shape[1] :]
    assert model.generate(CONVERSATIONS)[1].text == model.chat.tokenizer.decode(plain, skip_special_tokens=True)


def test_the_token_limit_is_told(model):
    completion = model.generate([say("x")])[0]
    assert (completion.tokens, completion.finished) == (8, False)


def test_the_end_token_ends_a_text(model):
    end = model.chat.tokenizer.eos_token_id
    word = model.chat.tokenizer("Peru", add_special_tokens=False)["input_ids"]
    completion = model.chat.completion([*word, end, end, end])
    assert (completion.text, completion.tokens, completion.finished) == ("Peru", len(word) + 1, True)
    assert model.chat.completion([end]).text == ""


def test_nothing_asked_nothing_answered(model):
    assert model.generate([]) == []


def test_sampling_follows_the_seed(tiny_model):
    sampled = TransformersModel.from_pretrained(tiny_model, max_new_tokens=8, temperature=1.0)
    answers = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        answers.append(sampled.generate(CONVERSATIONS))
    assert answers[0] == answers[1] != answers[2]


def test_the_same_weights_at_another_temperature(tiny_model, model):
    sampled = TransformersModel.from_pretrained(tiny_model, max_new_tokens=model.max_new_tokens, temperature=1.0)
    greedy = sampled.at_temperature(0.0)
    assert greedy.generate(CONVERSATIONS) == model.generate(CONVERSATIONS)
    assert (sampled.temperature, greedy.model is sampled.model) == (1.0, True)


def test_count_tokens_adds_none(model):
    assert model.count_tokens("") == 0
    assert model.count_tokens("Peru Peru") == len(
        model.chat.tokenizer("Peru Peru", add_special_tokens=False)["input_ids"]
    )


def test_an_adapter_names_its_base(tiny_model, tmp_path):
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "some/base"}')
    with pytest.raises(ConfigError, match=r"adapter_model\.safetensors"):
        base_model_of(str(tmp_path))
    (tmp_path / "adapter_model.safetensors").touch()
    assert base_model_of(str(tmp_path)) == ("some/base", str(tmp_path))
    assert base_model_of(tiny_model) == (tiny_model, None)


def test_a_model_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        TransformersModel.from_pretrained(str(tmp_path / "nowhere"))


def test_pickled_weights_are_not_read(tiny_model, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_model, folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises((OSError, ConfigError), match="safetensors"):
        TransformersModel.from_pretrained(str(folder))
