"""Qdrant collections that other programs wrote."""

from __future__ import annotations

import pytest
from engine_cases import UnitEncoder
from qdrant_client import models

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.retrieval.engines import qdrant
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import restrict
from acqo_rl.types import Document, Scope

TEXTS = ["the river", "a stone", "the river and a stone"]


@pytest.fixture
def folder(tmp_path):
    """Two chunks of one page and one of another, with fields of their own; and vectors of another metric."""
    client = qdrant._folder(str(tmp_path))
    client.create_collection("pages", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
    client.create_payload_index("pages", "body", scored)
    vectors = UnitEncoder().encode_queries(TEXTS)
    payloads = [{"page": f"p{row // 2}", "name": f"Page {row // 2}", "body": TEXTS[row], "n": row} for row in range(3)]
    points = [models.PointStruct(id=row, vector=vectors[row].tolist(), payload=payloads[row]) for row in range(3)]
    client.upsert("pages", points)
    client.create_collection("far", vectors_config=models.VectorParams(size=16, distance=models.Distance.EUCLID))
    return tmp_path


FIELDS = "id=page&title=name&text=body"


def test_fields_are_named_in_the_location(folder):
    retriever = load_retriever(f"qdrant:{folder}/pages?{FIELDS}&encoder=mine", encoder=UnitEncoder())

    [ranking] = retriever.search(["the river"], 5)

    assert sorted(ranking.doc_ids) == ["p0", "p1"]
    assert ranking.scores[0] == pytest.approx(1, abs=1e-6)
    documents = documents_of(f"qdrant:{folder}/pages?{FIELDS}")
    assert documents["p1"] == Document("p1", "Page 1", "the river and a stone", {"n": 2})
    by_words = load_retriever(f"qdrant:{folder}/pages?{FIELDS}&mode=text")
    assert by_words.search(["stone"], 5)[0].doc_ids == ("p0", "p1")


def test_points_without_an_id_field_are_known_by_their_own(folder):
    index = f"qdrant:{folder}/pages?text=body"

    assert load_retriever(index, encoder=UnitEncoder()).search(["a stone"], 1)[0].doc_ids == ("1",)
    assert documents_of(index)["1"].text == "a stone"


def test_collections_of_others_are_refused_where_they_do_not_fit(folder):
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{folder}/far", encoder=UnitEncoder())
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{folder}/pages?vector=other", encoder=UnitEncoder())
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{folder}/pages", encoder=UnitEncoder(dim=8))
    with pytest.raises(IndexMismatchError):
        build_engine_index(f"qdrant:{folder}/pages", [Document("a", "", "a")], UnitEncoder(), update=True)
    for field in ("text=words", "text=body&id=number"):
        with pytest.raises(IndexMismatchError):
            documents_of(f"qdrant:{folder}/pages?{field}")
    with pytest.raises(ConfigError):
        load_retriever(f"qdrant:{folder}/pages")
    assert len(documents_of(f"qdrant:{folder}/pages?{FIELDS}")) == 3


def test_documents_are_looked_up_by_fields_that_hold_numbers(folder):
    documents = documents_of(f"qdrant:{folder}/pages?id=n&text=body")

    assert documents["2"] == Document("2", "", "the river and a stone", {"page": "p1", "name": "Page 1"})
    assert "02" not in documents


def test_a_document_has_the_text_of_all_its_passages_and_counts_once(folder):
    documents = documents_of(f"qdrant:{folder}/pages?{FIELDS}")
    assert documents["p0"].text == "the river\na stone"
    assert [(doc_id, documents[doc_id].text) for doc_id in documents] == [
        ("p0", "the river\na stone"),
        ("p1", "the river and a stone"),
    ]


@pytest.mark.parametrize("mode", ["encoder=mine", "mode=text"])
def test_many_passages_of_one_document_do_not_displace_other_documents(tmp_path, mode):
    client = qdrant._folder(str(tmp_path))
    client.create_collection("pages", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
    client.create_payload_index("pages", "body", scored)
    texts = ["the river"] * 30 + ["the river and a stone"] * 5
    vectors = UnitEncoder().encode_queries(texts)
    client.upsert("pages", [
        models.PointStruct(id=row, vector=vectors[row].tolist(), payload={"page": f"p{max(0, row - 29)}", "body": text})
        for row, text in enumerate(texts)
    ])  # fmt: skip
    retriever = load_retriever(f"qdrant:{tmp_path}/pages?id=page&text=body&{mode}", encoder=UnitEncoder())
    assert len(retriever.search(["the river"], 5)[0].doc_ids) == 5
    assert len(retriever.search(["the river", "a stone"], 50)[0].doc_ids) == 6


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


def test_fields_may_have_spaces_and_points_without_the_id_are_left_out(tmp_path):
    client = qdrant._folder(str(tmp_path))
    client.create_collection("odd", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
    client.create_payload_index("odd", '"the body"', scored)
    vectors = UnitEncoder().encode_queries(TEXTS)
    payloads = [{"page id": f"p{row}", "the body": TEXTS[row], "head line": f"Page {row}"} for row in range(3)]
    del payloads[2]["page id"]
    points = [models.PointStruct(id=row, vector=vectors[row].tolist(), payload=payloads[row]) for row in range(3)]
    client.upsert("odd", points)
    index = f"qdrant:{tmp_path}/odd?id=page%20id&text=the%20body&title=head%20line"

    for mode in ("dense", "text"):
        retriever = load_retriever(f"{index}&mode={mode}", encoder=UnitEncoder())
        assert set(retriever.search(["the river stone"], 5)[0].doc_ids) == {"p0", "p1"}
    assert dict(documents_of(index)) == {f"p{row}": Document(f"p{row}", f"Page {row}", TEXTS[row]) for row in range(2)}
    tenants = load_retriever(f"{index}&tenant=head%20line", encoder=UnitEncoder())
    assert restrict(tenants, Scope(tenant="Page 1")).search(["a"], 5)[0].doc_ids == ("p1",)
    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{tmp_path}/odd?id=page%20no&text=the%20body", encoder=UnitEncoder())


def test_conditions_reach_fields_of_an_object_whose_name_has_spaces(tmp_path):
    client = qdrant._folder(str(tmp_path))
    client.create_collection("odd", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    vectors = UnitEncoder().encode_queries(TEXTS)
    payloads = [{"text": TEXTS[row], "meta data": {"owner": "ab"[row % 2], "of": {"n": row}}} for row in range(3)]
    payloads[2]["No."] = "third"
    points = [models.PointStruct(id=row, vector=vectors[row].tolist(), payload=payloads[row]) for row in range(3)]
    client.upsert("odd", points)
    index = f"qdrant:{tmp_path}/odd?metadata=meta%20data"

    retriever = load_retriever(index, encoder=UnitEncoder())
    assert restrict(retriever, Scope(read_filter({"of.n": 1}))).search(["a"], 5)[0].doc_ids == ("1",)
    tenants = load_retriever(f"{index}&tenant=owner", encoder=UnitEncoder())
    assert set(restrict(tenants, Scope(tenant="a")).search(["a"], 5)[0].doc_ids) == {"0", "2"}
    named = load_retriever(f"qdrant:{tmp_path}/odd?id=No.", encoder=UnitEncoder())
    assert named.search(["a"], 5)[0].doc_ids == ("third",)


def test_a_folder_that_is_a_file_is_reported(tmp_path):
    (tmp_path / "file").write_text("text")

    with pytest.raises(SearchError):
        load_retriever(f"qdrant:{tmp_path}/file/odd", encoder=UnitEncoder())


@pytest.mark.parametrize("doc_id", ["²", "\u0661", "01", "-1", "a", "", "99999999999999999999999"])
def test_an_id_that_no_point_can_have_is_not_found(folder, doc_id):
    assert doc_id not in documents_of(f"qdrant:{folder}/pages?text=body")


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_collection_without_a_text_index_is_refused_when_it_is_opened_for_full_text(folder, mode):
    qdrant._folder(str(folder)).delete_payload_index("pages", "body")

    with pytest.raises(IndexMismatchError):
        load_retriever(f"qdrant:{folder}/pages?{FIELDS}&mode={mode}", encoder=UnitEncoder())
    load_retriever(f"qdrant:{folder}/pages?{FIELDS}", encoder=UnitEncoder())


@pytest.mark.parametrize("name", ["", "body"])
def test_inner_products_are_searched_and_are_no_cosines(tmp_path, name):
    client = qdrant._folder(str(tmp_path))
    params = models.VectorParams(size=16, distance=models.Distance.DOT)
    vectors = UnitEncoder().encode_queries(TEXTS)
    client.create_collection("dots", vectors_config={name: params} if name else params)
    client.upsert("dots", [
        models.PointStruct(id=row, vector={name: vector} if name else vector, payload={"body": TEXTS[row]})
        for row, vector in enumerate((2 * vectors).tolist())
    ])  # fmt: skip

    retriever = load_retriever(f"qdrant:{tmp_path}/dots?text=body", encoder=UnitEncoder())
    [ranking] = retriever.search(["a stone"], 3)
    assert not retriever.cosine
    assert (ranking.doc_ids[0], ranking.scores[0]) == ("1", pytest.approx(2, abs=1e-6))


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"lt": "2024-01-02T12"}, {"0"}),
        ({"gte": "2024-01-02T13:00+01:00"}, {"1"}),
        ({"gt": "2024-01-02T12:00:00Z"}, set()),
    ],
)
def test_bounds_may_be_times_of_any_iso_form(tmp_path, bounds, found):
    client = qdrant._folder(str(tmp_path))
    client.create_collection("days", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    times = ("2024-01-01T12:00:00+00:00", "2024-01-02T12:00:00Z")
    points = [
        models.PointStruct(id=row, vector=[1.0] * 16, payload={"text": "a", "seen": time})
        for row, time in enumerate(times)
    ]
    client.upsert("days", points)
    retriever = load_retriever(f"qdrant:{tmp_path}/days", encoder=UnitEncoder())

    [ranking] = restrict(retriever, Scope(read_filter({"seen": bounds}))).search(["a"], 5)

    assert set(ranking.doc_ids) == found
