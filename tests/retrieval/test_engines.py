"""What all search engines share: collections that other programs write, tenants and refusals."""

import time
from dataclasses import replace

import pytest
from engine_cases import CORPUS, UnitEncoder, drop_rows, located, put_documents, put_rows

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.engines.opening import documents_of, open_collection
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.types import Document, Scope

TEXTS = ["the river", "a stone", "the river and a stone"]
ONLY_POSTGRESQL = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)


@pytest.fixture
def built(engine, engine_index):
    """Locations of a collection with the documents of ``CORPUS``."""
    return put_documents(engine, engine_index(engine, "documents"), CORPUS)


def test_ids_and_filters_may_contain_any_sign(engine, engine_index):
    signs = ['a"b', "c\\d", "e'f", "100%s", "{g}", "", "é 東"]
    corpus = [Document(f"id {sign}", "", f"text {sign}", {"sign": sign}) for sign in signs]
    index = put_documents(engine, engine_index(engine, "signs"), corpus)()
    documents = documents_of(index)
    retriever = load_retriever(index, encoder=UnitEncoder())

    assert [documents[document.id] for document in corpus] == corpus
    for document in corpus:
        where = read_filter({"sign": document.metadata["sign"]})
        assert retriever.restrict(Scope(where)).search(["text"], 10)[0].doc_ids == (document.id,)


@ONLY_POSTGRESQL
def test_documents_are_read_page_by_page(built, monkeypatch):
    monkeypatch.setattr("acqo_rl.retrieval.engines.postgresql._PAGE", 3)

    assert {document.id: document for document in documents_of(built()).values()} == {d.id: d for d in CORPUS}


@pytest.mark.parametrize(
    "location",
    [
        "http+json:",
        "http+json:a.yaml?what=1",
        "http+json:a.yaml?mode=text",
        "http+json://host/a.yaml",
        "http+json:no/such.yaml",
        "langchain:no_module:store",
        "langchain:json",
        "langchain:json:loads?tenant=a",
        "postgresql://host:port/db/a",
        "postgresql://host/db/a?timeout=no",
        "postgresql://host/db/a?timeout=0",
        "postgresql://host/db/a?mode=1",
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


@pytest.mark.parametrize("engine", ["http+json", "postgresql"], indirect=True)
def test_an_engine_that_does_not_run_is_reported_within_seconds(engine, tmp_path):
    template = tmp_path / "search.yaml"
    template.write_text(
        "{url: 'http://127.0.0.1:9', search: {body: '{text}'}, answer: {hits: hits, id: id}}", encoding="utf-8"
    )
    places = {"http+json": f"{template}?timeout=1", "postgresql": "//127.0.0.1:9/db/places?mode=text&timeout=1"}
    begin = time.monotonic()

    with pytest.raises(SearchError):
        load_retriever(f"{engine}:{places[engine]}")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("mode", ["dense", "text", "hybrid"])
def test_a_search_sees_only_the_documents_of_its_tenant_and_filter(built, mode):
    retriever = load_retriever(built(mode, tenant="lang"), encoder=UnitEncoder())
    of_all = load_retriever(built(mode), encoder=UnitEncoder())
    drafts = Scope(read_filter({"draft": True}), "en")

    [found] = retriever.restrict(drafts).search(["stone"], 100)

    assert set(found.doc_ids) == {d.id for d in CORPUS if d.metadata["lang"] == "en" and d.metadata["draft"]}
    assert len({retriever.restrict(scope).fingerprint for scope in (drafts, Scope(tenant="en"), Scope())}) == 3
    for part, scope in ((retriever, Scope()), (of_all, Scope(tenant="de"))):
        with pytest.raises(ConfigError):
            part.restrict(scope).search(["stone"], 5)


@pytest.fixture
def index(engine, engine_index):
    """Two chunks of one page, and one of another."""
    index = engine_index(engine, "pages")
    rows = [
        {"key": f"p{n // 2}", "body": text, "owner": "me", "rate": 0.5, "tags": ["a"]} for n, text in enumerate(TEXTS)
    ]
    put_rows(engine, index, [{"number": number, **row} for number, row in enumerate(rows)])
    return index


def test_fields_are_named(engine, index):
    place = located(engine, index, metadata="", encoder="mine")
    retriever = load_retriever(place, encoder=UnitEncoder())
    documents = documents_of(place)

    [ranking] = retriever.search(["the river"], 5)
    [by_words] = load_retriever(located(engine, index, "text")).search(["stone"], 5)

    assert ranking.doc_ids == ("p0", "p1")
    assert ranking.scores[0] == pytest.approx(1, abs=1e-5)
    assert set(by_words.doc_ids) == {"p0", "p1"}
    shown = {"number": 2, "page": 0, "rate": 0.5, "draft": False, "day": "2024-01-01", "tags": ["a"], "more": {}}
    assert documents["p0"].text.split("\n") == TEXTS[:2]
    assert documents["p1"] == replace(Document("p1", "me", "the river and a stone"), metadata=documents["p1"].metadata)
    assert shown.items() <= documents["p1"].metadata.items()


def test_documents_have_ids_that_are_numbers_and_a_fingerprint_of_their_number(engine, index):
    place = located(engine, index, id="number", metadata="")
    [ranking] = load_retriever(place, encoder=UnitEncoder()).search(["a stone"], 1)
    documents = documents_of(place)
    before = open_collection(place).info.fingerprint
    counts = engine == "postgresql"

    assert ranking.doc_ids == ("1",)
    assert documents["1"].text == "a stone"
    assert not documents.fetch(["01", "nothing", "9" * 25, "²", "", "-1"])
    assert open_collection(place).info.fingerprint == before
    drop_rows(engine, index, [1])
    assert (open_collection(place).info.fingerprint != before) == counts


@ONLY_POSTGRESQL
def test_what_does_not_fit_is_refused(index):
    for options in ("text=nothing", *(f"text=body&{o}=nowhere" for o in ("id", "tenant", "vector")), "vector=owner"):
        with pytest.raises(IndexMismatchError):
            load_retriever(f"{index}?{options}", encoder=UnitEncoder())
    for place, dim in ((index, 8), (f"{index}nothing", 16)):
        with pytest.raises(IndexMismatchError):
            load_retriever(f"{place}?id=key&title=owner&text=body", encoder=UnitEncoder(dim=dim))
    for place in (f"{index}?id=key&title=owner&text=body", f"{index}?id=key&title=owner&text=body&mode=both"):
        with pytest.raises(ConfigError):
            load_retriever(place)
    with pytest.raises(ConfigError):
        load_retriever(f"{index}?id=key&title=owner&text=body&mode=text").search(["a"], 10**6)


def test_many_passages_of_one_document_do_not_displace_other_documents(engine, engine_index):
    index = engine_index(engine, "long")
    rows = [{"key": f"p{max(0, n - 29)}", "body": "the river" + (n > 29) * f" {n}"} for n in range(35)]
    put_rows(engine, index, [{"number": number, **row} for number, row in enumerate(rows)])

    retriever = load_retriever(located(engine, index), encoder=UnitEncoder())

    assert len(retriever.search(["the river"], 5)[0].doc_ids) == 5
    assert len(retriever.search(["the river", "a stone"], 50)[0].doc_ids) == 6


def test_a_collection_that_holds_nothing_of_a_corpus_is_refused(built):
    others = {f"other {d.id}": d for d in CORPUS}
    with pytest.raises(IndexMismatchError, match="'other d0'"):
        IndexSettings().open_index_of(built("text"), others)
    assert IndexSettings().open_index_of(built("text"), {d.id: d for d in CORPUS}).name == "bm25"
