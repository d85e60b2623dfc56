"""Export and push, with tiny random models."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tiny_policy import adapter_model, byte_tokenizer, full_model

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, GrammarError, HubError
from acqo_rl.hub import export as hub
from acqo_rl.reformulation.policy import Policy
from acqo_rl.types import Query

QUERIES = [
    Query("a", "capital of Peru"),
    Query("b", "And its population?", history=read_history(("U: What is the capital of Chad?", "S: N'Djamena."))),
    Query("c", "Compare Oslo and Bergen"),
]
TOKENS = 12


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return full_model(tmp_path_factory.mktemp("full"), max_new_tokens=TOKENS)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    return adapter_model(tmp_path_factory.mktemp("adapter"), max_new_tokens=TOKENS)


def completions(folder):
    return [answer.completion for answer in Policy.from_pretrained(str(folder)).reformulate(QUERIES)]


@pytest.mark.parametrize(("kind", "merge"), [("full", True), ("adapter", True), ("adapter", False)])
def test_an_export_gives_the_completions_of_its_source(kind, merge, request, tmp_path):
    source = request.getfixturevalue(kind)
    assert hub.export_policy(source, tmp_path / "out", merge=merge, card="# card\n")
    exported = {path.name for path in (tmp_path / "out").iterdir()}
    assert exported >= {"tokenizer.json", "generation_config.json", "acqo.json", "export.json", "README.md"}
    assert ("model.safetensors" in exported) == merge
    assert ("adapter_model.safetensors" in exported) != merge
    assert {Path(name).suffix for name in exported} <= {".safetensors", ".json", ".md", ".jinja"}
    assert completions(tmp_path / "out") == completions(source)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_adapter_changes_the_completions(adapter, tmp_path):
    base = json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"]
    shutil.copytree(adapter, tmp_path / "base", ignore=shutil.ignore_patterns("adapter_*"))
    shutil.copytree(base, tmp_path / "base", dirs_exist_ok=True)
    assert completions(tmp_path / "base") != completions(adapter)


def test_merged_weights_are_bfloat16_and_generation_is_greedy(adapter, tmp_path):
    import torch
    from safetensors.torch import load_file

    hub.export_policy(adapter, tmp_path / "out")
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    assert not any("lora" in name for name in weights)
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["max_new_tokens"] == TOKENS
    tokenizer = byte_tokenizer()
    assert generation["eos_token_id"] == [tokenizer.eos_token_id]
    assert generation["pad_token_id"] == tokenizer.pad_token_id
    assert not generation.get("do_sample")
    written = "".join(path.read_text() for path in (tmp_path / "out").glob("*config.json"))
    assert str(tmp_path) not in written
    assert "lora" not in written.lower()


def test_a_repeated_export_updates_the_card_and_another_export_is_rejected(full, adapter, tmp_path):
    out = tmp_path / "out"
    assert hub.export_policy(full, out, card="first")
    before = (out / "model.safetensors").stat().st_mtime_ns
    assert not hub.export_policy(full, out, card="second")
    assert (out / "model.safetensors").stat().st_mtime_ns == before
    assert (out / "README.md").read_text() == "second"
    (out / "README.md").write_text("edited")
    assert not hub.export_policy(full, out, card="third")
    assert (out / "README.md").read_text() == "edited"
    with pytest.raises(HubError, match=hub.fingerprint(adapter)):
        hub.export_policy(adapter, out)
    (out / "export.json").unlink()
    with pytest.raises(HubError):
        hub.export_policy(full, out)


def test_an_interrupted_export_leaves_nothing(full, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "check_export", interrupt)
    with pytest.raises(KeyboardInterrupt):
        hub.export_policy(full, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("key", "what"), [("grammar_version", "grammar"), ("prompt_version", "prompt")])
def test_another_grammar_or_prompt_version_is_rejected(full, tmp_path, key, what):
    model = shutil.copytree(full, tmp_path / "model")
    settings = json.loads((model / "acqo.json").read_text())
    (model / "acqo.json").write_text(json.dumps(settings | {key: "0"}))
    for refuse in (
        lambda: hub.export_policy(model, tmp_path / "out"),
        lambda: hub.check_export(model),
        lambda: hub.push(model, "name/model"),
        lambda: Policy.from_pretrained(str(model)),
    ):
        with pytest.raises(GrammarError, match=rf"{what}.* 0"):
            refuse()


def test_pickles_are_never_read(full, adapter, tmp_path):
    import torch
    from safetensors.torch import load_file

    for source, safe, pickled in (
        (full, "model.safetensors", "pytorch_model.bin"),
        (adapter, "adapter_model.safetensors", "adapter_model.bin"),
    ):
        model = shutil.copytree(source, tmp_path / source.parent.name / "model")
        torch.save(load_file(model / safe), model / pickled)
        (model / safe).unlink()
        with pytest.raises(ConfigError, match="pickle"):
            hub.export_policy(model, tmp_path / "out")
        with pytest.raises(ConfigError, match="pickle"):
            Policy.from_pretrained(str(model))
        (model / pickled).rename(model / "weights.json")
        (model / "weights.json").write_text("{}")
        with pytest.raises(HubError, match="safetensors"):
            hub.check_export(model)


@pytest.mark.parametrize("model_type", ["llama", "unheard_of"])
def test_custom_code_of_a_model_is_never_run(full, tmp_path, model_type, monkeypatch):
    model = shutil.copytree(full, tmp_path / "model")
    (model / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: ...\nclass Model: ...\n")
    config = json.loads((model / "config.json").read_text()) | {
        "model_type": model_type,
        "auto_map": {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"},
    }
    (model / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    if model_type == "llama":
        assert completions(model) == completions(full)
    else:
        with pytest.raises(ConfigError):
            Policy.from_pretrained(str(model))
    with pytest.raises((HubError, ConfigError)):
        hub.export_policy(model, tmp_path / "out")
    with pytest.raises(HubError, match=r"evil\.py|auto_map"):
        hub.check_export(model)
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_a_policy_is_rejected(full, tmp_path):
    with pytest.raises(HubError, match=r"acqo\.json"):
        hub.export_policy(tmp_path, tmp_path / "out")
    with pytest.raises(HubError, match="--adapter"):
        hub.export_policy(full, tmp_path / "out", merge=False)
    model = shutil.copytree(full, tmp_path / "model")
    (model / "training_args.bin").write_bytes(b"pickle")
    with pytest.raises(HubError, match=r"training_args\.bin"):
        hub.check_export(model)


@pytest.mark.parametrize("name", ["./modle", "/no/such/model", "~/model", "runs/acqo/model", "tests/modle"])
def test_a_mistyped_folder_is_rejected_without_calling_the_hub(name, monkeypatch):
    from acqo_rl.language_models.local import TransformersModel

    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.setattr("transformers.utils.cached_file", interrupt)
    with pytest.raises(GrammarError, match=re.escape(name)):
        Policy.from_pretrained(name)
    with pytest.raises(ConfigError, match=re.escape(name)):
        TransformersModel.from_pretrained(name)


class ScriptedHub:
    """A stand-in for ``HfApi`` that records calls."""

    private = True
    calls: dict[str, dict]

    def __init__(self, token):
        assert token == "hf_scripted"

    def create_repo(self, repo_id, **settings):
        self.calls["create_repo"] = {"repo_id": repo_id, **settings}
        return f"https://huggingface.co/{repo_id}"

    def model_info(self, repo_id):
        return self

    def upload_folder(self, **settings):
        self.calls["upload_folder"] = settings


@pytest.fixture
def scripted_hub(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_scripted")
    monkeypatch.setattr("huggingface_hub.HfApi", ScriptedHub)
    monkeypatch.setattr(ScriptedHub, "calls", {}, raising=False)
    monkeypatch.setattr(ScriptedHub, "private", True)
    return ScriptedHub


def test_push_is_private_and_uploads_only_files_of_an_export(full, tmp_path, scripted_hub):
    hub.export_policy(full, tmp_path / "out")
    assert hub.push(tmp_path / "out", "name/model") == "https://huggingface.co/name/model"
    assert scripted_hub.calls["create_repo"] == {"repo_id": "name/model", "private": True, "exist_ok": True}
    upload = scripted_hub.calls["upload_folder"]
    assert upload["folder_path"] == tmp_path / "out"
    assert set(upload["allow_patterns"]) == {
        "*.safetensors", "*.gguf", "*.json", "*.txt", "*.md", "*.jinja"}  # fmt: skip


def test_a_private_push_to_a_public_repository_is_rejected(full, tmp_path, scripted_hub, monkeypatch):
    monkeypatch.setattr(scripted_hub, "private", False)
    hub.export_policy(full, tmp_path / "out")
    with pytest.raises(HubError, match=r"name/model .*--public"):
        hub.push(tmp_path / "out", "name/model")
    assert "upload_folder" not in scripted_hub.calls
    hub.push(tmp_path / "out", "name/model", private=False)
    assert "upload_folder" in scripted_hub.calls


def test_a_pickle_in_the_folder_is_never_pushed(full, tmp_path, scripted_hub):
    hub.export_policy(full, tmp_path / "out")
    (tmp_path / "out" / "optimizer.pt").write_bytes(b"pickle")
    with pytest.raises(HubError, match=r"optimizer\.pt"):
        hub.push(tmp_path / "out", "name/model")
    assert scripted_hub.calls == {}


def test_an_adapter_on_a_local_base_is_not_pushed(adapter, tmp_path, scripted_hub):
    hub.export_policy(adapter, tmp_path / "out", merge=False)
    with pytest.raises(HubError, match="--adapter"):
        hub.push(tmp_path / "out", "name/model")
    assert scripted_hub.calls == {}


def test_push_without_token_or_network(full, tmp_path, monkeypatch):
    hub.export_policy(full, tmp_path / "out")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(HubError, match="hf auth login"):
        hub.push(tmp_path / "out", "name/model")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_none")
    with pytest.raises(HubError):
        hub.push(tmp_path / "out", "name/model")


@pytest.mark.parametrize("repo_id", ["model", "a/b/c", "na me/model", "name/--model", "name/", ""])
def test_invalid_repository_names_are_rejected(repo_id):
    with pytest.raises(HubError, match="repository"):
        hub.check_repo_id(repo_id)
    hub.check_repo_id("name/acqo-demo_1.0")


@pytest.mark.parametrize("merge", [True, False])
def test_an_export_for_openvino_also_has_the_merged_model(merge, adapter, tmp_path):
    out = tmp_path / "out"
    hub.export_policy(adapter, out, merge=merge, openvino=True)
    assert json.loads((out / "export.json").read_text())["form"] == f"{'merged' if merge else 'adapter'} and OpenVINO"
    assert (out / "model.gguf").read_bytes().startswith(b"GGUF")
    assert completions(out) == completions(adapter)


def test_other_binary_files_stay_forbidden(full, tmp_path):
    hub.export_policy(full, tmp_path / "out")
    (tmp_path / "out" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(HubError, match=r"pytorch_model\.bin"):
        hub.check_export(tmp_path / "out")
