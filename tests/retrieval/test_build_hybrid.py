"""Several indexes as one: joined by ``+``, or in one folder."""

import pytest
from serving_stand_ins import running

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import IndexMismatchError
from acqo_rl.evaluation.cache import CachedRetriever
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.composite import InCollection
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.serving.batching import BatchedRetriever, Batcher
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app

TEXTS = ["passage number 3", "number", "nothing of this kind", "Title 5"]


@pytest.fixture
def build(documents, encoder):
    """Builds a hybrid index."""

    def built(folder, given=documents, **bm25_settings):
        build_dense_index(folder / "dense", given, encoder)
        build_bm25_index(folder / "bm25", given, **bm25_settings)

    return built


@pytest.fixture
def both(tmp_path, build):
    build(tmp_path / "both")
    return tmp_path / "both"


def files(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_each_text_gets_one_list_by_rsf_of_both_lists(both, documents, encoder):
    dense, words = (load_retriever(both / name, encoder=encoder) for name in ("dense", "bm25"))
    pairs = zip(dense.search(TEXTS, 100), words.search(TEXTS, 100), strict=True)
    by_hand = RankScoreFusion().fuse(list(pairs), 5)
    with running(make_retriever_app(words, describe(str(both / "bm25")), Limits())) as url:
        for place in (both, f"{both}/dense+{both}/bm25", f"{both}/dense+{url}"):
            hybrid = load_retriever(place, encoder=encoder, expected_corpus_hash=corpus_hash(documents))
            found = hybrid.search(TEXTS, 5)
            assert [(r.doc_ids, r.scores) for r in found] == [(r.doc_ids, r.scores) for r in by_hand]
            assert [(r.query, r.retriever, r.similarities) for r in found] == [(text, "hybrid", ()) for text in TEXTS]


def test_it_is_known_by_both_parts(both, encoder, tmp_path, build):
    joined = f"{both}/dense+{both}/bm25"
    info = describe(str(both))
    assert (info.kind, info.document_count, info.encoder) == ("hybrid", 70, "")
    assert describe(joined) == info
    assert load_retriever(both, encoder=encoder).fingerprint == info.fingerprint
    assert load_retriever(f"{both}/dense", encoder=encoder).fingerprint == describe(f"{both}/dense").fingerprint
    build(tmp_path / "other", b=0.1)
    others = {describe(str(tmp_path / "other")).fingerprint, describe(f"{both}/bm25+{both}/dense").fingerprint}
    assert len(others | {info.fingerprint}) == 3


def test_parts_of_different_corpora_are_refused(both, tmp_path, documents, encoder):
    build_bm25_index(tmp_path / "fewer", documents[:-1])
    joined = f"{both}/dense+{tmp_path}/fewer"
    for act in (lambda: load_retriever(joined, encoder=encoder), lambda: describe(joined)):
        with pytest.raises(IndexMismatchError):
            act()
    with pytest.raises(IndexMismatchError):
        load_retriever(both, encoder=encoder, expected_corpus_hash="abc")


def test_an_interrupted_build_is_refused_until_it_is_finished_and_a_finished_one_is_left(
    tmp_path, build, documents, encoder
):
    build_dense_index(tmp_path / "dense", documents, encoder)
    with pytest.raises(IndexMismatchError, match="bm25"):
        load_retriever(tmp_path, encoder=encoder)
    build(tmp_path)
    before = files(tmp_path)
    build(tmp_path)
    assert files(tmp_path) == before
    load_retriever(tmp_path, encoder=encoder)


def test_nothing_is_overwritten(tmp_path, build, both, documents, encoder, make_encoder):
    plain = tmp_path / "plain"
    build_dense_index(plain, documents, encoder)
    build_dense_index(tmp_path / "begun" / "dense", documents, encoder)
    before = files(tmp_path)
    for act in (
        lambda: build(plain),
        lambda: build(both, b=0.1),
        lambda: build(both, given=documents[:-1]),
        lambda: build_dense_index(both, documents, encoder),
        lambda: build_dense_index(plain, documents, encoder, factory="HNSW16"),
        lambda: build_dense_index(plain, documents, make_encoder(fingerprint="other")),
        lambda: build_dense_index(plain, documents[:-1], encoder),
        lambda: build_bm25_index(both, documents),
        lambda: build_bm25_index(tmp_path / "begun", documents),
    ):
        with pytest.raises(IndexMismatchError):
            act()
    assert files(tmp_path) == before


def test_no_wrapper_takes_other_scores_for_cosines(both, encoder, tmp_path):
    """``raw_query_margin`` compares cosines; BM25 scores and fused scores must not be used for it."""
    for place, is_cosine in ((both / "bm25", False), (both, False), (both / "dense", True)):
        retriever = load_retriever(place, encoder=encoder)
        wrapped = (
            BatchedRetriever(retriever, Batcher),
            CachedRetriever("x", retriever, "1", tmp_path / "cache.sqlite", embeds=False),
            InCollection(retriever, "x", "scale"),
        )
        assert [one.cosine for one in (retriever, *wrapped)] == [is_cosine] * 4
