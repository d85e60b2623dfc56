"""Collections that other programs write, in every engine."""

from __future__ import annotations

import pytest
from engine_cases import UnitEncoder, drop_rows, put_rows

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.retrieval.engines.opening import documents_of, open_collection
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document

TEXTS = ["the river", "a stone", "the river and a stone"]
FIELDS = "id=key&title=owner&text=body"


@pytest.fixture
def index(engine, engine_index):
    """Two chunks of one page, and one of another."""
    index = engine_index(engine, "pages")
    rows = [
        {"key": f"p{n // 2}", "body": text, "owner": "me", "rate": 0.5, "tags": ["a"]} for n, text in enumerate(TEXTS)
    ]
    put_rows(engine, index, [{"number": number, **row} for number, row in enumerate(rows)])
    return index


def test_fields_are_named_in_the_location(index):
    retriever = load_retriever(f"{index}?{FIELDS}&encoder=mine", encoder=UnitEncoder())
    documents = documents_of(f"{index}?{FIELDS}")

    [ranking] = retriever.search(["the river"], 5)
    [by_words] = load_retriever(f"{index}?{FIELDS}&mode=text").search(["stone"], 5)

    assert ranking.doc_ids == ("p0", "p1")
    assert ranking.scores[0] == pytest.approx(1, abs=1e-5)
    assert set(by_words.doc_ids) == {"p0", "p1"}
    shown = {"number": 2, "page": 0, "rate": 0.5, "draft": False, "day": "2024-01-01", "tags": ["a"], "more": {}}
    assert documents["p0"].text.split("\n") == TEXTS[:2]
    assert documents["p1"] == Document("p1", "me", "the river and a stone", shown)


def test_documents_have_ids_that_are_numbers_and_a_fingerprint_of_their_number(engine, index):
    place = f"{index}?id=number&text=body"
    [ranking] = load_retriever(place, encoder=UnitEncoder()).search(["a stone"], 1)
    documents, before = documents_of(place), open_collection(place).info.fingerprint

    assert ranking.doc_ids == ("1",)
    assert documents["1"].text == "a stone"
    assert not documents.fetch(["01", "nothing", "9" * 25, "²", "", "-1"])
    assert open_collection(place).info.fingerprint == before
    drop_rows(engine, index, [1])
    assert open_collection(place).info.fingerprint != before


def test_what_does_not_fit_is_refused(index):
    for options in ("text=nothing", *(f"text=body&{o}=nowhere" for o in ("id", "tenant", "vector")), "vector=owner"):
        with pytest.raises(IndexMismatchError):
            load_retriever(f"{index}?{options}", encoder=UnitEncoder())
    for place, dim in ((index, 8), (f"{index}nothing", 16)):
        with pytest.raises(IndexMismatchError):
            load_retriever(f"{place}?{FIELDS}", encoder=UnitEncoder(dim=dim))
    for place in (f"{index}?{FIELDS}", f"{index}?{FIELDS}&mode=both"):
        with pytest.raises(ConfigError):
            load_retriever(place)
    with pytest.raises(ConfigError):
        load_retriever(f"{index}?{FIELDS}&mode=text").search(["a"], 10**6)


def test_many_passages_of_one_document_do_not_displace_other_documents(engine, engine_index):
    index = engine_index(engine, "long")
    rows = [{"key": f"p{max(0, n - 29)}", "body": "the river" + (n > 29) * f" {n}"} for n in range(35)]
    put_rows(engine, index, [{"number": number, **row} for number, row in enumerate(rows)])

    retriever = load_retriever(f"{index}?id=key&text=body", encoder=UnitEncoder())

    assert len(retriever.search(["the river"], 5)[0].doc_ids) == 5
    assert len(retriever.search(["the river", "a stone"], 50)[0].doc_ids) == 6
