"""Rerankers: a server over real HTTP in both shapes, and a cross-encoder of random weights."""

import numpy as np
import pytest
from rerank_server import RerankServer as Server
from rerank_server import shared_words
from tiny_models import write_cross_encoder

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.retrieval import rerankers
from acqo_rl.retrieval.rerankers import CrossEncoderReranker, load_reranker

PAIRS = [
    ("stone bridge", "a bridge of stone"),
    ("stone bridge", "a bridge of wood"),
    ("stone bridge", "\ud800 nothing"),
    ("red river", "the river is red"),
    ("stone bridge", "stone"),
]


@pytest.fixture(params=["documents", "texts"])
def server(request, monkeypatch):
    monkeypatch.setenv("RERANK_API_KEY", "key-1")
    with Server(request.param) as server:
        yield server


def test_a_server_of_either_shape_scores_each_pair_in_order_in_calls_of_limited_size(server, monkeypatch):
    monkeypatch.setattr(rerankers, "_BATCH", 2)
    reranker = load_reranker(server.name)

    assert reranker.score(PAIRS) == pytest.approx([shared_words(*pair) for pair in PAIRS], abs=1e-4)
    assert reranker.score([]) == []
    assert sorted(len(body[server.form]) for body in server.asked) == [1, 1, 1, 2]
    assert {body["model"] for body in server.asked} == {"words"}
    assert {headers["Authorization"] for headers in server.headers_of} == {"Bearer key-1"}


@pytest.mark.parametrize(
    "rows", [[(0, 0.5), (1, float("nan"))], [(0, float("inf")), (1, 0.5)], [(0, 0.5), (1, 0.5), (1, 0.7)]]
)
def test_an_answer_without_one_finite_score_per_passage_is_refused(server, rows):
    reranker = load_reranker(server.name)
    reranker.score(PAIRS[:1])  # finds the shape of the requests
    server.faults = [rows]

    with pytest.raises(SearchError):
        reranker.score(PAIRS[:2])
    assert reranker.score(PAIRS[:2]) == pytest.approx([shared_words(*pair) for pair in PAIRS[:2]], abs=1e-4)


def test_a_cross_encoder_that_computes_nan_is_reported(tmp_path):
    reranker = CrossEncoderReranker(write_cross_encoder(tmp_path / "one"))
    for parameter in reranker._model.parameters():
        parameter.data.fill_(float("nan"))

    with pytest.raises(SearchError):
        reranker.score(PAIRS[:1])


def test_a_cross_encoder_reads_query_and_passage_together(tmp_path):
    folder = write_cross_encoder(tmp_path / "one")
    reranker = load_reranker(f"cross-encoder:{folder}")
    scores = reranker.score(PAIRS)

    assert (reranker.name, len(scores), len(set(scores))) == (f"cross-encoder:{folder}", 5, 5)
    assert all(isinstance(score, float) for score in scores)
    np.testing.assert_allclose([score for pair in PAIRS for score in reranker.score([pair])], scores, atol=1e-5)
    assert reranker.score([]) == []


def test_what_is_no_reranker_is_refused(tmp_path):
    folders = (str(tmp_path / "nothing"), write_cross_encoder(tmp_path / "three", labels=3))
    servers = ("rerank:words", "rerank:@http://127.0.0.1", "rerank:words@ftp://127.0.0.1")
    for name in (*servers, "words", "openai:words", *(f"cross-encoder:{folder}" for folder in folders)):
        with pytest.raises(ConfigError):
            load_reranker(name)
