"""FAISS indexes and the dense retriever, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.faiss_index import FaissRetriever
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document, Passage


def filled(factory, vectors, build_parameters=""):
    index = faiss_index.make_index(vectors.shape[1], factory, build_parameters)
    faiss_index.fill(index, [vectors], factory)
    return index


def vectors_of(count, dim=32, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def exact_order(scores, k):
    """Positions by descending score, then position."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]


@settings(max_examples=40, deadline=None)
@given(corpus=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=60), k=st.integers(1, 70))
def test_flat_equals_numpy_with_ties_in_document_order(make_encoder, corpus, k):
    encoder = make_encoder()
    vectors = encoder.encode_passages(corpus)
    retriever = FaissRetriever(filled("Flat", vectors), [str(i) for i in range(len(corpus))], encoder)
    texts = ["a", "x", "a", "yz"]
    scores = encoder.encode_queries(texts) @ vectors.T
    for ranking, text, row in zip(retriever.search(texts, k), texts, scores, strict=True):
        order = exact_order(row, k)
        assert ranking.doc_ids == tuple(map(str, order))
        assert ranking.scores == tuple(row[order].tolist())
        assert (ranking.retriever, ranking.query) == ("dense", text)


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.text(max_size=5), max_size=30), k=st.integers(1, 30))
def test_batched_search_equals_one_by_one_and_encodes_distinct_texts_once(make_encoder, texts, k):
    encoder = make_encoder()
    corpus = [str(i % 40) for i in range(50)]
    retriever = FaissRetriever(filled("Flat", encoder.encode_passages(corpus)), [f"d{i}" for i in range(50)], encoder)
    encoder.calls.clear()
    together = retriever.search(texts, k)
    assert encoder.calls == ([len(set(texts))] if texts else [])
    assert together == [retriever.search([text], k)[0] for text in texts]


def test_passages_are_embedded_as_passages_and_queries_as_queries(make_encoder):
    """An encoder that tells them apart, and one call with the same words as both."""

    class Telling(make_encoder):
        def encode_passages(self, texts):
            return super().encode_queries([f"passage: {text}" for text in texts])

    encoder = Telling()
    vectors = encoder.encode_queries([str(i) for i in range(50)])
    retriever = FaissRetriever(filled("Flat", vectors), [str(i) for i in range(50)], encoder)
    texts = ["x", Passage("x"), "y", Passage("z"), Passage("x")]
    wanted = ["x", "passage: x", "y", "passage: z", "passage: x"]
    assert [r.doc_ids for r in retriever.search(texts, 5)] == [r.doc_ids for r in retriever.search(wanted, 5)]
    assert retriever.search(["x"], 5) != retriever.search([Passage("x")], 5)


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30), min_size=1, max_size=12),
    k=st.integers(1, 14),
    factory=st.sampled_from(["Flat", "IVF1,Flat"]),
)
def test_a_document_of_several_passages_is_found_by_its_best_one_as_brute_force_does(
    make_encoder, documents, k, factory
):
    encoder = make_encoder()
    owners = [owner for owner, passages in enumerate(documents) for _ in passages]
    vectors = encoder.encode_passages([passage for passages in documents for passage in passages])
    retriever = FaissRetriever(filled(factory, vectors), [f"d{owner}" for owner in owners], encoder)
    texts = ["a", "x", "yz"]
    scores = encoder.encode_queries(texts) @ vectors.T
    for ranking, row in zip(retriever.search(texts, k), scores, strict=True):
        best = [
            max(score for score, owner in zip(row, owners, strict=True) if owner == d) for d in range(len(documents))
        ]
        order = exact_order(best, k)
        assert ranking.doc_ids == tuple(f"d{i}" for i in order)
        assert ranking.scores == tuple(float(best[i]) for i in order)


def test_k_documents_come_back_though_one_document_has_all_the_best_passages(make_encoder):
    encoder = make_encoder()
    vectors = encoder.encode_passages(["same"] * 5000 + [str(i) for i in range(40)])
    retriever = FaissRetriever(filled("Flat", vectors), ["long"] * 5000 + [f"d{i}" for i in range(40)], encoder)
    ranking = retriever.search(["same"], 10)[0]
    assert ranking.doc_ids[0] == "long"
    assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) == 10
    assert len(retriever.search(["same"], 100)[0].doc_ids) == 41


def test_no_more_vectors_are_asked_for_than_an_index_on_a_gpu_gives(make_encoder):
    encoder = make_encoder()
    vectors = encoder.encode_passages(["same"] * 5000 + [str(i) for i in range(40)])

    class Limited:
        ntotal, d, max_depth = len(vectors), vectors.shape[1], faiss_index.MAX_VECTORS
        index = filled("Flat", vectors)

        def search(self, wanted, depth):
            assert depth <= self.max_depth
            return self.index.search(wanted, depth)

    retriever = FaissRetriever(Limited(), ["long"] * 5000 + [f"d{i}" for i in range(40)], encoder)
    assert retriever.search(["same"], 10)[0].doc_ids == ("long",)
    assert len(retriever.search([str(3)], 10)[0].doc_ids) > 1


def test_a_tie_wider_than_k_is_cut_in_document_order(make_encoder):
    encoder = make_encoder()
    vectors = encoder.encode_passages(["other"] * 200 + ["same"] * 700)
    retriever = FaissRetriever(filled("Flat", vectors), [str(i) for i in range(900)], encoder)
    for k in (1, 10, 100, 650):
        assert retriever.search(["same"], k)[0].doc_ids == tuple(str(200 + i) for i in range(k))


@pytest.mark.parametrize(
    ("factory", "parameters", "recall"),
    [
        ("HNSW32", "efSearch=128", 0.9),
        ("IVF16,Flat", "nprobe=8", 0.8),
        ("IVF16,PQ32", "nprobe=16", 0.6),
        ("SQ8", "", 0.95),
    ],
)
def test_approximate_indexes_find_most_of_what_flat_finds(factory, parameters, recall):
    vectors, queries = vectors_of(2000), vectors_of(50, seed=1)
    index = filled(factory, vectors)
    faiss_index.set_parameters(index, parameters)
    exact = np.argsort(-queries @ vectors.T, axis=1)[:, :10]
    found = index.search(queries, 10)[1]
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)]) >= recall


def test_results_that_faiss_pads_with_minus_one_are_dropped(make_encoder):
    encoder = make_encoder()
    index = filled("IVF8,Flat", encoder.encode_passages([str(i) for i in range(400)]))
    index.nprobe = 1
    ranking = FaissRetriever(index, [str(i) for i in range(400)], encoder).search(["7"], 400)[0]
    assert 0 < len(ranking.doc_ids) < 400
    assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) == len(ranking.scores)


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF8,Flat", "IVF8,PQ8"])
def test_written_index_finds_the_same(tmp_path, factory):
    vectors = vectors_of(400)
    index = filled(factory, vectors)
    faiss_index.write_index(index, tmp_path / "index.faiss")
    read = faiss_index.read_index(tmp_path / "index.faiss")
    for seen, wanted in zip(read.search(vectors[:20], 10), index.search(vectors[:20], 10), strict=True):
        np.testing.assert_array_equal(seen, wanted)
    assert [path.name for path in tmp_path.iterdir()] == ["index.faiss"]


def test_two_builds_with_one_thread_are_the_same(tmp_path):
    vectors = vectors_of(500)
    for name in "ab":
        faiss_index.write_index(filled("HNSW16", vectors, "efConstruction=80"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_training_on_a_sample_keeps_every_vector():
    blocks = np.array_split(vectors_of(9000), 7)
    index = faiss_index.make_index(32, "IVF8,Flat")
    faiss_index.fill(index, blocks, "IVF8,Flat")
    assert index.ntotal == 9000


def test_parameters_reach_the_index():
    index = faiss_index.make_index(32, "HNSW16", "efConstruction=77")
    faiss_index.set_parameters(index, "efSearch=99")
    assert (index.hnsw.efConstruction, index.hnsw.efSearch) == (77, 99)
    assert faiss_index.default_search_parameters(faiss_index.make_index(32, "IVF256,Flat")) == "nprobe=16"
    assert faiss_index.default_search_parameters(index) == ""


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: faiss_index.make_index(32, "Tree"), "'Tree'.*could not parse"),
        (lambda: faiss_index.make_index(32, "IVF8,PQ5"), "'IVF8,PQ5' .*32 dimensions"),
        (lambda: faiss_index.make_index(32, "Flat", "efConstruction=3"), "IndexFlat.*'efConstruction=3'"),
        (lambda: filled("IVF64,Flat", vectors_of(20)), "on 20 vectors"),
        (lambda: filled("PQ8", vectors_of(20)), "on 20 vectors"),
    ],
)
def test_wrong_settings_are_explained(act, message):
    with pytest.raises(ConfigError, match=message):
        act()


def test_search_for_no_document_is_refused(make_encoder):
    encoder = make_encoder()
    with pytest.raises(ConfigError, match="k is 0"):
        FaissRetriever(filled("Flat", encoder.encode_passages(["a"])), ["a"], encoder).search(["a"], 0)


def test_ids_and_dimension_must_fit(make_encoder):
    index = filled("Flat", vectors_of(3))
    with pytest.raises(IndexMismatchError, match=r"3 .* 2 "):
        FaissRetriever(index, ["a", "b"], make_encoder(32))
    with pytest.raises(IndexMismatchError, match=r"32 .* 16"):
        FaissRetriever(index, ["a", "b", "c"], make_encoder(16))


def test_a_question_behind_a_long_text_is_searched_too(minilm, tmp_path):
    documents = [Document("owl", "", "Owls sleep during the day."), Document("agenda", "", "The committee met.")]
    build_dense_index(tmp_path, documents, minilm)
    retriever = load_retriever(tmp_path, encoder=minilm)
    question = "When do owls sleep?"
    pasted = "The committee met and discussed the agenda of the next meeting. " * 40

    short, long, hypothetical = retriever.search([question, f"{pasted} {question}", Passage(pasted + question)], 2)

    assert (short.windows, long.windows, hypothetical.windows) == (1, 2, 1)
    assert (long.doc_ids[0], hypothetical.doc_ids[0]) == ("owl", "agenda")
    assert all(minilm.count_tokens([part])[0] <= minilm.max_tokens for part in minilm.windows(pasted + question))
