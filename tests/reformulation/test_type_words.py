"""Tables of words: an entry counts at word boundaries, in any language."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.type_words import Words, spaced


@pytest.mark.parametrize(
    ("entries", "text", "is_within"),
    [
        ("fix", "prefix sum", False),
        ("fix", "Fix: it!", True),
        ("crash*", "it crashed", True),
        ("crash*", "gatecrashed", False),
        ("*fehler", "Syntaxfehler in Zeile 3", True),
        ("*fehler", "Fehlerrechnung", False),
        ("^ how to", "how to tie a knot", True),
        ("^ how to", "show me how to tie a knot", False),
        ("how to", "how-to books", False),
        ("erreur", "plus d'erreur", True),
        ("won't", "it won't start", True),
        ("不同", "红茶与绿茶有何不同?", True),
        ("one, two\n    words", "in two words", True),
        ("two words", "two other words", False),
        ("", "anything", False),
    ],
)
def test_entries_count_at_word_boundaries(entries, text, is_within):
    assert Words(entries).within(spaced(text)) == is_within


def test_several_languages_make_one_table():
    table = Words("why, how come", "warum", "为什么")
    assert [table.within(spaced(text)) for text in ("Warum?", "你为什么来", "how come so", "because")] == [True] * 3 + [
        False
    ]
