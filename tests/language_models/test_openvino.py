"""The engine for CPUs writes what transformers writes; its files are written once."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from tiny_policy import CHAT_TEMPLATE, adapter_model, byte_tokenizer

from acqo_rl.errors import ConfigError
from acqo_rl.language_models import openvino
from acqo_rl.language_models.chat import Chat, StoredChat
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.openvino import OpenVinoModel, files_of, write_graph
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.reformulation.policy import Policy
from acqo_rl.time_limit import TimeLimit, limited

pytest.importorskip("openvino_genai")

CONVERSATIONS = [
    [{"role": "system", "content": "Write."}, {"role": "user", "content": "word " * n}] for n in (1, 30, 4, 12, 1, 7)
]


EXACT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "acqo_rl" / "openvino"


def random_model(kind="llama"):
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = byte_tokenizer().train_new_from_iterator(["a word of words"], 300)  # the engine needs merges
    tokenizer.chat_template = CHAT_TEMPLATE
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


def on_openvino(model, folder, **settings):
    """The same model on OpenVINO."""
    write_graph(model.model, model.chat, folder)
    return OpenVinoModel(folder, StoredChat(folder), **{"max_new_tokens": 12, **settings})


def rounded(model):
    """The model with its weights as they are stored."""
    import gguf

    form = gguf.GGMLQuantizationType.Q8_0
    for name, tensor in model.model.named_parameters():
        if name.endswith("_proj.weight"):
            stored = gguf.quants.quantize(tensor.detach().numpy(), form)
            tensor.data = torch.from_numpy(gguf.quants.dequantize(stored, form))
        elif tensor.ndim == 2:
            tensor.data = tensor.data.half().float()
    return model


def test_a_call_whose_time_is_over_leaves_the_batch_to_others(tmp_path):
    model = on_openvino(random_model(), tmp_path, max_new_tokens=1_000)
    with ThreadPoolExecutor(1) as pool, limited(TimeLimit(0.05)):
        other = pool.submit(model.generate, CONVERSATIONS[:1])
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            model.generate(CONVERSATIONS)
        assert time.monotonic() - begin < 2
        assert other.result(60)[0].tokens


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_openvino_writes_what_transformers_writes(kind, tmp_path, monkeypatch):
    """Grouped heads, biases, norms of heads, tied and separate output weights, computed in float32."""
    original = rounded(random_model(kind))
    expected = original.generate(CONVERSATIONS)
    monkeypatch.setattr(openvino, "COMPUTED_IN", EXACT)
    assert on_openvino(original, tmp_path).generate(CONVERSATIONS) == expected
    assert len({completion.text for completion in expected}) > 2


def test_concurrent_calls_get_their_own_completions(tmp_path):
    model = on_openvino(random_model(), tmp_path, batch_size=4)
    alone = [model.generate([conversation])[0] for conversation in CONVERSATIONS]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(lambda c: model.generate([c])[0], CONVERSATIONS)) == alone


def test_completions_match_the_expression(tmp_path):
    """A random model would write anything."""
    model = on_openvino(random_model(), tmp_path, regex=Grammar(2).ascii_regex)
    tags = ("pass", "resolve", "split")
    assert all(any(tag.startswith(c.text.split("\n")[0]) for tag in tags) for c in model.generate(CONVERSATIONS))


def test_a_policy_is_converted_again_if_a_file_changes_and_older_files_are_removed(
    tokenizer, tmp_path, cache, monkeypatch
):
    """The conversion is a stand-in."""
    monkeypatch.setattr(TransformersModel, "from_pretrained", lambda name: SimpleNamespace(model=None, chat=None))
    monkeypatch.setattr(openvino, "write_graph", lambda model, chat, folder: (folder / "graph").touch())
    name = str(adapter_model(tmp_path, tokenizer))
    for old in ("0123456789abcdef/model.gguf", "minilm-1/encoder.xml"):
        (cache / old).parent.mkdir(parents=True)
        (cache / old).touch()
    seen = [files_of(name)]
    written = seen[0].stat().st_mtime_ns
    assert files_of(name).stat().st_mtime_ns == written
    shard = tmp_path / "base" / "shards" / "1.safetensors"
    shard.parent.mkdir()
    shard.touch()
    files = [path for folder in ("model", "base") for path in (tmp_path / folder).rglob("*.*")]
    assert {"chat_template.jinja", "tokenizer.json", "generation_config.json"} <= {path.name for path in files}
    for file in files:
        file.write_bytes(file.read_bytes() + b" ")
        seen.append(files_of(name))
    assert len(set(seen)) == len(files) + 1
    assert {path.name for path in cache.iterdir()} == {"minilm-1", seen[-1].name}


def test_openvino_reports_nothing_to_its_makers():
    code = """
from acqo_rl.language_models.openvino import import_openvino
print(import_openvino().tools.ovc.telemetry_utils.tm.__name__)
import openvino_telemetry
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["openvino.tools.ovc.telemetry_stub"]


def test_other_architectures_are_refused(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = byte_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2)
    with pytest.raises(ConfigError, match="gpt2"):
        write_graph(GPT2LMHeadModel(config), Chat(tokenizer), tmp_path)


def test_the_engine_is_chosen_for_the_policies_of_the_package_on_a_cpu(monkeypatch, caplog):
    monkeypatch.setattr("acqo_rl.language_models.openvino.default_device", lambda: "cpu")
    assert openvino.fastest("trained:demo") == "openvino:trained:demo"
    assert openvino.fastest("some/policy") == "some/policy"
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    assert openvino.fastest("trained:demo") == "trained:demo"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    with pytest.raises(ConfigError, match=r"acqo-rl\[openvino\]"):
        Policy.from_pretrained("openvino:trained:demo")
    monkeypatch.setattr("acqo_rl.language_models.openvino.default_device", lambda: "cuda")
    assert openvino.fastest("trained:demo") == "trained:demo"
