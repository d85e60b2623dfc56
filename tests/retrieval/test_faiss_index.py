"""FAISS indexes and the dense retriever, against NumPy."""

from types import SimpleNamespace

import pytest
import stand_ins
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.encoder import search_windows
from acqo_rl.retrieval.faiss_devices import MAX_VECTORS
from acqo_rl.retrieval.faiss_retriever import FaissRetriever
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document, Passage


def test_passages_are_embedded_as_passages_and_queries_as_queries(filled, make_encoder):
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
    documents=st.one_of(
        st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=most), min_size=1, max_size=documents)
        for most, documents in ((1, 60), (30, 12))
    ),
    k=st.integers(1, 70),
    factory=st.sampled_from(["Flat", "IVF1,Flat"]),
)
def test_documents_are_found_by_their_best_passage_as_brute_force_does_with_ties_in_order(
    filled, make_encoder, documents, k, factory
):
    encoder = make_encoder()
    owners = [owner for owner, passages in enumerate(documents) for _ in passages]
    vectors = encoder.encode_passages([passage for passages in documents for passage in passages])
    retriever = FaissRetriever(filled(factory, vectors), [f"d{owner}" for owner in owners], encoder)
    texts = ["a", "x", "a", "yz"]
    scores = encoder.encode_queries(texts) @ vectors.T
    found = retriever.search(texts, k)
    assert encoder.calls[-1] == len(set(texts))
    for ranking, row in zip(found, scores, strict=True):
        best = [
            max(score for score, owner in zip(row, owners, strict=True) if owner == d) for d in range(len(documents))
        ]
        order = sorted(range(len(best)), key=lambda i: (-best[i], i))[:k]
        assert ranking.doc_ids == tuple(f"d{i}" for i in order)
        assert ranking.scores == tuple(float(best[i]) for i in order)


def test_k_documents_come_back_though_one_has_all_the_best_passages_unless_a_gpu_gives_too_few(filled, make_encoder):
    encoder = make_encoder()
    index = filled("Flat", encoder.encode_passages(["same"] * 5000 + [str(i) for i in range(40)]))
    ids = ["long"] * 5000 + [f"d{i}" for i in range(40)]

    class Limited:
        ntotal = index.ntotal
        d = index.d
        max_depth = MAX_VECTORS

        def search(self, wanted, depth):
            assert depth <= self.max_depth
            return index.search(wanted, depth)

    ten, every = (FaissRetriever(index, ids, encoder).search(["same"], k)[0].doc_ids for k in (10, 100))
    assert (ten[0], len(set(ten)), len(set(every))) == ("long", len(ten), len(every)) == ("long", 10, 41)
    same, other = FaissRetriever(Limited(), ids, encoder).search(["same", "3"], 10)
    assert same.doc_ids == ("long",) and len(other.doc_ids) > 1


def test_a_tie_wider_than_k_is_cut_in_document_order(filled, make_encoder):
    encoder = make_encoder()
    vectors = encoder.encode_passages(["other"] * 200 + ["same"] * 700)
    retriever = FaissRetriever(filled("Flat", vectors), [str(i) for i in range(900)], encoder)
    for k in (1, 10, 100, 650):
        assert retriever.search(["same"], k)[0].doc_ids == tuple(str(200 + i) for i in range(k))


def test_results_that_faiss_pads_with_minus_one_are_dropped(filled, make_encoder):
    encoder = make_encoder()
    index = filled("IVF8,Flat", encoder.encode_passages([str(i) for i in range(400)]))
    index.nprobe = 1
    ranking = FaissRetriever(index, [str(i) for i in range(400)], encoder).search(["7"], 400)[0]
    assert 0 < len(set(ranking.doc_ids)) == len(ranking.doc_ids) == len(ranking.scores) < 400


def test_parameters_reach_the_index():
    index = faiss_index.make_index(32, "HNSW16", "efConstruction=77")
    faiss_index.set_parameters(index, "efSearch=99")
    assert (index.hnsw.efConstruction, index.hnsw.efSearch) == (77, 99)
    assert faiss_index.default_search_parameters(faiss_index.make_index(32, "IVF256,Flat")) == "nprobe=16"
    assert faiss_index.default_search_parameters(index) == ""


@pytest.mark.parametrize(
    ("factory", "parameters"),
    [("Tree", ""), ("IVF8,PQ5", ""), ("Flat", "efConstruction=3"), ("IVF64,Flat", ""), ("PQ8", "")],
)
def test_wrong_settings_are_refused(filled, factory, parameters):
    with pytest.raises(ConfigError):
        filled(factory, 20, parameters)


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


def test_of_two_parts_of_a_text_the_better_score_of_a_document_counts():
    found = {
        "one": stand_ins.ranking("a", "b", scores=(0.9, 0.1)),
        "other": stand_ins.ranking("b", "a", scores=(0.5, 0.2)),
    }
    parts = SimpleNamespace(windows=lambda text: tuple(found))
    [best] = search_windows(parts, ["text"], 2, lambda texts: [found[text] for text in texts])
    assert (best.doc_ids, best.scores, best.windows) == (("a", "b"), (0.9, 0.5), 2)
