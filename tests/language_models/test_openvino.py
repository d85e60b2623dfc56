"""The engine for CPUs: its graphs compute what transformers computes, and are written once."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from tiny_policy import adapter_model, byte_tokenizer, full_model

from acqo_rl.errors import ConfigError
from acqo_rl.language_models import openvino
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.openvino import OpenVinoCausalLM, graph_folder, write_graph

pytest.importorskip("openvino")

CONVERSATIONS = [
    [{"role": "system", "content": "Write."}, {"role": "user", "content": "word " * n}] for n in (1, 30, 4, 12, 1, 7)
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "acqo_rl" / "openvino"


def random_model(kind):
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = byte_tokenizer()
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16 if kind == "qwen3" else 8,
        tie_word_embeddings=kind == "llama",
        initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = AutoModelForCausalLM.from_config(config).float().eval()
    for name, tensor in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(tensor)
    return TransformersModel(model, tokenizer, max_new_tokens=12, batch_size=4)


def on_openvino(model, folder, weights="float32"):
    folder.mkdir()
    write_graph(model, folder, weights)
    return TransformersModel(OpenVinoCausalLM(folder), model.tokenizer, max_new_tokens=12, batch_size=4)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_float32_writes_what_transformers_writes(kind, tmp_path):
    """Grouped heads, biases, norms of heads, tied and separate output weights; rows join and leave the batch."""
    original = random_model(kind)
    expected = original.generate(CONVERSATIONS)
    assert on_openvino(original, tmp_path / "graph").generate(CONVERSATIONS) == expected
    assert len({completion.text for completion in expected}) > 2


def test_float16_weights_of_projections_are_not_copied_to_float32(tmp_path):
    """OpenVINO copies converted constants when it compiles a graph, unless the conversion is marked."""
    import openvino as ov

    folder = tmp_path / "graph"
    on_openvino(random_model("qwen3"), folder, "float16")
    graph = ov.Core().read_model(folder / openvino.GRAPH_FILE)
    kept = {op.get_friendly_name() for op in graph.get_ops() if "decompression_0" in op.get_rt_info()}
    parts = ("self_attn.q", "self_attn.o", "mlp.gate", "mlp.down")  # k and v are stored behind q, and up behind gate
    assert kept == {f"model.layers.{layer}.{part}_proj.weight" for layer in range(2) for part in parts}


@pytest.mark.parametrize(("weights", "most"), [("float16", 0.05), ("int8", 0.15)])
def test_lower_precision_stays_close(weights, most, tmp_path):
    import openvino as ov

    from acqo_rl.language_models.openvino_graph import precision_of

    original = random_model("llama")
    fast = on_openvino(original, tmp_path / "graph", weights)
    assert precision_of(ov.Core().read_model(tmp_path / "graph" / openvino.GRAPH_FILE)) == "bf16"
    ids = torch.tensor([original._ids(CONVERSATIONS[3])])
    with torch.no_grad():
        wanted = original.model(ids).logits[0, -1]
    seen = read(fast.model, ids).logits[0, -1]
    assert 0 < (seen - wanted).std() < most * wanted.std()


def read(model, ids):
    from acqo_rl.language_models.rows import empty_cache

    return model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        position_ids=torch.arange(ids.shape[1])[None],
        past_key_values=empty_cache(model),
    )


def test_memory_does_not_grow_with_the_number_of_lengths(tmp_path):
    import psutil

    model = on_openvino(random_model("llama"), tmp_path / "graph", "float16").model
    read(model, torch.ones(1, 100, dtype=torch.long))
    before = psutil.Process().memory_info().rss
    for length in range(20, 100):
        read(model, torch.ones(1, length, dtype=torch.long))
    assert psutil.Process().memory_info().rss - before < 100e6


def test_a_batch_equals_one_by_one_and_what_was_read_before_changes_nothing(tmp_path):
    model = on_openvino(random_model("llama"), tmp_path / "graph")
    plain = model.generate(CONVERSATIONS)
    fixed = TransformersModel(model.model, model.tokenizer, max_new_tokens=model.max_new_tokens, fixed_weights=True)
    for _ in range(2):
        assert [fixed.generate([c])[0] for c in CONVERSATIONS] == plain


def test_the_graph_of_a_policy_is_written_once_and_again_if_its_adapter_changes(tmp_path, cache):
    name = str(adapter_model(tmp_path))
    first = TransformersModel.from_pretrained(f"openvino:{name}", max_new_tokens=8).generate(CONVERSATIONS)
    [folder] = cache.iterdir()
    written = (folder / "openvino_model.xml").stat().st_mtime_ns
    again = TransformersModel.from_pretrained(f"openvino:{name}", max_new_tokens=8).generate(CONVERSATIONS)
    assert (again, folder) == (first, graph_folder(name, "float16"))
    assert (folder / "openvino_model.xml").stat().st_mtime_ns == written

    shutil.rmtree(tmp_path / "model")
    shutil.rmtree(tmp_path / "base")
    torch.manual_seed(5)
    other = str(adapter_model(tmp_path))
    config = tmp_path / "model" / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "lora_alpha": 64}))
    assert graph_folder(other, "float16") != folder
    assert graph_folder(other, "int8") != graph_folder(other, "float16")
    assert len(list(cache.iterdir())) == 3


def test_a_folder_with_a_graph_is_used_as_it_is(tmp_path, cache):
    folder = full_model(tmp_path)
    write_graph(TransformersModel.from_pretrained(str(folder)), folder, "int8")
    assert graph_folder(str(folder), "int8") == folder
    assert not cache.exists()


def test_other_architectures_are_refused(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = byte_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2)
    with pytest.raises(ConfigError, match="gpt2"):
        write_graph(TransformersModel(GPT2LMHeadModel(config), tokenizer), tmp_path, "int8")


def test_the_package_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    with pytest.raises(ConfigError, match=r"acqo-rl\[openvino\]"):
        TransformersModel.from_pretrained(f"openvino:{full_model(tmp_path)}")


def test_the_engine_is_chosen_for_policies_made_for_it(tmp_path, monkeypatch):
    from acqo_rl.reformulation.load import with_engine_prefix

    monkeypatch.setattr("acqo_rl.language_models.local.default_device", lambda: "cpu")
    folder = full_model(tmp_path)
    assert with_engine_prefix("policy", str(folder), "auto") == str(folder)
    write_graph(TransformersModel.from_pretrained(str(folder)), folder, "int8")
    assert with_engine_prefix("policy", str(folder), "auto") == f"openvino:{folder}"
    assert with_engine_prefix("policy", "trained:demo", "auto") == "openvino:trained:demo"
    assert with_engine_prefix("policy", str(folder), "int8") == f"openvino-int8:{folder}"
    assert with_engine_prefix("policy", "openvino:trained:demo", "int8") == "openvino:trained:demo"
    assert with_engine_prefix("policy", "trained:demo", "transformers") == "trained:demo"
    assert with_engine_prefix("prompted", str(folder), "auto") == str(folder)
    monkeypatch.setattr("acqo_rl.language_models.local.default_device", lambda: "cuda")
    assert with_engine_prefix("policy", "trained:demo", "auto") == "trained:demo"


def test_without_the_package_transformers_is_used_and_the_log_says_so(monkeypatch, caplog):
    monkeypatch.setattr("acqo_rl.language_models.local.default_device", lambda: "cpu")
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    assert openvino.fastest("trained:demo") == "trained:demo"
    [record] = caplog.records
    assert record.levelname == "WARNING"
