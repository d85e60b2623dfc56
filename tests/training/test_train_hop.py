"""Training of hops: the options are searched once, and the reward teaches which name to search."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from acqo_rl.cli.train_hop import TrainHopConfig, main
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.searching.corpus_words import CorpusWords
from acqo_rl.searching.hop import with_name
from acqo_rl.searching.hop_candidates import CandidateReader
from acqo_rl.searching.scorer import Scorer
from acqo_rl.training.hop import Options, Training, collect, read_options, train, with_returns, write_options
from acqo_rl.training.rewards import Reward
from acqo_rl.types import Document, Query

COUNTRIES = [
    "Aland",
    "Borduria",
    "Carpathia",
    "Drackland",
    "Elbonia",
    "Florin",
    "Graustark",
    "Herzoslovakia",
    "Illyria",
    "Jumania",
]
TOWNS = ["Akra", "Brod", "Crest", "Dunmor", "Elst", "Fenwick", "Gorm", "Hale", "Ilmen", "Jarva"]


def world():
    """Bridge questions: the page of a town names its country, and the page of the country has the answer."""
    documents, queries, qrels = [], [], {"train": {}, "dev": {}}
    for i, (town, country) in enumerate(zip(TOWNS, COUNTRIES, strict=True)):
        documents += [
            Document(f"t{i}", town, f"{town} is a harbour town. It is the seat of government of {country}."),
            Document(f"c{i}", country, "Its inhabitants write poems in a tongue with nine cases."),
            Document(f"n{i}", f"Tongue of {i}", "The language of a country is spoken in its seat of government."),
        ]
        text = f"What language is spoken in the country whose seat of government is {town}?"
        queries.append(Query(f"q{i}", text))
        qrels["train" if i % 3 else "dev"][f"q{i}"] = {f"t{i}": 1, f"c{i}": 1}
    return documents, queries, qrels


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from acqo_rl.cli import launch

    folder = tmp_path_factory.mktemp("bridges")
    documents, queries, qrels = world()
    rows = {
        "corpus": [{"_id": d.id, "title": d.title, "text": d.text} for d in documents],
        "queries": [{"_id": q.id, "text": q.text} for q in queries],
    }
    for name, some in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    (folder / "qrels").mkdir()
    for split, judged in qrels.items():
        lines = [f"{query}\t{doc}\t1\n" for query, docs in judged.items() for doc in docs]
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    launch("index", ["--data", str(folder), "--output", str(folder / "index"), "--kind", "bm25"])
    return folder


def config(folder, output, **changes):
    settings = {"steps": 140, "margin": 0.0, "seeds": 2, "hops": 2, "cost": 0.02}
    return TrainHopConfig(
        data=[str(folder)], index=[str(folder / "index")], output_dir=str(output), **settings | changes
    )


def test_a_resumed_run_equals_an_uninterrupted_one_and_learns_the_bridge(folder, tmp_path, capsys):
    main(config(folder, tmp_path / "whole"))
    report = (tmp_path / "whole" / "report.md").read_text()
    values = {row.split(" | ")[0].strip("| "): row.split(" | ")[1:] for row in report.splitlines() if " | " in row}
    assert float(values["reward"][0]) > float(values["no hop"][0]) + 0.1

    interrupted = config(folder, tmp_path / "again")
    main(interrupted)
    for made in ("model", "report.md"):
        (tmp_path / "again" / made).rename(tmp_path / f"removed {made}")
    next((tmp_path / "again" / "options" / "1").glob("hop 2-*")).unlink()
    kept = next((tmp_path / "again" / "options" / "1").glob("hop 1-*"))
    written = kept.stat().st_mtime_ns
    main(interrupted)
    assert kept.stat().st_mtime_ns == written
    for file in ("model/scorer.safetensors", "report.md"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    main(interrupted)
    assert "is finished" in capsys.readouterr().out


def test_the_reward_of_an_option_is_that_of_the_path(tmp_path):
    documents, queries, qrels = world()
    corpus = {d.id: d for d in documents}
    retriever = Bm25Retriever.build([f"{d.title} {d.text}" for d in documents], list(corpus))
    reward, reader = Reward("converge", retriever, RankScoreFusion()), CandidateReader(corpus, CorpusWords.of(corpus))
    states = [pass_through(query, "raw") for query in queries]
    judged = qrels["train"] | qrels["dev"]
    [options] = collect(states, judged, reader, retriever, RankScoreFusion(), reward)
    assert len(options) == len(queries)
    one = options[0]
    assert one.names[int(one.rewards.argmax()) - 1] == COUNTRIES[0]
    assert one.rewards.max() == pytest.approx(reward.score(np.array([1.0, 2.0])), abs=0.8)
    write_options(options, tmp_path / "options.npz")
    for read, made in zip(read_options(tmp_path / "options.npz"), options, strict=True):
        assert (read.query_id, read.searched, read.names) == (made.query_id, made.searched, made.names)
        assert np.array_equal(read.features, made.features)
        assert np.array_equal(read.rewards, made.rewards)


def option(query_id, searched, names, rewards):
    return Options(query_id, searched, names, np.zeros((len(rewards), 3), np.float32), np.array(rewards, np.float32))


class Even(Scorer):
    def score(self, features):
        return np.zeros(len(features), np.float32)


def test_the_value_of_an_expanded_option_is_the_expected_return_after_its_cost():
    state = pass_through(Query("q", "who?"), "raw")
    after = with_name(state, "BERT")
    texts = tuple(s.text for s in after.sub_queries)
    first = option("q", ("who?",), ("BERT", "Oslo"), [0.5, 1.0, 0.7])
    second = option("q", texts, ("Google",), [1.0, 2.0])
    scorer = Even("", np.zeros(3), np.ones(3), ())
    [returned] = with_returns([first], [second], scorer, cost=0.2)
    assert returned.rewards.tolist() == pytest.approx([0.5, (1.0 + 1.8) / 2, 0.7])


@pytest.mark.parametrize(("cost", "stops"), [(0.0, False), (5.0, True)])
def test_the_cost_decides_whether_to_stop(cost, stops):
    options = [
        replace(option(str(i), (), ("a", "b"), [0.0, 1.0, 0.2]), features=np.eye(3, dtype=np.float32)) for i in range(8)
    ]
    scorer, curve = train(options, Training(steps=200, margin=0.0, cost=cost, seeds=2, batch_size=8))
    best = int(scorer.score(options[0].features).argmax())
    assert best == (0 if stops else 1)
    assert [step for step, _ in curve] == [100, 200]


def test_each_folder_needs_an_index(tmp_path):
    with pytest.raises(ConfigError):
        TrainHopConfig(data=["a", "b"], index=["c"], output_dir=str(tmp_path))
