"""Lone surrogates are removed from all values, because files, tokenizers and JSON reject them."""

from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_corpus, read_queries, write_beir
from acqo_rl.types import Document, Query, well_formed


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_can_be_written(text):
    clean = well_formed(text)
    clean.encode()
    assert well_formed(clean) == clean
    if max(text, default="") < "\ud800":
        assert clean == text


def test_a_pair_is_joined_and_a_half_replaced_in_whatever_is_written(tmp_path):
    assert well_formed("\ud83d\ude00 \ude00\ud83d") == "\U0001f600 \ufffd\ufffd"
    documents = [Document("d", "red \ud83d", "Red things."), Document("e", "", "Blue \ude00 things.")]
    queries = [Query("q", "red \ud83d", read_history(["where \ud83d?", "here"]))]
    write_beir(tmp_path, documents, queries, {"dev": {"q": {"d": 1}}})
    assert list(read_corpus(tmp_path).values()) == documents
    assert read_queries(tmp_path, "dev") == queries
