"""Calls of several threads that share one running batch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.language_models.decoder import Decoder, Decoding
from acqo_rl.language_models.decoding import complete

END = 3
PROMPTS = [[5, 6, 7, *(4 + (i * j) % 8 for j in range(1, 2 + (i * 5) % 17))] for i in range(1, 25)]


@pytest.fixture
def model():
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=12, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, initializer_range=0.6,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


DECODING = Decoding(ends=[END], pad=0, max_new_tokens=20)


@pytest.mark.parametrize("batch_size", [2, 8, 64])
def test_each_caller_gets_the_completions_of_its_prompts(model, batch_size):
    decoder = Decoder(model, replace(DECODING, batch_size=batch_size))
    alone = [complete(model, [prompt], DECODING)[0] for prompt in PROMPTS]
    ready = Barrier(8)

    def call(number):
        ready.wait(10)
        mine = PROMPTS[3 * number : 3 * number + 3]
        return [decoder.complete(mine) for _ in range(3)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(call, range(8)))
    assert answers == [[alone[3 * number : 3 * number + 3]] * 3 for number in range(8)]
    assert decoder.complete([]) == []


def test_a_prompt_joins_the_batch_of_another_call(model, monkeypatch):
    """The first call waits in its third pass until the second call has added its prompt."""
    rows, added, third_pass = [], Event(), Event()
    forward = model.forward

    def watched(*args, **settings):
        rows.append(settings["input_ids"].shape[0])
        if len(rows) == 3:
            third_pass.set()
            assert added.wait(10)
        return forward(*args, **settings)

    longest = max(PROMPTS, key=lambda p: len(complete(model, [p], DECODING)[0]))
    monkeypatch.setattr(model, "forward", watched)
    decoder = Decoder(model, DECODING)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(decoder.complete, [longest])
        assert third_pass.wait(10)
        second = threads.submit(decoder.complete, [longest[:-1]])
        while not decoder._waiting:
            pass
        added.set()
        first.result(10), second.result(10)
    assert max(rows) == 2


def test_an_error_ends_the_calls_that_share_the_batch_and_no_later_one(model, monkeypatch):
    decoder = Decoder(model, DECODING)
    expected = decoder.complete(PROMPTS)
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *_, **__: 1 / 0)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(decoder.complete, PROMPTS[:3]) for _ in range(4)]
    assert [type(call.exception()) for call in calls] == [ZeroDivisionError] * 4
    monkeypatch.setattr(model, "forward", forward)
    assert decoder.complete(PROMPTS) == expected
