"""The BEIR reader and writer: what is written is read back."""

import json
import pickle

import pytest
from small_data_set import DOCUMENTS, METADATA, QRELS, QUERIES

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import (
    corpus_hash,
    read_beir,
    read_corpus,
    read_queries,
    read_splits,
    write_beir,
)
from acqo_rl.types import Document, Query


def test_round_trip(folder):
    assert list(read_corpus(folder).values()) == DOCUMENTS
    assert read_queries(folder) == QUERIES
    assert read_queries(folder, "test") == QUERIES[:1]
    assert set(read_splits(folder)) == QRELS.keys()
    data = read_beir(folder, "test", "dev")
    assert list(data.corpus.values()) == DOCUMENTS
    assert data.queries == {"test": QUERIES[:1], "dev": QUERIES[1:]}
    assert (data.qrels, data.metadata) == (QRELS, {**METADATA, "q2": {}})


def test_files_of_windows_read_the_same(folder):
    """With a byte order mark, blank lines and Windows line ends."""
    for path in [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"]:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert list(read_corpus(folder).values()) == DOCUMENTS
    assert read_queries(folder, "test") == QUERIES[:1]


def test_corpus_hash_tells_every_change():
    """Of what is searched: metadata is not, so that an index of the same texts stays valid."""
    assert corpus_hash([Document("d1", "Peru", "Lima is the capital."), DOCUMENTS[1]]) == corpus_hash(DOCUMENTS)
    others = [DOCUMENTS[::-1], DOCUMENTS[:1], [Document("d1", "Peru Lima", "is the capital."), DOCUMENTS[1]]]
    assert len({corpus_hash(documents) for documents in [DOCUMENTS, *others]}) == 4


def test_fields_of_their_own_are_metadata_and_what_may_be_missing_is_empty(tmp_path):
    row = {"_id": "a", "title": "A", "text": "x", "url": "http://a", "page": 3, "none": None, "metadata": {"page": 4}}
    lines = [json.dumps(row), '{"_id": "b", "text": "t", "metadata": {}}', '{"_id": "c", "text": "t"}']
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    documents = read_corpus(tmp_path)
    assert documents["a"] == Document("a", "A", "x", {"url": "http://a", "page": 4})
    assert documents["c"] == Document("c", "", "t")
    assert documents["b"].metadata == documents["c"].metadata == {}
    assert documents["b"].metadata is not documents["c"].metadata
    assert pickle.loads(pickle.dumps(documents)) == documents


def test_conversations_are_read_beside_the_text_and_written_in_one_form(folder):
    path = folder / "queries.jsonl"
    expected = [Query("q1", "t", read_history(("U: Peru?", "S: A country.")))]
    history = [{"role": "user", "content": "Peru?"}, {"role": "assistant", "content": "A country."}]
    for row in ({"history": history}, {"metadata": {"history": history, "kind": "x"}}):
        path.write_text(json.dumps({"_id": "q1", "text": "t", **row}) + "\n")
        assert read_queries(folder) == expected
    write_beir(folder, DOCUMENTS, expected, {}, read_beir(folder).metadata)
    assert json.loads(path.read_text())["metadata"] == {"kind": "x", "history": ["U: Peru?", "S: A country."]}


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
