"""Export and push, with tiny random models."""

import json
import re
import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tiny_policy import adapter_model, byte_tokenizer, full_model

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, GrammarError, HubError
from acqo_rl.hub import export as hub
from acqo_rl.hub import publish
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


@pytest.fixture(scope="module")
def exported(full, tmp_path_factory):
    """An export of the full model; tests that change it take ``copy``."""
    folder = tmp_path_factory.mktemp("exported") / "out"
    hub.export_policy(full, folder)
    return folder


@pytest.fixture
def copy(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "copy")


def completions(folder):
    return [answer.completion for answer in Policy.from_pretrained(str(folder)).reformulate(QUERIES)]


@pytest.mark.parametrize(("kind", "merge"), [("full", True), ("adapter", True), ("adapter", False)])
def test_an_export_gives_the_completions_of_its_source(kind, merge, request, tmp_path):
    source = request.getfixturevalue(kind)
    out = tmp_path / "out"
    assert hub.export_policy(source, out, merge=merge, card="# card\n")
    names = {path.name for path in out.iterdir()}
    assert names >= {"tokenizer.json", "generation_config.json", "acqo.json", "export.json", "README.md"}
    weights = {"model.safetensors" if merge else "adapter_model.safetensors"}
    assert {name for name in names if Path(name).suffix == ".safetensors"} == weights
    assert completions(out) == completions(source)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_merged_weights_are_bfloat16_and_no_path_of_this_machine_is_written(adapter, tmp_path):
    import torch
    from safetensors.torch import load_file

    hub.export_policy(adapter, tmp_path / "out")
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert (generation["max_new_tokens"], generation.get("do_sample", False)) == (TOKENS, False)
    assert generation["eos_token_id"] == [byte_tokenizer().eos_token_id]
    assert str(tmp_path) not in "".join(path.read_text() for path in (tmp_path / "out").glob("*config.json"))


def test_a_repeated_export_updates_the_card_and_another_export_is_rejected(full, adapter, copy):
    card = copy / "README.md"
    before = (copy / "model.safetensors").stat().st_mtime_ns
    assert not hub.export_policy(full, copy, card="second")
    assert (copy / "model.safetensors").stat().st_mtime_ns == before
    assert card.read_text().strip() == "second"
    with pytest.raises(HubError, match=hub.fingerprint(adapter)):
        hub.export_policy(adapter, copy)
    (copy / "export.json").unlink()
    with pytest.raises(HubError):
        hub.export_policy(full, copy)


@pytest.mark.parametrize(("key", "what"), [("grammar_version", "grammar"), ("prompt_version", "prompt")])
def test_another_grammar_or_prompt_version_is_rejected(copy, tmp_path, key, what):
    (copy / "acqo.json").write_text(json.dumps(json.loads((copy / "acqo.json").read_text()) | {key: "0"}))
    for refuse in (
        lambda: hub.export_policy(copy, tmp_path / "out"),
        lambda: publish.push(copy, "name/model"),
        lambda: Policy.from_pretrained(str(copy)),
    ):
        with pytest.raises(GrammarError, match=rf"{what}.* 0"):
            refuse()


@pytest.mark.parametrize("kind", ["full", "adapter"])
def test_pickles_are_never_read(kind, request, tmp_path):
    import torch
    from safetensors.torch import load_file

    model = shutil.copytree(request.getfixturevalue(kind), tmp_path / "model")
    safe = model / ("model.safetensors" if kind == "full" else "adapter_model.safetensors")
    torch.save(load_file(safe), model / ("pytorch_model.bin" if kind == "full" else "adapter_model.bin"))
    safe.unlink()
    with pytest.raises(ConfigError, match="pickle"):
        hub.export_policy(model, tmp_path / "out")
    with pytest.raises(ConfigError, match="pickle"):
        Policy.from_pretrained(str(model))


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
    (model / "evil.py").unlink()
    with pytest.raises(HubError, match="auto_map"):
        hub.check_export(model)
    assert not (tmp_path / "ran").exists()


class ScriptedHub:
    """A stand-in for ``HfApi`` with one repository, whose ``files`` are updated as the Hub does."""

    def __init__(self):
        self.private = True
        self.files = set()
        self.created = None

    def __call__(self, token):
        assert token == "hf_scripted"
        return self

    def create_repo(self, repo_id, **settings):
        self.created = {"repo_id": repo_id, **settings}
        return f"https://huggingface.co/{repo_id}"

    def model_info(self, repo_id):
        return self

    def upload_folder(self, folder_path, allow_patterns, delete_patterns, **_):
        matching = {file for file in self.files if any(fnmatch(file, pattern) for pattern in delete_patterns)}
        given = {path.name for path in folder_path.iterdir() if any(fnmatch(path.name, p) for p in allow_patterns)}
        self.files = (self.files - matching) | given


@pytest.fixture
def scripted_hub(monkeypatch):
    scripted = ScriptedHub()
    monkeypatch.setenv("HF_TOKEN", "hf_scripted")
    monkeypatch.setattr("huggingface_hub.HfApi", scripted)
    return scripted


def test_a_push_is_private_and_replaces_the_earlier_export(exported, scripted_hub):
    """Weights and settings of the earlier export are deleted; other files, such as a licence, are kept."""
    earlier = {"adapter_model.safetensors", "adapter_config.json"}
    scripted_hub.files = {*earlier, "LICENSE", ".gitattributes"}
    assert publish.push(exported, "name/model") == "https://huggingface.co/name/model"
    assert scripted_hub.created == {"repo_id": "name/model", "private": True, "exist_ok": True}
    assert scripted_hub.files == {path.name for path in exported.iterdir()} | {"LICENSE", ".gitattributes"}


def test_a_private_push_to_a_public_repository_is_rejected(exported, scripted_hub):
    scripted_hub.private = False
    with pytest.raises(HubError, match=r"name/model .*--public"):
        publish.push(exported, "name/model")
    assert not scripted_hub.files
    publish.push(exported, "name/model", private=False)
    assert scripted_hub.files


def test_other_files_and_incomplete_exports_are_never_pushed(copy, adapter, tmp_path, scripted_hub):
    for name in ("optimizer.pt", "pytorch_model.bin", "evil.py"):
        (copy / name).write_bytes(b"pickle")
        with pytest.raises(HubError, match=re.escape(name)):
            publish.push(copy, "name/model")
        (copy / name).unlink()
    (copy / "tokenizer_config.json").unlink()
    with pytest.raises(HubError):
        publish.push(copy, "name/model")
    hub.export_policy(adapter, tmp_path / "out", merge=False)
    with pytest.raises(HubError, match="--adapter"):  # its base model is a folder of this machine
        publish.push(tmp_path / "out", "name/model")
    assert scripted_hub.created is None
