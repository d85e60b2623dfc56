"""Models from wheels: found without a model hub, converted once and atomically."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.language_models import cache
from acqo_rl.language_models.embedded import cached, resolve


@pytest.mark.parametrize(
    ("name", "known"),
    [("embedded:gpt", "embedded:minilm"), *((f"trained:{n}", "trained:demo") for n in ("", "../trained"))],
)
def test_an_unknown_model_is_refused_with_the_known_names(name, known):
    with pytest.raises(ConfigError, match=known):
        resolve(name)


def test_smollm2_loads_like_other_models(tokenizer):
    """The end tokens are those that the model was trained with."""
    folder = Path(resolve("embedded:smollm2"))
    config = json.loads((folder / "config.json").read_text())
    assert config["num_hidden_layers"] == 30
    assert "quantization_config" not in config
    assert (folder / "model.safetensors").stat().st_size > 200e6
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert config["eos_token_id"] == tokenizer.eos_token_id
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "x"}], add_generation_prompt=True, tokenize=False)
    assert chat.endswith("<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("name", ["trained:demo", "trained:four_sets", "trained:corpora"])
class TestTrainedPolicy:
    """The policies in the package."""

    def test_contains_an_adapter_of_the_embedded_model_and_no_pickle(self, name):
        folder = Path(resolve(name))
        names = {path.name for path in folder.iterdir()}
        assert names == {"README.md", "acqo.json", "adapter_config.json", "adapter_model.safetensors", "words.txt"}
        words = (folder / "words.txt").read_text().split()
        assert words == sorted(set(words))
        assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
        config = json.loads((folder / "adapter_config.json").read_text())
        base = "embedded:smollm2" if name == "trained:demo" else "embedded:smollm2-20-layers"
        assert config["base_model_name_or_path"] == base


def test_what_is_cached_is_written_once_and_completely(tmp_path, monkeypatch):
    """Of two processes that convert a model, the result of the first is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "acqo_rl" / "model"

    def fail(folder):
        (folder / "half").touch()
        raise OSError("disk full")

    first_writes = Event()
    second_asks = Event()

    def first(folder):
        first_writes.set()
        assert second_asks.wait(60)
        (folder / "first").touch()

    def second():
        assert first_writes.wait(60)
        second_asks.set()
        return cached("model", lambda folder: (folder / "second").touch())

    with pytest.raises(OSError, match="disk full"):
        cached("model", fail)
    assert list(place.parent.iterdir()) == []
    with ThreadPoolExecutor() as pool:
        other = pool.submit(second)
        assert cached("model", first) == other.result() == place
    assert cached("model", fail) == place
    assert {path.name for path in place.iterdir()} == {"first", "checksums.json"}
    assert {path.name for path in place.parent.iterdir()} == {"model", "checksums.json"}


def test_what_was_written_after_the_look_at_the_cache_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = cached("model", lambda folder: (folder / "first").touch())
    is_whole = cache._is_whole
    looks = iter([False, False])
    monkeypatch.setattr(cache, "_is_whole", lambda folder: next(looks, True) and is_whole(folder))
    assert cached("model", lambda folder: (folder / "second").touch()) == place
    assert {path.name for path in place.iterdir()} == {"first", "checksums.json"}


@pytest.mark.parametrize("name", ["weights", "checksums.json"])
@pytest.mark.parametrize("damage", [lambda content: b"x" + content[1:], lambda content: b"", None])
def test_what_is_damaged_in_the_cache_is_written_again(tmp_path, monkeypatch, name, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def write(folder):
        (folder / "weights").write_bytes(bytes(2 << 20))

    file = cached("model", write) / name
    if damage:
        file.write_bytes(damage(file.read_bytes()))
    else:
        file.unlink()
    assert (cached("model", write) / "weights").read_bytes() == bytes(2 << 20)
    cached("model", pytest.fail)
