"""The training stages on a hybrid index, with feedback."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus
from acqo_rl.retrieval import (
    SentenceTransformerEncoder,
    build_bm25_index,
    build_dense_index,
    build_hybrid_index,
)
from acqo_rl.training.materials import open_materials
from acqo_rl.training.settings import PathSettings, PromptSettings, RewardSettings, policy_settings
from acqo_rl.types import FeedbackSpec

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hybrid(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hybrid") / "index"
    documents = list(read_corpus(data).values())
    encoder = SentenceTransformerEncoder("embedded:minilm")
    build_hybrid_index(
        folder,
        {
            "dense": lambda part: build_dense_index(part, documents, encoder),
            "bm25": lambda part: build_bm25_index(part, documents),
        },
    )
    return folder


def run(script, settings):
    """Runs a command in this process."""
    module = module_of(script)
    words = [str(word) for key, value in settings.items() for word in (f"--{key}", value)]
    module.main(command.parse(module.main, words))


@pytest.fixture
def shared(data, hybrid, passing):
    return {"data": data, "index": f"{hybrid}/dense+{hybrid}/bm25", "model": passing}


def test_grpo(shared, tmp_path):
    """``raw_query_margin`` is ignored, because fused scores are not comparable."""
    run("grpo", {**shared, "stage": "converge", "trainer.max_steps": 2, "trainer.per_device_train_batch_size": 8,
        "trainer.num_generations": 4, "lora_rank": 0, "trainer.learning_rate": 1e-3, "trainer.eval_steps": 2,
        "prompt.max_new_tokens": 4, "trainer.temperature": 1.0, "trainer.top_p": 1.0,
        "prompt.feedback_results": 1, "prompt.raw_query_margin": 0.05, "alarm_patience": 0,
        "output_dir": tmp_path / "run"})  # fmt: skip
    log = json.loads((tmp_path / "run" / "log.json").read_text())
    assert [entry["step"] for entry in log if "reward" in entry] == [1, 2]
    assert any(entry["reward_std"] > 0 for entry in log if "reward" in entry)
    measured = [entry for entry in log if "eval_nDCG@10" in entry]
    assert 0 < measured[0]["eval_nDCG@10"] <= 1
    assert measured[0]["eval_searches"] == 1


def test_raw_query_margin_does_not_change_rewards_on_a_hybrid_index(shared):
    """Fused scores are not cosines, so margins between them have no meaning."""
    materials = open_materials(PathSettings(**{k: str(v) for k, v in shared.items()}, output_dir="run"), FeedbackSpec())
    asked = {
        "prompts": ["", ""],
        "completions": ["resolve\ncurrency of Chad", "split\ncapital of Peru\ncurrency of Chad"],
        "query": ["capital of Peru", "capital of Peru and currency of Chad"],
        "gold": [["Peru-capital"], ["Peru-capital", "Chad-money"]],
    }
    for stage in ("explore", "converge"):
        settings = policy_settings(PromptSettings(), "none")
        without, with_margin = (
            materials.reward(stage, RewardSettings(), replace(settings, raw_query_margin=margin))(**asked)
            for margin in (None, -10.0)
        )
        assert without == with_margin
        assert without[1] > without[0] > 0
