"""Distillation of a policy into a copy with fewer layers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import torch
from tiny_policy import byte_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.training.distillation import (
    Written,
    batch_of,
    distill,
    divergence,
    needed_layers,
    read,
    state_distance,
    write_completions,
)
from acqo_rl.training.materials import open_materials
from acqo_rl.training.run_folder import read_rows
from acqo_rl.training.settings import FineTuning

SETTINGS = PolicySettings(max_new_tokens=8)
ROWS = [Written([5, 6, 7], [8, 2]), Written([5, 9], [6, 7, 2]), Written([4, 4, 4, 4], [3])]


def llama(seed=0):
    torch.manual_seed(seed)
    tokenizer = byte_tokenizer()
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=4, num_attention_heads=2,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    ).eval()  # fmt: skip


@pytest.fixture
def policy():
    return TransformersModel(llama(), byte_tokenizer(), max_new_tokens=8)


@pytest.fixture
def folder(tmp_path):
    """Folder of a policy with four layers."""
    model = tmp_path / "policy"
    llama().save_pretrained(model)
    byte_tokenizer().save_pretrained(model)
    PolicySettings(max_new_tokens=8, feedback_results=1).save(model)
    return model


def test_only_the_tokens_of_the_completion_are_judged():
    batch = batch_of(ROWS, pad=0)
    assert batch.input_ids.tolist() == [[5, 6, 7, 8, 2], [5, 9, 6, 7, 2], [4, 4, 4, 4, 3]]
    assert batch.judged.tolist() == [[False, True, True, False], [True, True, True, False], [False, False, True, False]]
    padded = batch_of([ROWS[0], Written([5] * 6, [2])], pad=0)
    assert padded.input_ids[0].tolist() == [0, 0, 5, 6, 7, 8, 2]
    assert padded.attention_mask[0].tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert padded.position_ids[0].tolist() == [0, 0, 0, 1, 2, 3, 4]


def test_the_divergence_is_that_of_the_single_texts():
    policy, student = llama(), llama(1)
    wanted = 0.0
    with torch.no_grad():
        for row in ROWS:
            ids = torch.tensor([row.prompt + row.completion])
            p, q = (m(ids).logits[0, len(row.prompt) - 1 : -1].log_softmax(-1) for m in (policy, student))
            wanted += float((p.exp() * (p - q)).sum())
    batch = batch_of(ROWS, pad=0)
    one, other = read(policy, batch), read(student, batch)
    assert divergence(one, other, batch).item() == pytest.approx(wanted / 6, rel=1e-4)
    assert state_distance(one, other, batch).item() > 0.1
    same = read(llama(), batch)
    assert [f(one, same, batch).item() for f in (divergence, state_distance)] == pytest.approx([0, 0], abs=1e-6)


def test_the_layers_that_change_least_are_removed():
    policy = llama()
    for layer in (0, 2):
        policy.model.layers[layer].self_attn.o_proj.weight.data.zero_()
        policy.model.layers[layer].mlp.down_proj.weight.data.zero_()
    before = policy(torch.tensor([[5, 6, 7]])).logits
    assert needed_layers(policy, ROWS, 2, pad=0) == [1, 3]
    assert torch.equal(policy(torch.tensor([[5, 6, 7]])).logits, before)
    assert policy.config.num_hidden_layers == 4


def test_completions_are_not_written_twice(policy, tmp_path, monkeypatch):
    monkeypatch.setattr("acqo_rl.training.distillation._CHUNK", 2)
    conversations = [[{"role": "user", "content": text}] for text in ("one", "two", "three", "four", "five")]
    whole = write_completions(policy, conversations, tmp_path / "whole.jsonl")
    assert [policy.chat.tokenizer.decode(one.prompt) for one in whole] == [
        policy.chat.tokenizer.apply_chat_template(c, tokenize=False, add_generation_prompt=True) for c in conversations
    ]
    assert all(len(one.completion) == 8 or one.completion[-1] in policy.chat.ends for one in whole)
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    marked = json.dumps({"prompt": [7], "completion": [2]}) + "\n"
    (tmp_path / "part.jsonl").write_text(marked + lines[1])
    resumed = write_completions(policy, conversations, tmp_path / "part.jsonl")
    assert resumed == [Written([7], [2]), *whole[1:]] == read_rows(Written, tmp_path / "part.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("lora_rank", [0, 8])
def test_the_copy_learns_to_write_what_the_policy_writes(policy, tmp_path, lora_rank):
    texts = [Written([5, 6, 7, n], [n + 1, n + 2, 2]) for n in range(10, 26)]
    whole = batch_of(texts, pad=0)
    tuning = FineTuning(lora_rank=lora_rank, learning_rate=3e-3, batch_size=8, save_steps=10)
    losses = []
    for epochs in (0.5, 40):
        options = {"kept": [0, 1, 3], "tuning": replace(tuning, epochs=epochs), "seed": 0}
        model = distill(policy, SETTINGS, texts, tmp_path / str(epochs), **options)
        copied = TransformersModel.from_pretrained(str(model)).model
        assert copied.config.num_hidden_layers == 3
        losses.append(divergence(read(policy.model, whole), read(copied, whole), whole).item())
    assert losses[1] < losses[0] / 2
    assert Policy.from_pretrained(model).settings == SETTINGS


@pytest.mark.slow
def test_an_interrupted_run_continues(policy, tmp_path):
    texts = [Written([5, 6, 7, n], [n + 1, n + 2, 2]) for n in range(10, 26)]
    tuning = FineTuning(lora_rank=4, learning_rate=3e-3, batch_size=8, micro_batch_size=8, save_steps=3, epochs=4)
    options = {"kept": [0, 3], "tuning": tuning, "seed": 0}
    whole = distill(policy, SETTINGS, texts, tmp_path / "whole", **options)
    (tmp_path / "cut").mkdir()
    shutil.copytree(tmp_path / "whole" / "checkpoint-6", tmp_path / "cut" / "checkpoint-6")
    resumed = distill(policy, SETTINGS, texts, tmp_path / "cut", **options)
    one, other = (TransformersModel.from_pretrained(str(m)).model.state_dict() for m in (whole, resumed))
    assert all(torch.equal(one[name], other[name]) for name in one)
    steps = [entry["step"] for entry in json.loads((tmp_path / "cut" / "log.json").read_text()) if "loss" in entry]
    assert steps == [5]


@pytest.mark.slow
def test_the_command_reads_several_results_and_resumes(data, index, folder, tmp_path, capsys):
    script = module_of("distill")
    given = {
        "model": folder, "data": data, "index": index, "output_dir": tmp_path / "out", "layers": 2, "results": 3,
        "epochs": 1, "batch_size": 4, "micro_batch_size": 2,
    }  # fmt: skip
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    config = command.parse(script.main, arguments)
    materials = open_materials(config, PolicySettings(feedback_results=1).feedback)
    queries = script.variants(config, Policy.from_pretrained(folder).settings, materials)
    assert [q.id for q in queries] == [q.id for q in materials.train] * 3
    assert queries[: len(materials.train)] == materials.train
    first = materials.train[0].id
    assert len({q.feedback for q in queries if q.id == first}) == 3

    script.main(config)
    assert len(read_rows(Written, tmp_path / "out" / "completions.jsonl")) == len(queries)
    assert len(json.loads((tmp_path / "out" / "layers.json").read_text())) == 2
    assert Policy.from_pretrained(tmp_path / "out" / "model").model.model.config.num_hidden_layers == 2
    assert "with the copy" in capsys.readouterr().out
    script.main(config)
    assert "is finished" in capsys.readouterr().out


@pytest.mark.parametrize("layers", [4, 9])
def test_a_copy_must_have_fewer_layers(folder, tmp_path, layers):
    script = module_of("distill")
    config = script.DistillConfig(
        data="none", index="none", model=str(folder), output_dir=str(tmp_path / "out"), layers=layers
    )
    with pytest.raises(ConfigError, match=f"{layers}.*has 4"):
        script.main(config)
    assert not (tmp_path / "out").exists()
    assert script.number_of_layers(script.DistillConfig(data="", index="", model="", output_dir=""), 30) == 20
