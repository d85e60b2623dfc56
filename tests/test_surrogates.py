"""Lone surrogates are removed from all values, because files, tokenizers and JSON reject them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_corpus, read_queries, write_beir
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document, Query, well_formed

ANY = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("caf\u00e9 \U0001f600", "caf\u00e9 \U0001f600"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ufeffa\ud800", "\ufeffa\ufffd"),
    ],
)
def test_lone_surrogates_become_replacement_characters(text, expected):
    assert well_formed(text) == expected


@given(ANY)
def test_every_text_can_be_written(text):
    clean = well_formed(text)
    clean.encode()
    assert well_formed(clean) == clean
    if max(text, default="") < "\ud800":
        assert clean == text


def test_texts_with_broken_characters_are_written_indexed_and_searched(tmp_path):
    documents = [Document("d", "red \ud83d", "Red things."), Document("e", "", "Blue \ude00 things.")]
    queries = [Query("q", "red \ud83d", read_history(["where \ud83d?", "here"]))]
    write_beir(tmp_path, documents, queries, {"dev": {"q": {"d": 1}}})
    assert list(read_corpus(tmp_path).values()) == documents
    assert read_queries(tmp_path, "dev") == queries
    build_bm25_index(tmp_path / "index", documents)
    retriever = load_retriever(str(tmp_path / "index"))
    texts = [sub.text for made in Heuristic().reformulate(queries) for sub in made.sub_queries]
    assert [ranking.doc_ids for ranking in retriever.search([*texts, "blue \ude00", "\ude00"], 1)][-2:] == [("e",), ()]
