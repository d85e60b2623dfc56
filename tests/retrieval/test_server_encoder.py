"""An encoder on a server, over real HTTP, with the real MiniLM behind it."""

from itertools import chain

import numpy as np
import pytest
from embedding_server import EmbeddingServer
from engine_cases import CORPUS

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.encoders import SERVERS_VARIABLE, ServerEncoder
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.text import passage_text

TEXTS = ["Paris is the capital of France.", "", "A", "\ud800 half a pair", "The Danube flows through Vienna. " * 9]
PASSAGES = [passage_text(document) for document in CORPUS]


@pytest.fixture
def server(minilm, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")
    server = EmbeddingServer(minilm)
    monkeypatch.setenv(SERVERS_VARIABLE, f"https://other {server.url}")
    with server:
        yield server


@pytest.fixture
def connect(server):
    """Makes an encoder; the request with which it learns the dimension is not counted."""

    def connected(**settings):
        made = ServerEncoder(f"openai:minilm@{server.url}", **{"seconds": 5.0} | settings)
        server.asked.clear()
        return made

    return connected


def test_embeddings_are_those_of_the_model_in_the_order_of_the_texts(connect, server, minilm):
    encoder = connect(batch_size=2)

    vectors = encoder.encode_passages(TEXTS)

    assert (vectors.dtype, vectors.shape, encoder.dim) == (np.float32, (5, 384), 384)
    np.testing.assert_allclose(vectors[[0, 2, 3, 4]], minilm.encode_passages(TEXTS)[[0, 2, 3, 4]], atol=1e-5)
    assert sorted(map(len, server.asked)) == [1, 2, 2]
    assert server.headers_of[-1]["Authorization"] == "Bearer key-1"
    assert encoder.encode_queries([]).shape == (0, 384)


def test_prompts_are_sent_and_change_the_fingerprint(connect, server):
    plain = connect()
    prompted = connect(query_prompt="query: ", passage_prompt="passage: ")

    prompted.encode_queries(["cats"])
    prompted.encode_passages(["cats"])

    assert server.asked == [["query: cats"], ["passage: cats"]]
    assert len({plain.fingerprint, prompted.fingerprint, connect(dimensions=64).fingerprint}) == 3
    assert connect(dimensions=64).encode_queries(["cats"]).shape == (1, 64)


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 0.1), (2, 0.2)],
        [(0, 0.1), (1, 0.0)],
        [(0, 0.1), (1, float("nan"))],
        [(0, 0.1), (1, 1e30)],
    ],
)
def test_an_answer_without_one_usable_vector_per_text_is_refused(connect, server, rows, minilm):
    encoder = connect()
    server.faults = [rows]

    with pytest.raises(SearchError):
        encoder.encode_queries(["cats", "dogs"])

    np.testing.assert_allclose(encoder.encode_queries(["cats"]), minilm.encode_queries(["cats"]), atol=1e-5)


def test_a_failure_in_the_middle_keeps_the_finished_shards(connect, server, tmp_path):
    encoder = connect(batch_size=5, seconds=1.0)
    server.faults = [None, None, *[500] * 100]
    with pytest.raises(SearchError):
        build_dense_index(tmp_path / "index", CORPUS, encoder, shard_size=10)
    server.asked.clear()
    server.faults.clear()

    build_dense_index(tmp_path / "index", CORPUS, connect(batch_size=5), shard_size=10)

    assert sorted(chain(*server.asked)) == sorted(PASSAGES[10:])
    load_retriever(tmp_path / "index")


def test_a_batch_that_is_too_large_for_the_server_is_halved_and_a_text_that_is_too_long_is_named(connect, server):
    encoder = connect(batch_size=8)
    server.longest = 200, 3

    assert encoder.encode_passages(PASSAGES).shape == (len(PASSAGES), 384)
    assert max(len(texts) for texts in server.asked) == 8
    with pytest.raises(SearchError, match="long long"):
        encoder.encode_passages(["one", "two", "three", "long " * 100])


def test_another_dimension_under_the_same_name_is_refused(connect, server, tmp_path):
    encoder = connect()
    build_dense_index(tmp_path / "index", CORPUS, encoder)
    server.dimensions = 100
    with pytest.raises(IndexMismatchError):
        encoder.encode_queries(["new text"])
    with pytest.raises(IndexMismatchError):
        load_retriever(tmp_path / "index")
    server.dimensions = None
    with pytest.raises(IndexMismatchError):
        load_retriever(tmp_path / "index", encoder=connect(dimensions=64))


def test_a_server_that_only_an_index_names_gets_neither_queries_nor_the_key(connect, server, tmp_path, monkeypatch):
    build_dense_index(tmp_path / "index", CORPUS, connect())
    server.asked.clear()
    monkeypatch.setenv(SERVERS_VARIABLE, server.url.replace("http:", "https:"))

    with pytest.raises(ConfigError, match=SERVERS_VARIABLE):
        load_retriever(tmp_path / "index")
    assert server.asked == []

    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    load_retriever(tmp_path / "index")
    assert len(server.asked) == 1
