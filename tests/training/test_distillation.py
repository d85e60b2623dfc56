"""Distillation of a policy into a copy with fewer layers."""

from __future__ import annotations

import json

import pytest
import torch
from tiny_policy import byte_tokenizer, random_llama, save_policy

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.training.distillation import (
    Written,
    batch_of,
    distill,
    distillation_arguments,
    divergence,
    needed_layers,
    read,
    state_distance,
    write_completions,
)
from acqo_rl.training.materials import open_materials
from acqo_rl.training.run_folder import read_rows

SETTINGS = PolicySettings(max_new_tokens=8)
ROWS = [Written([5, 6, 7], [8, 2]), Written([5, 9], [6, 7, 2]), Written([4, 4, 4, 4], [3])]
TEXTS = [Written([5, 6, 7, n], [n + 1, n + 2, 2]) for n in range(10, 26)]


def llama(seed=0):
    return random_llama(seed, layers=4).float().eval()


@pytest.fixture
def policy():
    return TransformersModel(llama(), byte_tokenizer(), max_new_tokens=8)


@pytest.fixture
def folder(tmp_path):
    """Folder of a policy with four layers."""
    return save_policy(llama(), tmp_path / "policy", {"max_new_tokens": 8, "feedback_results": 1})


def copy_of(policy, folder, lora_rank=4, kept=(0, 3), **given):
    given = {"learning_rate": 3e-3, "gradient_accumulation_steps": 1, **given}
    arguments = distillation_arguments(given, folder, seed=0)
    return distill(policy, SETTINGS, TEXTS, arguments, kept=kept, lora_rank=lora_rank)


def test_only_the_tokens_of_the_completion_are_judged():
    batch = batch_of([ROWS[0], Written([5] * 6, [2])], pad=0)
    assert batch.input_ids[0].tolist() == [0, 0, 5, 6, 7, 8, 2]
    assert batch.attention_mask[0].tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert batch.position_ids[0].tolist() == [0, 0, 0, 1, 2, 3, 4]
    assert batch_of(ROWS, pad=0).judged.int().tolist() == [[0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0]]


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
    assert [f(one, one, batch).item() for f in (divergence, state_distance)] == pytest.approx([0, 0], abs=1e-6)


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
    tokenizer = policy.chat.tokenizer
    whole = write_completions(policy, conversations, tmp_path / "whole.jsonl")
    prompts = [tokenizer.apply_chat_template(c, tokenize=False, add_generation_prompt=True) for c in conversations]
    assert [tokenizer.decode(one.prompt) for one in whole] == prompts
    assert all(len(one.completion) == 8 or one.completion[-1] in policy.chat.ends for one in whole)
    marked = json.dumps({"prompt": [7], "completion": [2]}) + "\n"
    (tmp_path / "part.jsonl").write_text(marked)
    resumed = write_completions(policy, conversations, tmp_path / "part.jsonl")
    assert resumed == [Written([7], [2]), *whole[1:]] == read_rows(Written, tmp_path / "part.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("lora_rank", [0, 8])
def test_the_copy_learns_to_write_what_the_policy_writes(policy, tmp_path, lora_rank):
    whole = batch_of(TEXTS, pad=0)
    losses = []
    for epochs in (0.5, 40):
        model = copy_of(policy, tmp_path / str(epochs), lora_rank, (0, 1, 3), num_train_epochs=epochs)
        copied = TransformersModel.from_pretrained(str(model)).model
        assert copied.config.num_hidden_layers == 3
        losses.append(divergence(read(policy.model, whole), read(copied, whole), whole).item())
    assert losses[1] < losses[0] / 2
    assert Policy.from_pretrained(model).settings == SETTINGS


def parsed(script, **given):
    return command.parse(script.main, [text for name, value in given.items() for text in (f"--{name}", str(value))])


@pytest.mark.slow
def test_the_command_reads_several_results_and_resumes(data, index, folder, tmp_path, capsys):
    script = module_of("distill")
    one_epoch = {"trainer.num_train_epochs": 1}
    config = parsed(
        script, model=folder, data=data, index=index, output_dir=tmp_path / "out", layers=2, results=3, **one_epoch
    )
    settings = PolicySettings(feedback_results=1)
    materials = open_materials(config, settings.feedback)
    queries = script.variants(config, settings, materials)
    assert [q.id for q in queries] == [q.id for q in materials.train] * 3
    assert queries[: len(materials.train)] == materials.train
    assert len({q.feedback for q in queries if q.id == materials.train[0].id}) == 3

    script.main(config)
    assert len(read_rows(Written, tmp_path / "out" / "completions.jsonl")) == len(queries)
    assert len(json.loads((tmp_path / "out" / "layers.json").read_text())) == 2
    assert Policy.from_pretrained(tmp_path / "out" / "model").model.model.config.num_hidden_layers == 2
    script.main(config)
    assert "is finished" in capsys.readouterr().out


@pytest.mark.parametrize("layers", [4, 9])
def test_a_copy_must_have_fewer_layers(folder, tmp_path, layers):
    script = module_of("distill")
    config = parsed(script, data="none", index="none", model=folder, output_dir=tmp_path / "out", layers=layers)
    with pytest.raises(ConfigError, match=f"{layers}.*has 4"):
        script.main(config)
    assert not (tmp_path / "out").exists()
    assert script.number_of_layers(parsed(script, data="", index="", model="", output_dir=""), 30) == 20
