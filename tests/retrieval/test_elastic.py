"""Elasticsearch and OpenSearch against a stand-in: one call for a batch, and refused searches."""

from __future__ import annotations

import threading

import pytest
from elastic_stand_in import make_server
from engine_cases import CORPUS, UnitEncoder
from shared import in_thread

from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document


@pytest.fixture
def server():
    with in_thread(make_server(), threading.Event()) as server:
        yield server


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_the_texts_of_a_batch_are_one_call(server, scheme):
    index = f"{scheme}://127.0.0.1:{server.server_address[1]}/pages"
    build_engine_index(index, CORPUS, UnitEncoder())
    for mode in ("dense", "text"):
        load_retriever(f"{index}?mode={mode}", encoder=UnitEncoder()).search(["stone", "river", "stone"], 3)

    assert [len(lines) for lines in server.searches] == [4, 4]
    assert {line["size"] for lines in server.searches for line in lines[1::2]} == {3}


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_metadata_may_be_longer_than_a_keyword(server, scheme):
    index = f"{scheme}://127.0.0.1:{server.server_address[1]}/pages"
    long = Document("long", "", "a stone", {"body": "stone " * 6000})

    build_engine_index(index, [long], UnitEncoder())

    assert documents_of(index)["long"] == long


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_a_search_that_the_server_refuses_is_reported(server, scheme):
    index = f"{scheme}://127.0.0.1:{server.server_address[1]}/pages"
    build_engine_index(index, CORPUS, UnitEncoder())
    retriever = load_retriever(index, encoder=UnitEncoder())
    server.indices["pages"]["rows"]["d1"]["vector"].append(1.0)

    with pytest.raises(SearchError):
        retriever.search(["stone"], 3)


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_documents_have_ids_of_a_field_in_an_object_and_those_without_are_left_out(server, scheme):
    kind = (
        {"type": "dense_vector", "dims": 16} if scheme == "elasticsearch" else {"type": "knn_vector", "dimension": 16}
    )
    kind |= {"space_type": "cosinesimil"} if scheme == "opensearch" else {}
    page = {"properties": {"no": {"type": "long"}, "body": {"type": "text"}}}
    mappings = {"properties": {"page": page, "emb": kind}}
    vectors = UnitEncoder().encode_queries(["a", "b"])
    rows = {
        "x": {"page": {"no": 7, "body": "a"}, "emb": vectors[0].tolist()},
        "y": {"page": {"body": "b"}, "emb": vectors[1].tolist()},
    }
    server.indices["pages"] = {"mappings": mappings, "rows": rows}
    index = f"{scheme}://127.0.0.1:{server.server_address[1]}/pages?id=page.no&text=page.body"

    assert load_retriever(index, encoder=UnitEncoder()).search(["a"], 5)[0].doc_ids == ("7",)
    assert [document.text for document in documents_of(index).values()] == ["a"]
    with pytest.raises(IndexMismatchError):
        load_retriever(f"{index}&title=page.head", encoder=UnitEncoder())
