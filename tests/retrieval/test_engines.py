"""What all search engines share: builds, updates, documents and refusals."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace

import numpy as np
import pytest
from engine_cases import CORPUS, ENGINES, UnitEncoder

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import ConfigError, DataError, IndexMismatchError, SearchError
from acqo_rl.retrieval.engines import build
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.engines.location import read_location
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.remote import describe
from acqo_rl.roles import restrict
from acqo_rl.types import Document, Scope


@pytest.fixture(params=ENGINES)
def index(request, engine_index):
    """Location of a collection that does not exist yet."""
    return engine_index(request.param, "documents")


@pytest.fixture
def built(index):
    build_engine_index(index, CORPUS, UnitEncoder())
    return index


class FailingEncoder(UnitEncoder):
    """Encodes some passages, then fails."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def encode_passages(self, texts):
        if len(self.encoded) + len(texts) > self.limit:
            raise KeyboardInterrupt
        return super().encode_passages(texts)


def test_an_interrupted_build_is_refused_and_goes_on_where_it_was(index, monkeypatch):
    monkeypatch.setattr(build, "_BATCH", 10)
    with pytest.raises(KeyboardInterrupt):
        build_engine_index(index, CORPUS, FailingEncoder(10))
    with pytest.raises(IndexMismatchError):
        load_retriever(index, encoder=UnitEncoder())

    encoder = UnitEncoder()
    build_engine_index(index, CORPUS, encoder)

    assert len(encoder.encoded) == len(CORPUS) - 10
    [ranking] = load_retriever(index, encoder=encoder).search(["stone"], 100)
    assert set(ranking.doc_ids) == {document.id for document in CORPUS}


def test_an_update_encodes_only_what_is_new_or_changed(built):
    before = load_retriever(built, encoder=UnitEncoder()).fingerprint
    changed = replace(CORPUS[3], text="an other text", metadata={"lang": "fr"})
    corpus = [*CORPUS[1:3], changed, *CORPUS[4:], Document("new", "", "zebra")]
    with pytest.raises(IndexMismatchError):
        build_engine_index(built, corpus, UnitEncoder())
    encoder = UnitEncoder()

    build_engine_index(built, corpus, encoder, update=True)

    assert sorted(encoder.encoded) == ["Title 3. an other text", "zebra"]
    assert {d.id: d for d in documents_of(built).values()} == {document.id: document for document in corpus}
    assert describe(built).corpus_hash == corpus_hash(corpus)
    assert load_retriever(built, encoder=UnitEncoder()).fingerprint != before
    assert load_retriever(f"{built}?mode=text").search(["zebra"], 5)[0].doc_ids == ("new",)


def test_an_interrupted_update_goes_on(built, monkeypatch):
    monkeypatch.setattr(build, "_BATCH", 2)
    new = [Document(f"n{row}", "", f"new {row}") for row in range(6)]
    with pytest.raises(KeyboardInterrupt):
        build_engine_index(built, new, FailingEncoder(2), update=True)
    with pytest.raises(IndexMismatchError):
        describe(built)
    encoder = UnitEncoder()

    build_engine_index(built, new, encoder, update=True)

    assert encoder.encoded == [document.text for document in new[2:]]
    assert set(documents_of(built)) == {document.id for document in new}
    assert describe(built).corpus_hash == corpus_hash(new)


@pytest.mark.parametrize(("engine", "size"), [("postgresql", 1_100_000), ("milvus", 70_000)])
def test_a_document_that_an_engine_cannot_hold_is_reported(engine_index, engine, size):
    index = engine_index(engine, "kept")
    words = " ".join(f"w{n}" for n in range(size // 6))

    with pytest.raises(SearchError):
        build_engine_index(index, [CORPUS[0], Document("n", "", words)], UnitEncoder())
    build_engine_index(index, CORPUS[:1], UnitEncoder(), update=True)

    assert list(documents_of(index)) == [CORPUS[0].id]


def test_ids_and_filters_may_contain_any_sign(index):
    signs = ['a"b', "c\\d", "e'f", "100%s", "{g}", "", "é 東"]
    corpus = [Document(f"id {sign}", "", f"text {sign}", {"sign": sign}) for sign in signs]
    build_engine_index(index, corpus, UnitEncoder())
    documents = documents_of(index)
    retriever = load_retriever(index, encoder=UnitEncoder())

    assert [documents[document.id] for document in corpus] == corpus
    for document in corpus:
        where = read_filter({"sign": document.metadata["sign"]})
        assert restrict(retriever, Scope(where)).search(["text"], 10)[0].doc_ids == (document.id,)
    build_engine_index(index, corpus[-1:], UnitEncoder(), update=True)
    assert list(documents_of(index)) == [corpus[-1].id]


def test_documents_are_read_page_by_page_whatever_their_ids(index, monkeypatch):
    monkeypatch.setattr(importlib.import_module(f"acqo_rl.retrieval.engines.{index.partition(':')[0]}"), "_PAGE", 3)
    corpus = [Document(f'{sign}"{row}', "", "text") for row in range(5) for sign in ("a", "é 東", "\\")]

    build_engine_index(index, corpus, UnitEncoder())

    assert {document.id for document in documents_of(index).values()} == {document.id for document in corpus}


def test_given_embeddings_are_written_as_they_are(index):
    embeddings = UnitEncoder().encode_queries([f"row {row}" for row in range(len(CORPUS))])
    encoder = UnitEncoder()

    build_engine_index(index, CORPUS, encoder, embeddings=embeddings)

    assert encoder.encoded == []
    assert load_retriever(index, encoder=encoder).search(["row 4"], 1)[0].doc_ids == ("d4",)
    with pytest.raises(DataError):
        build_engine_index(index, CORPUS, encoder, embeddings=np.zeros((3, 16), np.float32))


def test_what_does_not_fit_is_refused(built, index):
    other = UnitEncoder(fingerprint="other")
    for refused in (
        lambda: load_retriever(built, encoder=other),
        lambda: load_retriever(built, encoder=UnitEncoder(dim=8)),
        lambda: build_engine_index(built, CORPUS, other, update=True),
        lambda: load_retriever(built, encoder=UnitEncoder(), expected_corpus_hash="another"),
        lambda: load_retriever(f"{built}nothing", encoder=UnitEncoder()),
    ):
        with pytest.raises(IndexMismatchError):
            refused()
    for refused in (
        lambda: load_retriever(built),  # the encoder cannot be loaded from settings
        lambda: load_retriever(f"{built}?mode=both"),
        lambda: load_retriever(f"{built}?mode=text").search(["a"], 0),
        lambda: load_retriever(f"{built}?mode=text").search(["a"], 10**6),
    ):
        with pytest.raises(ConfigError):
            refused()
    assert len(documents_of(built)) == len(CORPUS)


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
    ],
)
def test_malformed_locations_are_refused(location):
    with pytest.raises(ConfigError):
        read_location(location)


@pytest.mark.parametrize("engine", ["qdrant", "milvus"])
def test_a_search_creates_no_folder_and_a_build_does(tmp_path, engine):
    folder = tmp_path / "new" / "deep" / "here.db"
    index = f"{engine}:{folder}/places"

    with pytest.raises(IndexMismatchError):
        load_retriever(index, encoder=UnitEncoder())

    assert not (tmp_path / "new").exists()
    build_engine_index(index, CORPUS[:2], UnitEncoder())
    assert folder.exists()


@pytest.mark.parametrize("location", ["postgres://me:secret@host/db/t", "weaviate://host/t", "Qdrant://host/t"])
def test_an_engine_that_is_not_known_is_refused_without_the_password(location):
    with pytest.raises(ConfigError) as caught:
        load_retriever(location)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("server", ["qdrant://127.0.0.1:9", "milvus://127.0.0.1:9", "postgresql://127.0.0.1:9/db"])
def test_an_engine_that_does_not_run_is_reported_within_seconds(server):
    begin = time.monotonic()

    with pytest.raises(SearchError):
        load_retriever(f"{server}/places?mode=text&timeout=1")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("mode", ["dense", "text", "hybrid"])
def test_a_search_sees_only_the_documents_of_its_tenant_and_filter(built, mode):
    retriever = load_retriever(f"{built}?mode={mode}&tenant=lang", encoder=UnitEncoder())
    of_all = load_retriever(f"{built}?mode={mode}", encoder=UnitEncoder())
    drafts = Scope(read_filter({"draft": True}), "en")

    [found] = restrict(retriever, drafts).search(["stone"], 100)

    assert set(found.doc_ids) == {d.id for d in CORPUS if d.metadata["lang"] == "en" and d.metadata["draft"]}
    assert len({restrict(retriever, scope).fingerprint for scope in (drafts, Scope(tenant="en"), Scope())}) == 3
    for part, scope in ((retriever, Scope()), (of_all, Scope(tenant="de"))):
        with pytest.raises(ConfigError):
            restrict(part, scope).search(["stone"], 5)
