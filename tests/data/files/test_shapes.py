"""JSON of other programs: objects in objects, conversations, bulk requests, judgements and queries by id."""

from __future__ import annotations

import json

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_beir, read_corpus, read_queries
from acqo_rl.data.files import write_files
from acqo_rl.errors import DataError
from acqo_rl.types import Document, Query

OSLO = Document("e1", "Oslo", "A city.", {})


@pytest.fixture
def corpus_of(tmp_path):
    def read(*rows, **fields):
        (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
        write_files(tmp_path / "out", [tmp_path / "d.jsonl"], **fields)
        return list(read_corpus(tmp_path / "out").values())

    return read


@pytest.fixture
def queries_of(tmp_path):
    def read(*rows, **fields):
        (tmp_path / "d.csv").write_text("id,text\nd1,one\n")
        (tmp_path / "q.json").write_text("\n".join(map(json.dumps, rows)))
        write_files(tmp_path / "out", [tmp_path / "d.csv"], [tmp_path / "q.json"], **fields)
        return read_queries(tmp_path / "out")

    return read


@pytest.mark.parametrize(
    "row",
    [
        {"_id": {"$oid": "e1"}, "title": "Oslo", "content": "A city."},
        {"id": "e1", "title": {"rendered": "Oslo"}, "content": {"rendered": "<p>A city.</p>", "protected": False}},
        {"_index": "x", "_type": "_doc", "_id": "e1", "_score": 1, "_source": {"title": "Oslo", "text": "A city."}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["x"],
            "kwargs": {"id": "e1", "title": "Oslo", "page_content": "A city."},
        },
    ],
)
def test_documents_in_objects_of_other_programs(corpus_of, row):
    assert corpus_of(row) == [OSLO]


def test_the_hits_of_elasticsearch_are_documents(corpus_of):
    hit = {"_index": "x", "_id": "e1", "_score": 1, "_source": {"title": "Oslo", "text": "A city."}}
    hits = {"total": {"value": 1, "relation": "eq"}, "max_score": 1.0, "hits": [hit]}
    assert corpus_of({"took": 1, "timed_out": False, "_shards": {"total": 1}, "hits": hits}) == [OSLO]


def test_types_of_mongodb_are_left_out_of_metadata(corpus_of):
    row = {
        "_id": "e1",
        "text": "a",
        "n": {"$numberInt": "3"},
        "at": {"$date": {"$numberLong": "7"}},
        "of": {"$x": 1, "y": 2},
    }
    assert corpus_of(row) == [Document("e1", "", "a", {"n": "3", "at": "7", "of": {"$x": 1, "y": 2}})]


@pytest.mark.parametrize("text", ["text=_source.body.main", "text=body.main"])
def test_nested_fields_are_named_with_dots(corpus_of, text):
    row = {"_id": "e1", "_source": {"title": "Oslo", "body": {"main": "A city.", "more": 1}}}
    if text == "text=body.main":
        row = {"_id": "e1", **row["_source"]}
    assert corpus_of(row, document_fields=[text]) == [Document("e1", "Oslo", "A city.", {"body": {"more": 1}})]
    with pytest.raises(DataError, match=r"body\.other"):
        corpus_of(row, document_fields=["text=body.other"])


def test_a_name_with_a_dot_may_be_that_of_a_column(corpus_of):
    assert corpus_of({"_id": "e1", "a.b": "one"}, document_fields=["text=a.b"]) == [Document("e1", "", "one")]


@pytest.mark.parametrize("action", [{"_index": "x", "_id": "e1"}, {"_id": "e1", "routing": "r"}])
@pytest.mark.parametrize("kind", ["index", "create"])
def test_documents_of_a_bulk_request_have_the_ids_of_their_actions(corpus_of, kind, action):
    other = {"title": "", "text": "Another."}
    found = corpus_of({kind: action}, {"title": "Oslo", "text": "A city."}, {"index": {}}, other)
    assert found == [OSLO, Document("2", "", "Another.")]


def test_a_field_called_index_is_no_action(corpus_of):
    assert corpus_of({"id": "a", "index": {"_id": 1}, "text": "one"})[0].id == "a"


CAST = {
    "number": 31,
    "title": "Towns",
    "turn": [{"number": 1, "raw_utterance": "Oslo?"}, {"number": 2, "raw_utterance": "How big?"}],
}
IKAT = {
    "number": "9-1",
    "title": "Towns",
    "ptkb": {"1": "I ski."},
    "turns": [
        {"turn_id": 1, "utterance": "Oslo?", "response": "A capital."},
        {"turn_id": 2, "utterance": "How big?", "resolved_utterance": "How big is Oslo?", "response": "Big."},
    ],
}


@pytest.mark.parametrize("topics", [[CAST], [[CAST]], [[{**CAST, "number": 30}, CAST]]])
def test_the_turns_of_trec_cast_are_queries(queries_of, topics):
    assert queries_of(*topics)[-2:] == [Query("31_1", "Oslo?"), Query("31_2", "How big?", read_history(("U: Oslo?",)))]


def test_the_turns_of_ikat_have_their_answers(queries_of):
    assert queries_of(IKAT) == [
        Query("9-1_1", "Oslo?"),
        Query("9-1_2", "How big?", read_history(("U: Oslo?", "S: A capital."))),
    ]
    assert queries_of({**IKAT, "turns": IKAT["turns"][1:]}, query_fields=["text=resolved_utterance"]) == [
        Query("9-1_2", "How big is Oslo?")
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"Conversation_no": 3, "Turn_no": 2, "Context": ["Oslo?", "A capital."], "Question": "How big?", "Answer": "x"},
    ],
)
def test_questions_with_the_turns_before_them(queries_of, row):
    assert queries_of(row) == [Query("3_2", "How big?", read_history(("U: Oslo?", "S: A capital.")))]


@pytest.mark.parametrize(
    ("row", "query"),
    [
        ({"id": "1", "question": "How big?", "context": ["Oslo is a city.", "It has trams."]}, Query("1", "How big?")),
        ({"number": 1, "title": "Towns", "turns": ["U: Oslo?"]}, Query("1", "Towns", read_history(("U: Oslo?",)))),
    ],
)
def test_other_rows_stay_as_they_are(queries_of, row, query):
    assert queries_of(row) == [query]


@pytest.mark.parametrize("field", ["relevant_docs", "positive_passages", "gold_passage", "qrels", "positive_ids"])
def test_judgements_beside_queries_are_reported(queries_of, caplog, field):
    queries_of({"id": "1", "query": "a", field: ["d1"]})
    assert field in caplog.text


def test_answers_beside_queries_are_no_judgements(queries_of, caplog):
    queries_of({"id": "1", "query": "a", "answers": ["b"], "gold": "b", "supporting_agent": "c"})
    assert caplog.text == ""


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ({"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 1, "d2": 0}}),
        ({"q1": {"d1": 2}, "q2": {"d2": True}}, {"q1": {"d1": 2}, "q2": {"d2": 1}}),
        ({"q1": ["d1", "d2"]}, {"q1": {"d1": 1, "d2": 1}}),
        ({"query": ["q1"], "document": ["d1"], "score": [2]}, {"q1": {"d1": 2}}),
        ({"query": {"0": "q1"}, "document": {"0": "d1"}, "score": {"0": 2}}, {"q1": {"d1": 2}}),
        ({"0": {"query": "q1", "document": "d1", "score": 2}}, {"q1": {"d1": 2}}),
    ],
)
def test_queries_and_judgements_by_id(tmp_path, judged, expected, indent):
    (tmp_path / "d.json").write_text(json.dumps({"d1": "one", "d2": "two"}, indent=indent))
    (tmp_path / "q.json").write_text(json.dumps({"q1": "which?", "q2": "who?"}, indent=indent))
    (tmp_path / "r.json").write_text(json.dumps(judged, indent=indent))
    write_files(tmp_path / "out", [tmp_path / "d.json"], [tmp_path / "q.json"], [f"test={tmp_path}/r.json"])
    data = read_beir(tmp_path / "out", "test")
    assert data.qrels["test"] == expected
    assert data.queries["test"] == [Query("q1", "which?"), Query("q2", "who?")][: len(expected)]
    assert data.corpus["d1"].text == "one"
