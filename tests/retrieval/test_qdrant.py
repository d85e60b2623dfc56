"""Qdrant collections that other programs wrote."""

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from engine_cases import CORPUS, UnitEncoder, put_documents
from qdrant_client import models

from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.retrieval.engines import qdrant
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever

TEXTS = ["the river", "a stone", "the river and a stone"]


def test_nested_fields_are_read_and_documents_without_a_known_text_are_refused(tmp_path):
    client = qdrant._folder(str(tmp_path))
    client.create_collection("nested", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    [vector] = UnitEncoder().encode_queries(["the river"])
    payload = {"page_content": "the river", "metadata": {"source": "a.md", "title": "A", "text": "a stone"}}
    client.upsert("nested", [models.PointStruct(id=1, vector=vector.tolist(), payload=payload)])
    with pytest.raises(IndexMismatchError):
        documents_of(f"qdrant:{tmp_path}/nested")
    fields = "id=metadata.source&title=metadata.title"
    documents = documents_of(f"qdrant:{tmp_path}/nested?{fields}&text=page_content")
    assert (documents["a.md"].title, documents["a.md"].text) == ("A", "the river")
    assert documents_of(f"qdrant:{tmp_path}/nested?{fields}&text=metadata.text")["a.md"].text == "a stone"
    retriever = load_retriever(f"qdrant:{tmp_path}/nested?{fields}&text=page_content", encoder=UnitEncoder())
    assert retriever.search(["the river"], 5)[0].doc_ids == ("a.md",)


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_collection_without_a_text_index_is_refused_when_it_is_opened_for_full_text(tmp_path, mode):
    index = put_documents("qdrant", f"qdrant:{tmp_path}/pages", CORPUS)
    qdrant._folder(str(tmp_path)).delete_payload_index("pages", "body")

    with pytest.raises(IndexMismatchError):
        load_retriever(f"{index}&mode={mode}", encoder=UnitEncoder())
    load_retriever(index, encoder=UnitEncoder())


@pytest.mark.parametrize("name", ["", "body"])
def test_inner_products_are_searched_and_are_no_cosines_and_other_metrics_are_refused(tmp_path, name):
    client = qdrant._folder(str(tmp_path))
    vectors = UnitEncoder().encode_queries(TEXTS)
    for collection, metric in (("dots", models.Distance.DOT), ("far", models.Distance.EUCLID)):
        params = models.VectorParams(size=16, distance=metric)
        client.create_collection(collection, vectors_config={name: params} if name else params)
    client.upsert("dots", [
        models.PointStruct(id=row, vector={name: vector} if name else vector, payload={"body": TEXTS[row]})
        for row, vector in enumerate((2 * vectors).tolist())
    ])  # fmt: skip

    retriever = load_retriever(f"qdrant:{tmp_path}/dots?text=body", encoder=UnitEncoder())
    [ranking] = retriever.search(["a stone"], 3)
    assert not retriever.cosine
    assert (ranking.doc_ids[0], ranking.scores[0]) == ("1", pytest.approx(2, abs=1e-6))
    assert documents_of(f"qdrant:{tmp_path}/dots?text=body")["1"].text == "a stone"
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{tmp_path}/far", encoder=UnitEncoder())


def test_a_folder_that_would_run_code_is_refused(tmp_path, monkeypatch):
    put_documents("qdrant", f"qdrant:{tmp_path}/pages", CORPUS)
    qdrant._folder(str(tmp_path)).close()
    monkeypatch.setattr(qdrant, "_folder", qdrant._folder.__wrapped__)

    class Malicious:
        def __reduce__(self):
            return Path.touch, (tmp_path / "run",)

    with closing(sqlite3.connect(tmp_path / "collection" / "pages" / "storage.sqlite")) as storage, storage:
        storage.execute("INSERT INTO points VALUES ('x', ?)", (pickle.dumps(Malicious()),))
    with pytest.raises(SearchError, match="malicious"):
        load_retriever(f"qdrant:{tmp_path}/pages", encoder=UnitEncoder())
    assert not (tmp_path / "run").exists()
