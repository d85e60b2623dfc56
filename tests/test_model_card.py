"""The model card, with tiny random models."""

import json
import os
import shutil

import pytest
from huggingface_hub import ModelCard
from tiny_policy import adapter_model, full_model

from acqo_rl.errors import HubError
from acqo_rl.hub import export as hub
from acqo_rl.hub.publish import model_card
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.text import one_line
from acqo_rl.types import Document


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return full_model(tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    return adapter_model(tmp_path_factory.mktemp("adapter"))


NASTY = "``` | # <script>\n---\n{{ config }} `x` [a](b)"


@pytest.fixture
def evaluation(adapter, tmp_path):
    folder = tmp_path / "evaluation"
    folder.mkdir()
    summary = {
        "table": "| policy | 0.712 |",
        "settings": {
            "data": f"/home/somebody/{NASTY.replace('/', '')}",
            "split": "test",
            "queries": 50,
            "index fingerprint": {"index": ["f" * 64]},
            "reformulators": {"raw": "", "rules": "", "policy": os.path.relpath(adapter, folder)},
        },
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_card_of_a_run_with_its_evaluation(adapter, evaluation, tmp_path):
    data = tmp_path / "some_data"
    index = tmp_path / "index"
    run = tmp_path / "run"
    build_bm25_index(index, [Document("d", "Peru", "Lima is the capital of Peru.")])
    for folder in (data, run):
        folder.mkdir()
    warm = str(tmp_path / "warm" / "model")
    config = {"data": str(data), "index": str(index), "output_dir": str(run), "model": warm, "split": "train",
              "dev_split": "dev", "learning_rate": 1e-4, "difficulty": None, "note": NASTY}  # fmt: skip
    (run / "config.json").write_text(json.dumps(config))
    (run / "environment.json").write_text(json.dumps({"packages": {"torch": "2.13", "trl": "1.16"}}))

    text = model_card(adapter, "name/model", merged=False, run=run, evaluation=evaluation)
    assert {"peft", "acqo"} <= set(ModelCard(text).data.tags)
    for fact in ("some_data", "train", "dev", "`policy` is this model.\n\n| policy | 0.712 |\n", "f" * 64):
        assert fact in text
    assert "model: warm\n" in text
    assert "torch 2.13, trl 1.16" in text
    assert str(tmp_path) not in text
    assert "somebody" not in text
    assert text.count("\n```") == 6
    assert f"\nnote: '{one_line(NASTY)}'\n" in text
    body = text.split("---\n", 2)[2].replace("note: '``` | # <script>", "")
    assert "\\<script>" in body
    assert "<script>" not in body.replace("\\<", "")


@pytest.mark.parametrize(("base", "removed"), [("embedded:smollm2", False), ("embedded:smollm2-20-layers", True)])
def test_card_of_the_embedded_base_model(adapter, tmp_path, base, removed):
    model = shutil.copytree(adapter, tmp_path / "model")
    config = json.loads((model / "adapter_config.json").read_text())
    (model / "adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": base}))
    text = model_card(model, "name/model")
    card = ModelCard(text)
    assert card.data.base_model == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert card.data.license == "apache-2.0"
    assert "quantised to 4 bits" in text
    assert ("Ten of its 30 layers were removed" in text) == removed


def test_an_evaluation_of_the_export_is_accepted_and_one_of_another_model_is_rejected(
    adapter, full, evaluation, tmp_path
):
    with pytest.raises(HubError, match=f"{full}.* raw, rules, policy"):
        model_card(full, "name/model", evaluation=evaluation)
    with pytest.raises(HubError, match="nowhere"):
        model_card(full, "name/model", evaluation=evaluation / "nowhere")
    hub.export_policy(full, tmp_path / "rules")
    summary = json.loads((evaluation / "summary.json").read_text())
    summary["settings"]["reformulators"]["rules"] = str(tmp_path / "rules")
    (evaluation / "summary.json").write_text(json.dumps(summary))
    assert "`rules` is this model" in model_card(full, "name/model", evaluation=evaluation)
