"""The BEIR reader and writer: what is written is read back."""

import gzip
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_data_set import DOCUMENTS, METADATA, QRELS, QUERIES

from acqo_rl.conversations import read_history
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
    queries = [Query(f"q{number}", f"q{text}", read_history((title,))) for number, (title, text) in enumerate(texts)]
    write_beir(folder, documents, queries, {})
    assert list(read_corpus(folder).values()) == documents
    assert read_queries(folder) == queries


def test_corpus_hash_tells_every_change():
    """Of what is searched: metadata is not, so that an index of the same texts stays valid."""
    same = [Document("d1", "Peru", "Lima is the capital."), DOCUMENTS[1]]
    assert corpus_hash(same) == corpus_hash(DOCUMENTS)
    others = [DOCUMENTS[::-1], DOCUMENTS[:1], [Document("d1", "Peru Lima", "is the capital."), DOCUMENTS[1]]]
    assert len({corpus_hash(documents) for documents in [DOCUMENTS, *others]}) == 4


@pytest.mark.parametrize(
    "history",
    [
        ["Peru?", "A country."],
        [{"role": "user", "content": "Peru?"}, {"role": "assistant", "content": "A country."}],
        [["Peru?", "A country."]],
        "User: Peru?\nAssistant: A country.",
    ],
)
def test_conversations_come_in_many_shapes_and_are_written_in_one(folder, history):
    path = folder / "queries.jsonl"
    path.write_text(json.dumps({"_id": "q1", "text": "t", "history": history}) + "\n")
    assert read_queries(folder) == [Query("q1", "t", read_history(("U: Peru?", "S: A country.")))]
    path.write_text(json.dumps({"_id": "q1", "text": "t", "metadata": {"history": history, "kind": "x"}}) + "\n")
    queries = read_queries(folder)
    assert queries == [Query("q1", "t", read_history(("U: Peru?", "S: A country.")))]
    write_beir(folder, DOCUMENTS, queries, {}, read_query_metadata(folder))
    row = json.loads(path.read_text())
    assert row["metadata"] == {"kind": "x", "history": ["U: Peru?", "S: A country."]}
    assert read_queries(folder) == queries


@pytest.mark.parametrize(
    "lines",
    [
        ["query-id\tcorpus-id\tscore", "q1\td1\t2", "q1\td2\t0"],
        ["q1\td1\t2", "q1\td2\t0"],
        ["q1 0 d1 2", "q1\tQ0\td2\t0"],
    ],
)
def test_judgements_of_beir_and_of_trec(folder, lines):
    (folder / "qrels" / "test.tsv").write_bytes("\r\n".join(["\ufeff" + lines[0], *lines[1:], ""]).encode())
    data = read_beir(folder, "test")
    assert data.qrels["test"] == QRELS["test"]
    assert data.queries["test"] == QUERIES[:1]
