"""The BEIR reader and writer: what is written is read back, and every fault names its file and line."""

import gzip
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.data.beir import (
    corpus_hash,
    read_beir,
    read_corpus,
    read_qrels,
    read_queries,
    read_query_metadata,
    read_splits,
    write_beir,
)
from acqo_rl.errors import DataError
from acqo_rl.types import Document, Query

DOCUMENTS = [
    Document("d1", "Peru", "Lima is the capital.", {"url": "https://peru.example", "page": 3, "date": "2019-11-27"}),
    Document("d2", "", "Ein Satz über Köln.\u2028Zwei."),
]
QUERIES = [Query("q1", "and its capital?", ("U: Let's talk about Peru.", "S: Sure.")), Query("q2", "köln")]
QRELS = {"dev": {"q2": {"d2": 1}}, "test": {"q1": {"d1": 2, "d2": 0}}}
METADATA = {"q1": {"kind": "ambiguous", "needs": 1}}


@pytest.fixture
def folder(tmp_path):
    write_beir(tmp_path, DOCUMENTS, QUERIES, QRELS, METADATA)
    return tmp_path


def test_round_trip(folder):
    assert list(read_corpus(folder).values()) == DOCUMENTS
    assert read_queries(folder) == QUERIES
    assert read_queries(folder, "test") == QUERIES[:1]
    assert {split: read_qrels(folder, split) for split in read_splits(folder)} == QRELS
    assert read_query_metadata(folder) == {**METADATA, "q2": {}}
    data = read_beir(folder, "test", "dev")
    assert list(data.corpus.values()) == DOCUMENTS
    assert data.queries == {"test": QUERIES[:1], "dev": QUERIES[1:]}
    assert (data.qrels, data.metadata) == (QRELS, {**METADATA, "q2": {}})


def test_metadata_of_documents_is_pickled_with_them(folder):
    read = read_corpus(folder)
    assert pickle.loads(pickle.dumps(read)) == read
    assert read["d1"].metadata["page"] == 3
    assert read["d2"].metadata == {}
    assert len(set(read.values())) == 2


def test_documents_without_metadata_share_the_empty_one(tmp_path):
    """A mapping for each of millions of documents would take hundreds of megabytes."""
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "t", "metadata": {}}\n{"_id": "b", "text": "t"}\n')
    read = read_corpus(tmp_path)
    assert read["a"].metadata is read["b"].metadata


def test_gzipped_files_read_the_same(folder):
    for path in [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert list(read_corpus(folder).values()) == DOCUMENTS
    assert read_queries(folder, "test") == QUERIES[:1]
    assert read_qrels(folder, "test") == QRELS["test"]


def test_same_values_give_the_same_bytes(folder, tmp_path):
    again = tmp_path / "again"
    write_beir(again, DOCUMENTS, QUERIES, QRELS, METADATA)
    for name in ["corpus.jsonl", "queries.jsonl", "qrels/dev.tsv", "qrels/test.tsv"]:
        assert (again / name).read_bytes() == (folder / name).read_bytes()
    assert not list(again.rglob("*.tmp"))


def test_an_interrupted_write_leaves_the_old_file(folder):
    def broken():
        yield DOCUMENTS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_beir(folder, broken(), QUERIES, QRELS)
    assert list(read_corpus(folder).values()) == DOCUMENTS


def test_byte_order_mark_blank_lines_and_windows_line_ends(folder):
    for path in [folder / "corpus.jsonl", folder / "qrels" / "test.tsv"]:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert list(read_corpus(folder).values()) == DOCUMENTS
    assert read_qrels(folder, "test") == QRELS["test"]


def test_fields_of_their_own_are_metadata_of_the_document(tmp_path):
    row = {"_id": "a", "title": "A", "text": "x", "url": "http://a", "page": 3, "none": None, "metadata": {"page": 4}}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(row) + "\n")
    assert read_corpus(tmp_path) == {"a": Document("a", "A", "x", {"url": "http://a", "page": 4})}


def test_fields_of_their_own_must_be_json(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x", "weight": 1e999}\n')
    with pytest.raises(DataError, match="line 1"):
        read_corpus(tmp_path)


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_is_read_like_lines(folder, indent):
    lines = (folder / "queries.jsonl").read_text().splitlines()
    before = read_queries(folder)
    (folder / "queries.jsonl").write_text(json.dumps([json.loads(line) for line in lines], indent=indent))
    assert read_queries(folder) == before
    (folder / "queries.jsonl").write_text(json.dumps([{"_id": "q1", "text": "x"}, 5]))
    with pytest.raises(DataError, match="line 2"):
        read_queries(folder)


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ({"docid": "a", "contents": "x"}, {"qid": "q", "query": "y"}),
        ({"id": "a", "contents": "x"}, {"query_id": "q", "text": "y"}),
        ({"doc_id": "a", "text": "x"}, {"id": "q", "question": "y"}),
    ],
)
def test_field_names_of_other_programs_are_read(tmp_path, document, query):
    (tmp_path / "corpus.jsonl").write_text(json.dumps(document))
    (tmp_path / "queries.jsonl").write_text(json.dumps(query))
    assert read_corpus(tmp_path) == {"a": Document("a", "", "x")}
    assert read_queries(tmp_path) == [Query("q", "y")]


def test_title_and_metadata_may_be_missing(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "t"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "t"}\n')
    assert read_corpus(tmp_path) == {"d": Document("d", "", "t")}
    assert read_queries(tmp_path) == [Query("q", "t")]


def test_long_and_odd_queries_survive(folder):
    """100,000 characters, control characters, and a line break inside a text."""
    queries = [Query("q1", "x" * 100_000), Query("q2", "tab\t null\x00 bell\x07 line\nend\r")]
    write_beir(folder, DOCUMENTS, queries, QRELS)
    assert read_queries(folder) == queries


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), min_size=1))
def test_any_text_survives(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("beir")
    documents = [Document(f"d{number}", title, text) for number, (title, text) in enumerate(texts)]
    queries = [Query(f"q{number}", text, (title,)) for number, (title, text) in enumerate(texts)]
    write_beir(folder, documents, queries, {})
    assert list(read_corpus(folder).values()) == documents
    assert read_queries(folder) == queries


def test_corpus_hash_tells_every_change():
    """Of what is searched: metadata is not, so that an index of the same texts stays valid."""
    same = [Document("d1", "Peru", "Lima is the capital."), DOCUMENTS[1]]
    assert corpus_hash(same) == corpus_hash(DOCUMENTS)
    others = [DOCUMENTS[::-1], DOCUMENTS[:1], [Document("d1", "Peru Lima", "is the capital."), DOCUMENTS[1]]]
    assert len({corpus_hash(documents) for documents in [DOCUMENTS, *others]}) == 4


BAD_LINES = [
    ('{"_id": "d3", "text": ', "not JSON"),
    ("[1, 2]", "[1, 2]"),
    ('{"text": "t"}', "no '_id'"),
    ('{"_id": "d3"}', "no 'text'"),
    ('{"_id": true, "text": "t"}', "_id is True"),
    ('{"_id": null, "text": "t"}', "_id is null or NaN"),
    ('{"_id": "d3", "text": null}', "text is null or NaN"),
    ('{"_id": "d3", "text": NaN}', "text is null or NaN"),
    ('{"_id": "d3", "text": 1e999}', "text is inf"),
    ('{"_id": "d3", "text": -Infinity}', "not JSON"),
    (f'{{"_id": "d3", "text": {"9" * 5000}}}', "not JSON"),
    ('{"_id": "d3", "title": ["t"], "text": "t"}', "title is"),
    ('{"_id": "", "text": "t"}', "_id is empty"),
    ('{"_id": " ", "text": "t"}', "_id is empty"),
    ('{"_id": "d 3", "text": "t"}', "_id is 'd 3'"),
    ('{"_id": "d1", "text": "t"}', "_id 'd1'"),
    ('{"_id": " d1 ", "text": "t"}', "_id 'd1'"),
    ("[" * 100_000, "not JSON"),
    ('{"_id": "d3", "text": "t", "metadata": ["url"]}', "metadata is ['url']"),
    ('{"_id": "d3", "text": "t", "metadata": {"score": 1e999}}', "metadata is {'score': inf}"),
]


def test_a_broken_emoji_is_read_as_a_replacement_character_and_counted(folder, caplog):
    """A whole emoji that is written as two escapes is read as it is."""
    lines = {
        "corpus.jsonl": [r'{"_id": "d3", "title": "\ud83d", "text": "\uD83D\uDE00", "metadata": {"url": "a\ude00"}}'],
        "queries.jsonl": [r'{"_id": "q3", "text": "b\ud83d", "metadata": {"history": ["U: c\ud83d", "S: d"]}}'],
    }
    for name, more in lines.items():
        with (folder / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in more)
    document, query = read_corpus(folder)["d3"], read_queries(folder)[-1]
    assert (document.title, document.text, document.metadata) == ("\ufffd", "\U0001f600", {"url": "a\ufffd"})
    assert (query.text, [str(turn) for turn in query.history]) == ("b\ufffd", ["U: c\ufffd", "S: d"])
    assert [(record.args[0].name, record.args[1]) for record in caplog.records] == [(name, 1) for name in lines]


@pytest.mark.parametrize(("line", "problem"), BAD_LINES)
def test_a_bad_corpus_line_is_named(folder, line, problem):
    path = folder / "corpus.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_corpus(folder)
    assert f"{path}, line 3: " in str(error.value)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    "history",
    [
        ["Peru?", "A country."],
        [{"role": "user", "content": "Peru?"}, {"role": "assistant", "content": "A country."}],
        [{"question": "Peru?", "answer": "A country."}],
        [["Peru?", "A country."]],
        "User: Peru?\nAssistant: A country.",
    ],
)
def test_conversations_come_in_many_shapes_and_are_written_in_one(folder, history):
    path = folder / "queries.jsonl"
    path.write_text(json.dumps({"_id": "q1", "text": "t", "history": history}) + "\n")
    assert read_queries(folder) == [Query("q1", "t", ("U: Peru?", "S: A country."))]
    path.write_text(json.dumps({"_id": "q1", "text": "t", "metadata": {"history": history, "kind": "x"}}) + "\n")
    queries = read_queries(folder)
    assert queries == [Query("q1", "t", ("U: Peru?", "S: A country."))]
    write_beir(folder, DOCUMENTS, queries, {}, read_query_metadata(folder))
    row = json.loads(path.read_text())
    assert row["metadata"] == {"kind": "x", "history": ["U: Peru?", "S: A country."]}
    assert read_queries(folder) == queries


@pytest.mark.parametrize(
    "metadata", [[1], "x", {"history": 3}, {"history": ["U: hi", 2]}, {"history": [{"role": "user"}]}]
)
def test_bad_metadata_is_named(folder, metadata):
    path = folder / "queries.jsonl"
    path.write_text(json.dumps({"_id": "q1", "text": "t", "metadata": metadata}) + "\n")
    with pytest.raises(DataError, match=r"queries\.jsonl, line 1: metadata"):
        read_queries(folder)


@pytest.mark.parametrize(
    ("lines", "number", "problem"),
    [
        (["frage\tdokument\twert", "q1\td1\t1"], 1, "score is 'wert'"),
        (["query-id\tcorpus-id", "q1\td1"], 1, "found 2 columns"),
        (["q1 d 1 1 1"], 1, "found 5 columns"),
        (["q1\t\t1"], 1, "an empty id"),
        (["q1\td1\tNaN"], 1, "score is 'NaN'"),
        (["q1\td1\t1", "q1 0 d2"], 2, "score is 'd2'"),
        (["query-id\tcorpus-id\tscore", "q1\td1"], 2, "found 2 columns"),
        (["query-id\tcorpus-id\tscore", "q1\td1\t0.5"], 2, "score is '0.5'"),
        (["query-id\tcorpus-id\tscore", "q1\td1\t1", "q1\td1\t2"], 3, "judged 1 before and 2 here"),
    ],
)
def test_bad_qrels_are_named(folder, lines, number, problem):
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"test\.tsv, line {number}: .*{problem}"):
        read_qrels(folder, "test")


HEADERS = [
    "query-id\tcorpus-id\tscore",
    "query_id\tdoc_id\trelevance",
    "QID\tDOCNO\tREL",
    "\tquery-id\tcorpus-id\tscore",
    "score,doc-id,topic",
    "query_id;doc_id;score",
    "query_id 0 docid label",
    '"query-id"\t"corpus-id"\t"score"',
    "",
    "TREC",
]


@pytest.mark.parametrize("header", HEADERS)
def test_judgements_are_read_under_any_usual_header_and_without_one(folder, header):
    rows = {
        "\tquery-id\tcorpus-id\tscore": ["0\tq1\td1\t2", "1\tq1\td2\t0"],
        "score,doc-id,topic": ["2.0,d1,q1", "0.0,d2,q1"],
        "query_id;doc_id;score": ["q1;d1;2", "q1;d2;0"],
        "query_id 0 docid label": ["q1 0 d1 2", "q1 0 d2 0"],
        '"query-id"\t"corpus-id"\t"score"': ['"q1"\t"d1"\t"2"', '"q1"\t"d2"\t"0"'],
        "": ["q1\td1\t2.0", "q1\td2\t0.0"],
        "TREC": ["q1 0 d1 2", "q1\tQ0\td2\t0"],
    }.get(header, ["q1\td1\t2", "q1\td2\t0"])
    lines = [header, *rows] if header != "TREC" else rows
    (folder / "qrels" / "test.tsv").write_bytes("\r\n".join(["\ufeff" + lines[0], *lines[1:], ""]).encode())
    data = read_beir(folder, "test")
    assert data.qrels["test"] == QRELS["test"]
    assert data.queries["test"] == QUERIES[:1]


def test_an_export_of_pandas_is_read(tmp_path):
    """Numbers as ids, NaN as title, objects with roles, scores such as 1.0, no header that BEIR knows."""
    rows = [
        {"_id": 7, "title": float("nan"), "text": "Lima", "metadata": {"page": float("nan"), "url": "https://p"}},
        {"_id": 8.0, "title": 1984, "text": "Ndjamena", "metadata": None},
    ]
    turns = [{"role": "user", "content": "Peru?"}, {"role": "assistant", "content": "A country."}]
    asked = [{"_id": 1.0, "text": "t", "metadata": {"history": turns}}, {"_id": 2, "text": 42, "metadata": None}]
    for name, written in (("corpus", rows), ("queries", asked)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in written))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query_id\tdoc_id\tscore\n1.0\t7\t1.0\n2\t8.0\t2.0\n")
    data = read_beir(tmp_path, "test")
    peru = Document("7", "", "Lima", {"page": None, "url": "https://p"})
    assert list(data.corpus.values()) == [peru, Document("8", "1984", "Ndjamena")]
    assert data.queries["test"] == [Query("1", "t", ("U: Peru?", "S: A country.")), Query("2", "42")]
    assert data.qrels["test"] == {"1": {"7": 1}, "2": {"8": 2}}


def test_ids_are_compared_whatever_their_normal_form(tmp_path):
    """The corpus keeps the ids that it has, so that its hash does not change."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    write_beir(tmp_path, [Document(decomposed, "", "t"), Document("d2", "", "u")], [Query(composed, "?")], {})
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(f"{decomposed}\t{composed}\t1\n{composed}\td2\t1\n", encoding="utf-8")
    data = read_beir(tmp_path, "test")
    assert list(data.corpus) == [decomposed, "d2"]
    assert data.qrels["test"] == {composed: {decomposed: 1, "d2": 1}}


def test_every_fault_of_a_folder_is_listed_at_once(folder, caplog):
    corpus, queries, qrels = folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"
    corpus.write_text('{"_id": "d 1", "title": ["x"], "text": null}\nno JSON\n{"_id": "d2", "text": "t"}\n')
    queries.write_text('{"_id": "q1"}\n{"_id": "q2", "text": "t", "metadata": {"history": 3}}\n')
    qrels.write_text("q1\td2\t0.5\nq1\td2\nq1\td1\t1\nq1\td2\t1\n")
    with pytest.raises(DataError) as error:
        read_beir(folder, "test", "train")
    lines = str(error.value).split("\n")
    assert lines[0].startswith("9 faults")
    assert not caplog.records  # d1 is missing only because of a fault
    numbers = {corpus: [1, 1, 1, 2], queries: [1, 2], qrels: [1, 2]}
    wanted = [f"{path}, line {number}: " for path, lines in numbers.items() for number in lines]
    assert len(lines[1:]) == len([*wanted, "train"])
    assert all(
        line.startswith(start) for line, start in zip(lines[1:], [*wanted, f"{folder}/qrels/train.tsv: "], strict=True)
    )


def test_faults_beyond_twenty_are_counted(folder):
    (folder / "corpus.jsonl").write_text('{"_id": "d"}\n' * 1000 + "{\n" * 500)
    (folder / "queries.jsonl").write_text('{"_id": ""}\n' * 2)
    with pytest.raises(DataError) as error:
        read_beir(folder)
    lines = str(error.value).split("\n")
    assert len(lines) <= 24
    assert any(line.startswith(f"{folder}/queries.jsonl, line 1: ") for line in lines)
    assert "2,503" in lines[0]


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (["q1, d1, 1", "q2, d2, 0"], {"q1": {"d1": 1}, "q2": {"d2": 0}}),
        (["q1; d1; 1"], {"q1": {"d1": 1}}),
        (["query-id, corpus-id, score", "q1, d1, 1"], {"q1": {"d1": 1}}),
        (["query-id,corpus-id,score", "3,A 1,1", "3,B,1"], {"3": {"A 1": 1, "B": 1}}),
        (["query-id;corpus-id;score", "3;A, 1;1"], {"3": {"A, 1": 1}}),
        (['"q1","d,1","1"'], {"q1": {"d,1": 1}}),
        (["qid,docid,label", '"q1","d,1",1', "q2,d2,1"], {"q1": {"d,1": 1}, "q2": {"d2": 1}}),
        (["q1 0 d,1 1"], {"q1": {"d,1": 1}}),
        (["q1 d,1;2 1"], {"q1": {"d,1;2": 1}}),
        (["q1\td 1\t1"], {"q1": {"d 1": 1}}),
        (["q1,0,d1,1", "q1,0,d 2,1"], {"q1": {"d1": 1, "d 2": 1}}),
    ],
)
def test_the_first_line_of_judgements_tells_what_separates_them(folder, lines, read):
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    assert read_qrels(folder, "test") == read


def test_every_empty_file_is_named(folder):
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_text("")
    with pytest.raises(DataError) as error:
        read_beir(folder, "test")
    assert all(f"{folder}/{name}: " in str(error.value) for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"))


@pytest.mark.parametrize(("faults_of_corpus", "shown"), [(13, 16), (30, 20)])
def test_as_many_faults_are_shown_as_there_is_room_for(folder, faults_of_corpus, shown):
    (folder / "corpus.jsonl").write_text("no JSON\n" * faults_of_corpus)
    (folder / "queries.jsonl").write_text("no JSON\n" * 3)
    with pytest.raises(DataError) as error:
        read_beir(folder)
    assert str(error.value).count("not JSON") == shown


def test_a_conversation_in_json_text_is_read(folder):
    history = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    row = {"_id": "q1", "text": "x", "metadata": {"history": history}}
    (folder / "queries.jsonl").write_text(json.dumps(row) + "\n")
    [query] = read_queries(folder)
    assert [str(turn) for turn in query.history] == ["U: a", "S: b"]


def test_judgements_of_what_is_not_there_are_left_out_and_counted(folder, caplog):
    path = folder / "qrels" / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t1\nq9\td1\t1\nq2\td8\t1\nq2\td1\t0\n")
    data = read_beir(folder, "test")
    assert data.qrels["test"] == {"q1": {"d1": 1}}
    assert data.queries["test"] == QUERIES[:1]
    [record] = caplog.records
    assert all(said in record.message for said in (str(path), " 3 ", " 1 ", "'d9'"))
    assert [query.id for query in read_queries(folder, "test")] == ["q1", "q2"]
    assert read_qrels(folder, "test")["q9"] == {"d1": 1}


def test_a_split_without_any_judgement_of_the_folder_is_refused(folder):
    (folder / "qrels" / "test.tsv").write_text("q1\td8\t1\nq1\td9\t1\n")
    with pytest.raises(DataError, match=r"test\.tsv: .*'d8'"):
        read_beir(folder, "test")


def test_missing_and_empty_files(folder):
    with pytest.raises(DataError, match=r"train\.tsv: .* dev, test"):
        read_qrels(folder, "train")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(DataError, match=r"test\.tsv"):
        read_qrels(folder, "test")
    (folder / "corpus.jsonl").write_text("\n\n")
    with pytest.raises(DataError, match=r"corpus\.jsonl"):
        read_corpus(folder)
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(DataError, match=r"corpus\.jsonl: no such file"):
        read_corpus(folder)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="missing: no such folder; give a BEIR folder"):
        read_qrels(tmp_path / "missing", "train")


def test_bytes_that_are_not_text(folder):
    path = folder / "corpus.jsonl"
    path.write_bytes(path.read_bytes() + b'{"_id": "d3", "text": "K\xf6ln"}\n')
    with pytest.raises(DataError, match=r"line 3: not UTF-8"):
        read_corpus(folder)
    zipped = path.with_name("corpus.jsonl.gz")
    zipped.write_bytes(gzip.compress(b'{"_id": "d", "text": "t"}\n')[:-8])
    path.unlink()
    with pytest.raises(DataError, match=r"corpus\.jsonl\.gz"):
        read_corpus(folder)
    zipped.write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"corpus\.jsonl\.gz"):
        read_corpus(folder)


IDS = st.sampled_from(["d1", "d2", "q1", 1, 1.0, "1", "d 1", " d1", "caf\u00e9", "cafe\u0301", "", None, True, [], {}])
VALUES = st.one_of(IDS, st.text(max_size=5), st.floats(), st.integers(), st.lists(st.text(max_size=3), max_size=2))
HISTORIES = st.one_of(VALUES, st.lists(VALUES), st.dictionaries(st.sampled_from(["role", "content", "text"]), VALUES))
ANY_METADATA = st.one_of(VALUES, st.fixed_dictionaries({}, optional={"history": HISTORIES, "url": VALUES}))
ROWS = st.fixed_dictionaries(
    {}, optional={"_id": IDS, "id": IDS, "title": VALUES, "text": VALUES, "metadata": ANY_METADATA}
)
JSON_LINES = st.one_of(ROWS.map(json.dumps), VALUES.map(json.dumps), st.text(max_size=8)).map(
    lambda line: line.encode("utf-8", "surrogatepass")
)
CELLS = st.one_of(IDS.map(str), st.sampled_from(["query-id", "docid", "score", "1", "0", "1.0", "2e3", "-1", "x"]))
QRELS_LINES = st.builds(
    lambda cells, separator: separator.join(cells).encode("utf-8", "surrogatepass"),
    st.lists(CELLS, max_size=5),
    st.sampled_from(["\t", " ", ",", ";", "\t\t"]),
)


@given(*(st.lists(lines, max_size=6) for lines in (JSON_LINES, JSON_LINES, QRELS_LINES)))
def test_any_folder_is_read_or_its_faults_are_listed(tmp_path_factory, corpus, queries, qrels):
    folder = tmp_path_factory.mktemp("any")
    (folder / "qrels").mkdir()
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/test.tsv", qrels)):
        (folder / name).write_bytes(b"\n".join(lines))
    try:
        data = read_beir(folder, "test")
    except DataError as error:
        assert str(folder) in str(error)
        return
    assert {query.id for query in data.queries["test"]} == set(data.qrels["test"])
    assert {doc_id for judged in data.qrels["test"].values() for doc_id in judged} <= set(data.corpus)
    write_beir(folder / "again", data.corpus.values(), data.queries["test"], data.qrels, data.metadata)
    again = read_beir(folder / "again", "test")
    assert (again.corpus, again.queries, again.qrels) == (data.corpus, data.queries, data.qrels)
