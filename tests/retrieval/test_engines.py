"""What all search engines share: documents, tenants and refusals."""

from __future__ import annotations

import importlib
import time

import pytest
from engine_cases import CORPUS, UnitEncoder, put_documents

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import restrict
from acqo_rl.types import Document, Scope


@pytest.fixture
def built(engine, engine_index):
    """Location of a collection with the documents of ``CORPUS``."""
    return put_documents(engine, engine_index(engine, "documents"), CORPUS)


def test_ids_and_filters_may_contain_any_sign(engine, engine_index):
    signs = ['a"b', "c\\d", "e'f", "100%s", "{g}", "", "é 東"]
    corpus = [Document(f"id {sign}", "", f"text {sign}", {"sign": sign}) for sign in signs]
    index = put_documents(engine, engine_index(engine, "signs"), corpus)
    documents = documents_of(index)
    retriever = load_retriever(index, encoder=UnitEncoder())

    assert [documents[document.id] for document in corpus] == corpus
    for document in corpus:
        where = read_filter({"sign": document.metadata["sign"]})
        assert restrict(retriever, Scope(where)).search(["text"], 10)[0].doc_ids == (document.id,)


def test_documents_are_read_page_by_page(built, engine, monkeypatch):
    monkeypatch.setattr(importlib.import_module(f"acqo_rl.retrieval.engines.{engine}"), "_PAGE", 3)

    assert {document.id: document for document in documents_of(built).values()} == {d.id: d for d in CORPUS}


@pytest.mark.parametrize(
    "location",
    [
        "qdrant:places",
        "qdrant://",
        "qdrant://host:port/a",
        "qdrant:a/b?what=1",
        "qdrant:a/b?timeout=no",
        "qdrant:a/b?timeout=0",
        "qdrant:a/b?mode=1",
        "qdrant:a/b?tls=perhaps",
        "postgresql://host/t",
        "postgres://me:secret@host/db/t",
        "weaviate://host/t",
        "Qdrant://host/t",
    ],
)
def test_malformed_locations_are_refused_without_the_password(location):
    with pytest.raises(ConfigError) as caught:
        load_retriever(location)

    assert "secret" not in str(caught.value)


def test_a_search_creates_no_folder(tmp_path):
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{tmp_path}/new/deep/places", encoder=UnitEncoder())

    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("server", ["qdrant://127.0.0.1:9", "postgresql://127.0.0.1:9/db"])
def test_an_engine_that_does_not_run_is_reported_within_seconds(server):
    begin = time.monotonic()

    with pytest.raises(SearchError):
        load_retriever(f"{server}/places?mode=text&timeout=1")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("mode", ["dense", "text", "hybrid"])
def test_a_search_sees_only_the_documents_of_its_tenant_and_filter(built, mode):
    retriever = load_retriever(f"{built}&mode={mode}&tenant=lang", encoder=UnitEncoder())
    of_all = load_retriever(f"{built}&mode={mode}", encoder=UnitEncoder())
    drafts = Scope(read_filter({"draft": True}), "en")

    [found] = restrict(retriever, drafts).search(["stone"], 100)

    assert set(found.doc_ids) == {d.id for d in CORPUS if d.metadata["lang"] == "en" and d.metadata["draft"]}
    assert len({restrict(retriever, scope).fingerprint for scope in (drafts, Scope(tenant="en"), Scope())}) == 3
    for part, scope in ((retriever, Scope()), (of_all, Scope(tenant="de"))):
        with pytest.raises(ConfigError):
            restrict(part, scope).search(["stone"], 5)
