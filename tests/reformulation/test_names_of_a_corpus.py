"""Names in texts and in the titles of a corpus."""

import pytest

from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.types import Document


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
