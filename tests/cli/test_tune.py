"""acqo tune: every combination is measured on dev, and a model is asked no more than it has to be."""

from __future__ import annotations

import re

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.cli import module_of
from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation import load
from acqo_rl.reformulation.load import StrategySettings
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.types import Document, Query

SCRIPT = "tune"
DOCUMENTS = [Document(f"d{i}", "", f"{word} is told here") for i, word in enumerate(("rain", "snow", "wind", "sun"))]
QUERIES = [Query(f"q{i}", f"what of it {i}") for i in range(8)]
NOISE = [Document("noise", "", " ".join(query.text for query in QUERIES))]


@pytest.fixture
def tuned(tmp_path, monkeypatch, capsys):
    """Runs the script over queries that only the variant answers; gives what it prints, and the model."""
    dev = {query.id: {"d0": 1} for query in QUERIES}
    write_beir(tmp_path / "data", [*DOCUMENTS, *NOISE], QUERIES, {"dev": dev})
    (tmp_path / "data" / "qrels" / "test.tsv").write_text("this is never read\n")
    build_bm25_index(tmp_path / "index", [*DOCUMENTS, *NOISE])
    script = module_of(SCRIPT)

    def run(strategies=None, **settings):
        model = ScriptedLanguageModel("rain")
        monkeypatch.setattr(load, "load_strategy_model", lambda *_: model)
        places = {"data": str(tmp_path / "data"), "index": str(tmp_path / "index"), "output": str(tmp_path / "out")}
        config = script.TuneConfig(**places, model="scripted", **settings)
        script.main(config, strategies or StrategySettings())
        return capsys.readouterr().out, model

    return run


def test_the_best_combination_is_printed_as_settings(tuned):
    """The variant finds the document; the raw query finds noise, and so weighs best nothing."""
    out, model = tuned(variants=[3, 1], original_weights=[0.0, 4.0])
    assert "num_variants: 3\noriginal_weight: 0.0\n" in out
    [chosen] = [line.split() for line in out.splitlines() if line.endswith("<- chosen")]
    assert chosen == ["num_variants", "3", "original_weight", "0", "1.0000", "reformulated:", "100%", "<-", "chosen"]
    assert out.count("# gain over the first line") == 2
    assert sum(map(len, model.calls)) == 2 * len(QUERIES)  # one a number of variants, whatever the weights


def test_another_weight_asks_no_model(tuned):
    tuned(variants=[3], original_weights=[1.0])
    assert tuned(variants=[3], original_weights=[0.0, 1.0, 2.0])[1].calls == []


def test_what_has_no_variants_is_tuned_by_weight_alone(tuned):
    out, model = tuned(strategy="hyde", variants=[3, 1], original_weights=[2.0])
    assert out.count("original_weight ") == 1
    assert sum(map(len, model.calls)) == len(QUERIES)


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "rules"},
        {"variants": [6]},
        {"original_weights": [-1.0]},
        {"measure": "magic"},
        {"cosines": [1.5]},
        {"strategies": StrategySettings(reformulate_below=0.6)},
    ],
)
def test_what_cannot_be_is_refused_at_once(tuned, wrong):
    with pytest.raises(ConfigError):
        tuned(**wrong)


def test_similar_raw_queries_are_left_alone_where_that_is_better(tmp_path, monkeypatch, capsys):
    """The rewrite helps one query and harms the other, whose raw form finds its document."""
    documents = [
        Document(f"d{i}", "", text) for i, text in enumerate(("the rain in Spain", "harbour at night", "a goat"))
    ]
    queries = [Query("q0", "the rain in Spain"), Query("q1", "an animal with horns")]
    write_beir(tmp_path / "data", documents, queries, {"train": {"q0": {"d0": 1}, "q1": {"d1": 1}}})
    build_dense_index(tmp_path / "index", documents, SentenceTransformerEncoder("embedded:minilm"))
    monkeypatch.setattr(load, "load_strategy_model", lambda *_: ScriptedLanguageModel("harbour at night"))
    places = {name: str(tmp_path / name) for name in ("data", "index", "output")}
    config = module_of(SCRIPT).TuneConfig(
        **places, model="scripted", strategy="rewrite", split="train", original_weights=[], cosines=[0.0, 0.9]
    )
    module_of(SCRIPT).main(config, StrategySettings())
    out = capsys.readouterr().out
    assert re.findall(r"reformulated: +(\d+%)", out) == ["100%", "0%", "50%"]
    assert "reformulate_below: 0.9\n" in out
