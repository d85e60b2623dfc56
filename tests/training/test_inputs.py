"""Every kind of run refuses to continue, and to be finished, if something that it reads has changed."""

from __future__ import annotations

import shutil

import pytest
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus
from acqo_rl.errors import AcqoError
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.training import run_folder

RUNS = {
    "warm-start": ("output_dir", {}),
    "grpo": ("output_dir", {}),
    "distill": ("output_dir", {}),
    "train-hop": ("output_dir", {}),
    "train-choice": ("output_dir", {}),
    "headroom": ("output", {"model": None}),
    "evaluate": ("output", {"model": None, "split": "dev"}),
    "label": ("output", {"model": "openai:judge@http://x/v1", "task": "judgements"}),
    "index": ("output", {"model": None, "index": None, "kind": "bm25"}),
}


class Stopped(Exception):
    """The run is interrupted."""


@pytest.fixture
def world(data, tmp_path):
    """Inputs that a test may change."""
    folder = shutil.copytree(data, tmp_path / "data")
    index = tmp_path / "bm25"
    build_bm25_index(index, list(read_corpus(folder).values()))
    return {"data": folder, "index": index, "model": full_model(tmp_path)}


def change(world, name):
    if name == "index":
        shutil.rmtree(world["index"])
        build_bm25_index(world["index"], list(read_corpus(world["data"]).values()), k1=1.0)
        return
    file = world["model"] / "config.json" if name == "model" else world["data"] / name
    file.write_text(file.read_text().replace("Peru", "Chile") + "\n")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "queries.jsonl") for kind in RUNS if kind != "index"),
        ("index", "corpus.jsonl"),
        ("evaluate", "qrels/dev.tsv"),
        *((kind, name) for kind in ("warm-start", "grpo", "train-choice") for name in ("index", "model")),
    ],
)
def test_a_run_names_the_input_that_changed(world, tmp_path, monkeypatch, kind, name):
    output, settings = RUNS[kind]
    given = {**world, output: tmp_path / "out", **settings}
    main = module_of(kind).main
    words = [text for key, value in given.items() if value for text in (f"--{key}", str(value))]
    open_run = run_folder.open_run

    def interrupted(*args, **more):
        open_run(*args, **more)
        raise Stopped

    monkeypatch.setattr(run_folder, "open_run", interrupted)
    for _ in range(2):  # the second call resumes
        try:
            main(command.parse(main, words))
        except Stopped:
            (tmp_path / "out" / "model").mkdir(exist_ok=True)
    change(world, name)
    with pytest.raises(AcqoError) as error:
        main(command.parse(main, words))
    wanted = {"index": str(world["index"]), "model": str(world["model"]), "corpus.jsonl": "corpus_hash"}
    assert wanted.get(name, name) in str(error.value)
