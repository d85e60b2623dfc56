"""Estimates of memory and time, compared with known figures."""

from __future__ import annotations

import json

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.estimate import (
    H20,
    H100,
    Memory,
    Shape,
    Stage,
    gpu_hours_of_the_paper,
    hours_of,
    index_gigabytes,
    memory_of,
    shape_of,
)

QWEN = shape_of("Qwen/Qwen2.5-3B-Instruct")


def test_within_a_factor_of_3_of_the_papers_gpu_hours():
    assert 12.1 / 3 < gpu_hours_of_the_paper() < 12.1 * 3


def test_hours_by_hand():
    """100 steps of 512 completions on one card."""
    shape, stage = Shape(1e9, 10, 1000, 4000, 50_000), Stage(6400, 1, 8, 64, 512)
    for card, peak in ((H20, 148e12), (H100, 989e12)):
        training = 8 * 1e9 * 51_200 * 110 / (0.35 * peak)
        prefill = 2 * 1e9 * 6400 * 80 / (0.35 * peak)
        decoding = 100 * 30 * max(2e9 / (0.7 * card.bandwidth), 2e9 * 512 / (0.35 * peak))
        hours = hours_of(shape, stage, 80, 30, card, 1, checkpointing=False)
        assert hours == pytest.approx((training + prefill + decoding) / 3600)


def test_steps_and_completions():
    assert (Stage(1000, 2, 8, 32, 64).optimizer_steps, Stage(1000, 2, 8, 32, 64).completions) == (250, 16_000)
    assert Stage(1000, 2, 8, 32, 64, steps=3).completions == 192


def test_memory_by_hand():
    """16 bytes per parameter: 4 for the weights, 12 for gradients and Adam."""
    shape, stage = Shape(1e9, 10, 1000, 4000, 50_000), Stage(1, 1, 8, 2, 8)

    def model(**settings):
        return memory_of(shape, stage, 100, 10, checkpointing=False, **{"lora_rank": 0, **settings}).model

    assert model() == pytest.approx(16)
    assert model(processes=4, sharding="zero2") == pytest.approx(4 + 12 / 4)
    assert model(processes=4, sharding="fsdp2") == pytest.approx(4)
    assert model(lora_rank=8) == pytest.approx(2 + 16 * 8 * 10 * 23_000 / 1e9)
    plain, saving = (memory_of(shape, stage, 100, 10, lora_rank=0, checkpointing=c).activations for c in (False, True))
    logits = 2 * 10 * 8 * 50_000
    assert plain == pytest.approx((2 * 110 * 34 * 1000 * 10 + logits) / 1e9)
    assert saving == pytest.approx((2 * 110 * (34 * 1000 + 2 * 1000 * 10) + logits) / 1e9)


def test_memory_of_an_index():
    assert index_gigabytes(1_000_000, 768, "Flat") == pytest.approx(3.072)
    assert index_gigabytes(1_000_000, 768, "HNSW64") == pytest.approx(3.072 + 0.55984)
    assert index_gigabytes(1_000_000, 768, "SQ8") == pytest.approx(0.768)  # a byte per dimension
    with pytest.raises(ConfigError):
        index_gigabytes(1_000_000, 768, "Flatt")


def test_faster_and_more_cards_take_less_time():
    stage = Stage(10_000, 1, 8, 64, 512)
    one, eight = (hours_of(QWEN, stage, 100, 28, H20, cards, checkpointing=False) for cards in (1, 8))
    assert hours_of(QWEN, stage, 100, 28, H100, 1, checkpointing=False) < one
    assert one / 8 <= eight < one


def test_the_size_of_a_model_is_read_from_its_folder(tmp_path):
    config = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16, "vocab_size": 100,
              "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert shape_of(str(tmp_path)) == Shape(2 * (2 * 8 * (8 + 4) + 3 * 8 * 16) + 800, 2, 8, 16, 100)
    with pytest.raises(ConfigError, match="unheard/of"):
        shape_of("unheard/of")


def test_the_memory_of_vllm_is_included():
    assert Memory(50, 12).on(H100, 0.2) == 50 + 12 + 0.2 * 80
    assert Memory(50, 12).on(H20, 0.0) == 62
