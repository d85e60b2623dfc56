"""From a log without labels to a trained policy: a model judges once, and training reads its judgements as labels."""

from __future__ import annotations

import json
import os
import re

import pytest
from forked import run_command

from acqo_rl.cli import main
from acqo_rl.data.beir import read_beir, write_beir
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Document, Query

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
TRAINER = {"max_steps": 2, "per_device_train_batch_size": 4, "num_generations": 4, "temperature": 1.0, "top_p": 1.0}

pytestmark = pytest.mark.slow


class Judge(LanguageModel):
    """A passage is relevant if it has the number of the question."""

    def generate(self, conversations, schema=None):
        asked = [conversation[-1]["content"].partition("Passage:") for conversation in conversations]
        numbers = [re.search(r"\d+", query)[0] for query, _, _ in asked]
        return [Completion(str(3 * (n in passage)), 3) for n, (_, _, passage) in zip(numbers, asked, strict=True)]


def run(name, **settings):
    return run_command(name, *(t for key, value in settings.items() for t in (f"--{key}", str(value))), env=ENVIRONMENT)


def test_a_policy_is_trained_on_a_log_without_labels(tmp_path, passing, monkeypatch):
    monkeypatch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: Judge())
    documents = [Document(f"d{i}", f"Mill {100 + i}", f"The mill {100 + i} is on a dyke") for i in range(40)]
    write_beir(tmp_path / "log", documents, [Query(f"q{i}", f"where is the mill {100 + i}") for i in range(40)], {})
    log, index, judged = (str(tmp_path / name) for name in ("log", "index", "judged"))
    main(["index", "--data", log, "--kind", "bm25", "--output", index])
    places = ["--data", log, "--index", index, "--output", judged]
    main(["label", "--task", "judgements", "--model", "openai:judge@http://x/v1", "--depth", "3", *places])

    given = {"data": judged, "index": index, "model": passing, "prompt.max_new_tokens": 4}
    run("warm-start", **given, limit=8, examples=4, epochs=1, output_dir=tmp_path / "warm")
    trainer = {f"trainer.{name}": value for name, value in TRAINER.items()}
    run("grpo", **given, **trainer, lora_rank=0, alarm_patience=0, eval_limit=2, output_dir=tmp_path / "grpo")

    train = read_beir(judged, "train").qrels["train"]
    assert all(found[query_id.replace("q", "d")] == 2 for query_id, found in train.items())
    targets = [json.loads(line) for line in (tmp_path / "warm" / "scored.jsonl").read_text().splitlines()]
    assert {row["query_id"] for row in targets} <= set(train)
    rewards = [row["reward"] for row in json.loads((tmp_path / "grpo" / "log.json").read_text()) if "reward" in row]
    assert len(rewards) >= 1
    assert (tmp_path / "grpo" / "model" / "model.safetensors").stat().st_size > 0
