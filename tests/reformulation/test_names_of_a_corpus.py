"""Names in texts and in the titles of a corpus."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.types import Document


def lexicon(*titles):
    return Lexicon.of(Document(str(i), title, "") for i, title in enumerate(titles))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tell me about Oslo.", ["Oslo"]),
        ("When was Vincent van Gogh born?", ["Vincent van Gogh"]),
        ("the University of Bologna and Mercury (planet)", ["University of Bologna", "Mercury (planet)"]),
        ("Windows 95, AT&T and Marks & Spencer's shops", ["Windows 95", "AT&T", "Marks & Spencer"]),
        ("Area of Peru? Is it large? Thanks", ["Peru"]),
        ("apples and pears", []),
    ],
)
def test_capitalised_spans_without_words_that_start_a_sentence(text, found):
    assert Lexicon().names(text) == found


def test_a_name_with_and_is_one_that_texts_use_as_one():
    texts = ["Peru and Chad"] * 5 + ["Peru", "Chad"] * 3 + ["In Bosnia and Herzegovina", "Bosnia"] * 5
    known = Lexicon.of(Document(str(i), "", text) for i, text in enumerate(texts))
    assert known.names("bosnia and herzegovina or Serbia") == ["bosnia and herzegovina", "Serbia"]
    assert known.names("Peru and Chad") == ["Peru", "Chad"]


@given(st.lists(st.sampled_from(["Lund", "lund", "and", "of", "(", ")", "Malmo", ",", "&", "a", "\u00c9", "7", "."])))
def test_spans_are_in_order_and_do_not_overlap(words):
    text = " ".join(words)
    spans = lexicon("Lund", "Lund and Malmo").spans(text)
    assert all(start < end <= len(text) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
