"""Every command that searches opens its index on the device of --index_device."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

ROOT = Path(__file__).parents[2]
DEVICE = ["--index_device", "shards"]
COMMANDS = {
    "grpo": "--data DATA --index INDEX --model MODEL --output_dir OUT --trainer.num_generations 2"
    " --trainer.per_device_train_batch_size 2",
    "warm-start": "--data DATA --index INDEX --model MODEL --output_dir OUT",
    "evaluate": "--data DATA --split dev --index INDEX --output OUT",
    "search": "--data DATA --index INDEX --reformulator raw --query Peru",
    "serve": "--collections world=DATA,INDEX",
}


class Opened(Exception):
    """Raised when a command opens its index."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The inputs of the commands: data with two splits, an index and a policy."""
    folder = tmp_path_factory.mktemp("world")
    documents = [Document("lima", "Peru", "Lima is the capital."), Document("oslo", "Norway", "Oslo is the capital.")]
    queries = [Query("p", "capital of Peru"), Query("n", "capital of Norway")]
    write_beir(folder / "data", documents, queries, {"train": {"p": {"lima": 1}}, "dev": {"n": {"oslo": 1}}})
    build_bm25_index(folder / "index", list(read_corpus(folder / "data").values()))
    return {"DATA": folder / "data", "INDEX": folder / "index", "MODEL": full_model(folder, max_new_tokens=4)}


@pytest.mark.parametrize("script", COMMANDS)
def test_the_device_reaches_the_index(script, world, tmp_path, monkeypatch):
    given = {}

    def load(index, **options):
        given.update(options, index=index)
        raise Opened

    monkeypatch.setattr("acqo_rl.retrieval.load.load_retriever", load)
    monkeypatch.setattr("acqo_rl.serving.logs.configure_logs", lambda level: None)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    words = COMMANDS[script]
    for name, value in {**world, "OUT": tmp_path / "out"}.items():
        words = words.replace(name, str(value))
    module = module_of(script)
    with pytest.raises(Opened):
        module.main(command.parse(module.main, [*words.split(), *DEVICE]))
    assert (given["index"], given["device"]) == (str(world["INDEX"]), "shards")
